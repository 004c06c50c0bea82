#include "sightline/sight/labels_intern.hpp"

#include <algorithm>

namespace sightline::sight {

namespace {

std::uint64_t hash_words(std::span<const std::uint32_t> words) {
  std::uint64_t h = 0x9e3779b97f4a7c15u ^ words.size();
  for (const std::uint32_t w : words) {
    h = (h ^ w) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return h;
}

}  // namespace

SequenceNumbers::SequenceNumbers(const Budget& budget) : budget_(budget), begin_{0}, slots_(1024, 0) {}

SequenceNumbers::~SequenceNumbers() { budget_.give_back(booked_bytes_); }

void SequenceNumbers::book() {
  const std::uint64_t bytes = words_.capacity() * sizeof(words_[0]) + begin_.capacity() * sizeof(begin_[0]) +
                              hashes_.capacity() * sizeof(hashes_[0]) + slots_.capacity() * sizeof(slots_[0]);
  // Vectors double: booking twice what is held covers the copy while they grow.
  if (2 * bytes <= booked_bytes_) return;
  budget_.ask(2 * bytes - booked_bytes_);
  booked_bytes_ = 2 * bytes;
}

void SequenceNumbers::grow() {
  budget_.poll();
  const std::size_t size = slots_.size() * 2;
  slots_.assign(size, 0);
  for (std::uint32_t k = 0; k < hashes_.size(); ++k) {
    std::size_t slot = hashes_[k] & (size - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (size - 1);
    slots_[slot] = k + 1;
  }
  book();
}

std::uint32_t SequenceNumbers::number(std::span<const std::uint32_t> sequence) {
  const auto hash = static_cast<std::uint32_t>(hash_words(sequence));
  std::size_t slot = hash & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const std::uint32_t k = slots_[slot] - 1;
    if (hashes_[k] == hash && begin_[k + 1] - begin_[k] == sequence.size() &&
        std::equal(sequence.begin(), sequence.end(), words_.begin() + static_cast<std::ptrdiff_t>(begin_[k]))) {
      return k;
    }
  }
  const std::uint32_t fresh = count();
  slots_[slot] = fresh + 1;
  words_.insert(words_.end(), sequence.begin(), sequence.end());
  begin_.push_back(words_.size());
  hashes_.push_back(hash);
  if ((fresh & 0xfff) == 0) book();
  if (hashes_.size() * 2 > slots_.size()) grow();
  return fresh;
}

}  // namespace sightline::sight
