#include "sightline/layout/mask_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "sightline/base/error.hpp"
#include "sightline/base/words.hpp"
#include "sightline/layout/generators.hpp"

namespace sightline::layout {

std::string quote(std::string_view text) { return quote_bytes(text); }

namespace {

// A file is held as bytes while it is read; the budget knows.
class FileBytes {
public:
  FileBytes(const PatternSpec& spec, const Budget& budget) : budget_(&budget) {
    std::error_code ignored;
    if (std::filesystem::is_directory(spec.path, ignored)) fail(spec, "path", fmt::format("a readable file {}", spec.path), "a folder");
    // Devices have no end, or none that says anything.
    if (std::filesystem::is_character_file(spec.path, ignored) || std::filesystem::is_block_file(spec.path, ignored)) fail(spec, "path", fmt::format("a readable file {}", spec.path), "a device");
    std::ifstream stream(spec.path, std::ios::binary | std::ios::ate);
    const std::streamoff size = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
    if (size < 0) fail(spec, "path", fmt::format("a readable file {}", spec.path), std::strerror(errno != 0 ? errno : EIO));
    budget.ask(static_cast<std::uint64_t>(size));
    booked_ = static_cast<std::uint64_t>(size);
    bytes_.resize(static_cast<std::size_t>(size));
    stream.seekg(0);
    stream.read(bytes_.data(), size);
    if (stream.gcount() != size) fail(spec, "path", fmt::format("a readable file {}", spec.path), "a file that ends early");
  }
  ~FileBytes() { budget_->give_back(booked_); }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  [[nodiscard]] std::string_view view() const { return bytes_; }

private:
  const Budget* budget_;
  std::uint64_t booked_ = 0;
  std::string bytes_;
};

enum class MaskFormat { npy, npz, matrix_market, edges };

MaskFormat detect_format(const PatternSpec& spec, std::string_view bytes) {
  if (spec.format == "npy") return MaskFormat::npy;
  if (spec.format == "npz") return MaskFormat::npz;
  if (spec.format == "matrixmarket") return MaskFormat::matrix_market;
  if (spec.format == "edges") return MaskFormat::edges;
  if (!spec.format.empty()) fail(spec, "format", "npy, npz, matrixmarket or edges", quote(spec.format));
  const std::string_view path = spec.path;
  if (path.ends_with(".npy")) return MaskFormat::npy;
  if (path.ends_with(".npz")) return MaskFormat::npz;
  if (path.ends_with(".mtx")) return MaskFormat::matrix_market;
  if (bytes.starts_with("\x93NUMPY")) return MaskFormat::npy;
  if (bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06")) return MaskFormat::npz;
  if (bytes.starts_with("%%MatrixMarket")) return MaskFormat::matrix_market;
  return MaskFormat::edges;
}

}  // namespace

Pattern read_mask_file(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  const Vertex vertices = size.tokens + size.registers;
  errno = 0;
  const FileBytes file(spec, budget);
  std::string_view bytes = file.view();
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3); // what some editors put in front of a text
  try {
    switch (detect_format(spec, bytes)) {
    case MaskFormat::npy: return read_npy(bytes, vertices, budget);
    case MaskFormat::npz: return read_npz(bytes, vertices, budget);
    case MaskFormat::matrix_market: return read_matrix_market(bytes, vertices, budget);
    case MaskFormat::edges: return read_edge_list(bytes, vertices, budget);
    }
  } catch (const MaskError& error) {
    // A mask that no architecture names stands for itself.
    throw InputError(fmt::format("{}{}{}: expected {}, found {}", spec.where.empty() ? "" : spec.where + "/path: ", spec.path,
                                 error.line == 0 ? "" : fmt::format(":{}", error.line), error.expected, error.found));
  }
  throw InternalError("a mask format without a reader");
}

}  // namespace sightline::layout
