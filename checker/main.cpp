// The checker as a program of its own: sightline-check CERT.json. Exit code 0: every claim confirmed; 1: one is not; 2: no certificate.
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "check.hpp"
#include "json.hpp"

namespace {

/// The whole file. Devices such as /dev/zero never end, and pipes may not.
std::string read(const std::string& file) {
  std::error_code unknown;
  const std::filesystem::file_type type = std::filesystem::status(file, unknown).type();
  if (type == std::filesystem::file_type::directory) throw checker::Malformed("expected a file that can be read, found a folder");
  if (type == std::filesystem::file_type::character || type == std::filesystem::file_type::block)
    throw checker::Malformed("expected a file that can be read, found a device");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw checker::Malformed("expected a file that can be read");
  const std::size_t most_bytes = type == std::filesystem::file_type::regular ? std::size_t{1} << 32 : std::size_t{1} << 28;
  std::string text;
  std::vector<char> buffer(std::size_t{1} << 16);
  while (stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), stream.gcount() > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > most_bytes) throw checker::Malformed("expected a file that can be read, found more than " + std::to_string(most_bytes >> 20) + " MiB");
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: sightline-check CERT.json\n";
    return 2;
  }
  const std::string file = argv[1];
  try {
    const checker::Report report = checker::check_certificate(read(file));
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
