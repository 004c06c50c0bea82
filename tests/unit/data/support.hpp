// What the tests of this room share: files in a folder that goes away, and one error as text.
#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "sightline/base/error.hpp"
#include "sightline/base/npy.hpp"

struct Folder {
  std::filesystem::path path;
  Folder() {
    static int made = 0;
    path = std::filesystem::temp_directory_path() / ("sightline_data_" + std::to_string(::getpid()) + "_" + std::to_string(made++));
    std::filesystem::create_directory(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return (path / name).string();
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }
};

inline std::string slurp(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The message of the InputError that `run` throws; "" when it throws none.
template <class Run> std::string error_of(const Run& run) {
  try {
    run();
  } catch (const sightline::InputError& error) {
    return error.what();
  }
  return "";
}
