#include <array>
#include <bit>

#include "exact.hpp"

namespace checker {

// FIPS 180-4. The constants are the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
std::string sha256(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 64> constants = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
      0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
      0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
      0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
      0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
      0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  std::array<std::uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  // The end: what is left of the text, one bit 1, zeros, and the length in bits in the last eight bytes of a block.
  std::string tail(bytes.substr(bytes.size() / 64 * 64));
  tail += '\x80';
  tail.resize(tail.size() > 56 ? 120 : 56, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>(std::uint64_t{bytes.size()} * 8 >> shift);
  const auto add_block = [&](std::string_view block) {
    std::array<std::uint32_t, 64> word{};
    for (std::size_t k = 0; k < 64; ++k) word[k / 4] = word[k / 4] << 8 | static_cast<unsigned char>(block[k]);
    for (std::size_t k = 16; k < 64; ++k) {
      const std::uint32_t a = word[k - 15], b = word[k - 2];
      word[k] = word[k - 16] + word[k - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t k = 0; k < 64; ++k) {
      const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + constants[k] + word[k];
      const std::uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    const std::array<std::uint32_t, 8> sums = {a, b, c, d, e, f, g, h};
    for (std::size_t k = 0; k < 8; ++k) state[k] += sums[k];
  };
  for (std::size_t at = 0; at + 64 <= bytes.size(); at += 64) add_block(bytes.substr(at, 64));
  for (std::size_t at = 0; at < tail.size(); at += 64) add_block(std::string_view(tail).substr(at, 64));
  std::string out;
  for (const std::uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[word >> shift & 15];
  return out;
}

}  // namespace checker
