// Archives of NumPy arrays: reading through libzip, writing by hand (stored entries of one fixed date).
#include <array>

#include <fmt/format.h>
#include <zip.h>

#include "sightline/base/error.hpp"
#include "sightline/base/npy.hpp"

namespace sightline {

namespace {

zip_t* as_zip(void* archive) { return static_cast<zip_t*>(archive); }

/// Eight bytes at a time (tables of the shifted remainders): predictions run to gigabytes.
std::uint32_t compute_crc32(std::string_view bytes) {
  static const auto tables = [] {
    std::array<std::array<std::uint32_t, 256>, 8> made{};
    for (std::uint32_t k = 0; k < 256; ++k) {
      std::uint32_t value = k;
      for (int bit = 0; bit < 8; ++bit) value = (value & 1U) != 0 ? 0xedb88320U ^ (value >> 1) : value >> 1;
      made[0][k] = value;
    }
    for (std::size_t table = 1; table < 8; ++table) {
      for (std::size_t k = 0; k < 256; ++k) made[table][k] = made[0][made[table - 1][k] & 255U] ^ (made[table - 1][k] >> 8);
    }
    return made;
  }();
  std::uint32_t crc = ~0U;
  std::size_t at = 0;
  const auto byte = [&](std::size_t k) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[k])); };
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint32_t next = 0;
    for (std::size_t k = 0; k < 8; ++k) {
      const std::uint32_t mixed = k < 4 ? byte(at + k) ^ (crc >> (8 * k) & 255U) : byte(at + k);
      next ^= tables[7 - k][mixed];
    }
    crc = next;
  }
  for (; at < bytes.size(); ++at) crc = tables[0][(crc ^ byte(at)) & 255U] ^ (crc >> 8);
  return ~crc;
}

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int k = 0; k < bytes; ++k) out += static_cast<char>((value >> (8 * k)) & 0xffU);
}

}  // namespace

NpzArchive::NpzArchive(std::string_view bytes) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* opened = source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error);
  if (opened == nullptr) {
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (source != nullptr) zip_source_free(source);
    throw NpyError("a .npz archive", reason);
  }
  zip_error_fini(&error);
  archive_ = opened;
  const zip_int64_t count = zip_get_num_entries(opened, 0);
  for (zip_int64_t k = 0; k < count; ++k) {
    const char* raw = zip_get_name(opened, static_cast<zip_uint64_t>(k), ZIP_FL_ENC_RAW);
    std::string name = raw == nullptr ? "" : raw;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    names_.push_back(std::move(name));
  }
}

NpzArchive::~NpzArchive() {
  zip_discard(as_zip(archive_));
  if (budget_ != nullptr) budget_->give_back(booked_);
}

std::string NpzArchive::unpack(std::size_t index, std::uint64_t most, const Budget& budget) {
  struct Closer {
    zip_file_t* file;
    ~Closer() {
      if (file != nullptr) zip_fclose(file);
    }
  } opened{zip_fopen_index(as_zip(archive_), index, 0)};
  if (opened.file == nullptr) throw NpyError("an array that can be unpacked", zip_strerror(as_zip(archive_)));
  budget_ = &budget;
  // In pieces, each booked before it is read: a small archive may promise anything.
  constexpr std::uint64_t piece = std::uint64_t{1} << 20;
  std::string array;
  for (;;) {
    budget.ask(piece);
    booked_ += piece;
    budget.poll();
    const std::size_t old = array.size();
    array.resize(old + piece);
    const zip_int64_t got = zip_fread(opened.file, array.data() + old, piece);
    if (got < 0) throw NpyError("an array that can be unpacked", zip_file_strerror(opened.file));
    array.resize(old + static_cast<std::size_t>(got));
    if (got == 0) return array;
    if (array.size() > most) throw NpyError("", "");
  }
}

std::string make_npz(const std::vector<NpyArray>& arrays) {
  constexpr std::uint64_t most = 0xfffff000U;
  std::string out, directory;
  for (const NpyArray& array : arrays) {
    if (out.size() + array.bytes.size() > most) throw ArgumentError("a .npz archive of 4 GB or more is not written");
    const std::string content = make_npy(array);
    const std::string name = array.name + ".npy";
    std::string fields;
    put(fields, 20, 2);    // version needed
    put(fields, 0, 2);     // flags
    put(fields, 0, 2);     // stored
    put(fields, 0, 2);     // time
    put(fields, 0x21, 2);  // 1 January 1980: the same bytes every day
    put(fields, compute_crc32(content), 4);
    put(fields, content.size(), 4);
    put(fields, content.size(), 4);
    put(fields, name.size(), 2);
    put(fields, 0, 2);
    put(directory, 0x02014b50U, 4);
    put(directory, 20, 2);
    directory += fields;
    put(directory, 0, 2);  // comment
    put(directory, 0, 2);  // disk
    put(directory, 0, 2);
    put(directory, 0, 4);
    put(directory, out.size(), 4);
    directory += name;
    put(out, 0x04034b50U, 4);
    out += fields + name + content;
  }
  const std::uint64_t start = out.size(), size = directory.size();
  out += directory;
  put(out, 0x06054b50U, 4);
  put(out, 0, 4);
  put(out, arrays.size(), 2);
  put(out, arrays.size(), 2);
  put(out, size, 4);
  put(out, start, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace sightline
