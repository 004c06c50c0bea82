// The checker as a program of its own: sightline-check CERT.json. Exit code 0: every claim confirmed; 1: one is not; 2: no certificate.
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>

#include "check.hpp"
#include "json.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: sightline-check CERT.json\n";
    return 2;
  }
  const std::string file = argv[1];
  try {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw checker::Malformed("expected a file that can be read");
    const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    const checker::Report report = checker::check_certificate(text);
    if (!report.confirmed) {
      std::cout << file << ": rejected: " << report.reason << "\n";
      return 1;
    }
    std::cout << file << ": every claim is confirmed\n";
    for (const std::string& trusted : report.trusted) std::cout << "  taken on trust: " << trusted << "\n";
    return 0;
  } catch (const std::bad_alloc&) {
    std::cerr << file << ": needs more memory than there is\n";
  } catch (const std::exception& error) {
    std::cerr << file << ": " << error.what() << "\n";
  }
  return 2;
}
