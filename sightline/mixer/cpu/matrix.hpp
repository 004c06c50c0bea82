// The one matrix product that everything in a tile is made of: C (+)= A B with B and C in vectors along their rows and
// A read one number at a time, a block of `rows` x `vectors` of C kept in registers. Every number of C is one chain of
// fused multiply-adds over k in ascending order, whatever block it falls into.
#pragma once

#include "sightline/mixer/cpu/simd.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

#if defined(SIGHTLINE_USE_AVX512)
inline constexpr int block_rows = 6, block_vectors = 4;
#elif defined(SIGHTLINE_USE_AVX2)
inline constexpr int block_rows = 6, block_vectors = 2;
#else
inline constexpr int block_rows = 4, block_vectors = 2;
#endif

template <int number> struct Constant { static constexpr int value = number; };

/// Rows that are wanted soon, fetched a few at a time within a product: what a tile reads first would else be waited for while
/// nothing is computed.
class Ahead {
public:
  static constexpr int stretch = 16; ///< of a product's depth, from one step to the next
  /// reads: how many reads of a tile the rows have until they are wanted. A tile of one strip of 64 reads has 80 steps for 256
  /// rows (outputs, queries, keys, values). Of more rows at once, and fewer times, the products wait (docs/mixers-speed.md).
  explicit Ahead(std::int64_t reads = 0) : rows_a_step_(reads >= 256 ? 1 : reads >= 128 ? 2 : 4) {}
  void add(const void* first, std::ptrdiff_t stride_bytes, std::int64_t row_bytes, std::int64_t rows) {
    later_.add(first, stride_bytes, row_bytes, rows);
  }
  /// What the next strip reads comes before all that: rows added from here on, instead of what is left of those before.
  void begin_next() { next_.count = next_.at = 0, next_.row = 0; }
  void add_next(const void* first, std::ptrdiff_t stride_bytes, std::int64_t row_bytes, std::int64_t rows) {
    next_.add(first, stride_bytes, row_bytes, rows);
  }
  void step() {
    constexpr int rows_of_next = 2; // a strip has some 170 steps, backward 260
    if (next_.at < next_.count)
      next_.fetch(rows_of_next);
    else
      later_.fetch(rows_a_step_);
  }

private:
  struct Rows {
    const char* first;
    std::ptrdiff_t stride;
    std::int64_t row_bytes, rows;
  };
  struct List {
    static constexpr int most = 8;
    Rows rows[most];
    int count = 0, at = 0;
    std::int64_t row = 0;

    void add(const void* first, std::ptrdiff_t stride_bytes, std::int64_t row_bytes, std::int64_t some) {
      if (first != nullptr && some > 0 && count < most)
        rows[count++] = {static_cast<const char*>(first), stride_bytes, row_bytes, some};
    }
    void fetch(int some) {
      for (int k = 0; k < some && at < count; ++k) {
        const Rows& from = rows[at];
        const char* const begin = from.first + row * from.stride;
        const char* const end = begin + from.row_bytes;
        for (const char* line = begin - reinterpret_cast<std::uintptr_t>(begin) % 64; line < end; line += 64)
          __builtin_prefetch(line, 0, 2);
        if (++row >= from.rows) {
          row = 0;
          ++at;
        }
      }
    }
  };
  List later_, next_;
  int rows_a_step_;
};

enum class Along { k, rows }; ///< where neighbours in memory of A lie: A[row][k] or A[k][row]

/// What the rows of C = A B become in the end.
template <class Real> struct Ending {
  const Real* factors = nullptr; ///< null, or what each row is times
  bool canonical = false;        ///< exact mode: see `canonical`; of ordered products alone
};

/// order: null, or which k comes at each place. factors: null, or what the rows of C are times in the end.
template <class Real, int rows, int vectors, Along along, bool ordered = false>
SIGHTLINE_INLINE void multiply_block(int depth, const Real* a, std::ptrdiff_t a_stride, const Real* b,
                                     std::ptrdiff_t b_stride, Real* c, std::ptrdiff_t c_stride, bool add,
                                     const Real* factors, Ahead* ahead, const std::int32_t* order = nullptr,
                                     bool is_canonical = false) {
  constexpr int lanes = Lanes<Real>::count;
  Vec<Real> sum[rows][vectors];
  if (add) {
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v)
        sum[r][v] = load<Real>(c + r * c_stride + v * lanes);
    }
  } else {
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v)
        sum[r][v] = Vec<Real>{};
    }
  }
  const auto take = [&](int k) SIGHTLINE_INLINE_HERE {
    const Real* const left_at = ordered ? a + order[k] * (along == Along::k ? 1 : a_stride) : a;
    const Real* const right_at = ordered ? b + order[k] * b_stride : b;
    Vec<Real> right[vectors];
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v)
      right[v] = load<Real>(right_at + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const Vec<Real> left = splat<Real>(along == Along::k ? left_at[r * a_stride] : left_at[r]);
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v)
        sum[r][v] = fma(left, right[v], sum[r][v]);
    }
    if constexpr (!ordered) {
      a += along == Along::k ? 1 : a_stride;
      b += b_stride;
    }
  };
  constexpr int at_once = rows == block_rows && vectors == block_vectors ? 2 : 1; // fewer instructions that compute nothing
  for (int k = 0; k < depth;) {
    if (ahead != nullptr)
      ahead->step();
    const int end = depth - k < Ahead::stretch ? depth : k + Ahead::stretch;
    for (; k + at_once <= end; k += at_once) {
#pragma GCC unroll 16
      for (int i = 0; i < at_once; ++i)
        take(k + i);
    }
    for (; k < end && at_once > 1; ++k)
      take(k);
  }
  if (factors != nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v)
        sum[r][v] *= splat<Real>(factors[r]);
    }
  }
  if (ordered && is_canonical) {
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v)
        sum[r][v] = canonical<Real>(sum[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v)
      store<Real>(c + r * c_stride + v * lanes, sum[r][v]);
  }
}

template <class Real, int rows, Along along>
SIGHTLINE_INLINE void multiply_vectors(int vectors, int depth, const Real* a, std::ptrdiff_t a_stride, const Real* b,
                                       std::ptrdiff_t b_stride, Real* c, std::ptrdiff_t c_stride, bool add,
                                       const Real* factors, Ahead* ahead) {
  constexpr int lanes = Lanes<Real>::count;
  int v = 0;
  const auto run = [&]<int count>() SIGHTLINE_INLINE_HERE {
    multiply_block<Real, rows, count, along>(depth, a, a_stride, b + v * lanes, b_stride, c + v * lanes, c_stride, add,
                                             factors, v == 0 ? ahead : nullptr);
  };
  for (; v + block_vectors <= vectors; v += block_vectors)
    run.template operator()<block_vectors>();
  switch (vectors - v) {
  case 3:
    if constexpr (block_vectors > 3)
      run.template operator()<3>();
    break;
  case 2:
    if constexpr (block_vectors > 2)
      run.template operator()<2>();
    break;
  case 1: run.template operator()<1>(); break;
  default: break;
  }
}

/// C [rows, vectors] (+)= A [rows, depth] B [depth, vectors]; strides in numbers. factors: null, or what the rows of C are
/// times in the end.
template <class Real, Along along>
__attribute__((noinline)) void multiply(int rows, int vectors, int depth, const Real* a, std::ptrdiff_t a_stride,
                                        const Real* b, std::ptrdiff_t b_stride, Real* c, std::ptrdiff_t c_stride,
                                        bool add, Ahead* ahead = nullptr, const Real* factors = nullptr) {
  int r = 0;
  const auto left = [&]() { return a + (along == Along::k ? r * a_stride : r); };
  const auto of_rows = [&]() { return factors == nullptr ? nullptr : factors + r; };
  const auto run = [&]<int count>() SIGHTLINE_INLINE_HERE {
    multiply_vectors<Real, count, along>(vectors, depth, left(), a_stride, b, b_stride, c + r * c_stride, c_stride, add,
                                         of_rows(), ahead);
  };
  const auto run_wide = [&]<int count, int wide>() SIGHTLINE_INLINE_HERE { // fewer vectors: more chains
    for (; vectors == wide && r + count <= rows; r += count) {
      multiply_block<Real, count, wide, along>(depth, left(), a_stride, b, b_stride, c + r * c_stride, c_stride, add,
                                               of_rows(), ahead);
    }
  };
  run_wide.template operator()<2 * block_rows, 1>();
  if constexpr (block_vectors > 3)
    run_wide.template operator()<7, 3>();
  for (; r + block_rows <= rows; r += block_rows)
    run.template operator()<block_rows>();
  switch (rows - r) {
  case 5:
    if constexpr (block_rows > 5)
      run.template operator()<5>();
    break;
  case 4:
    if constexpr (block_rows > 4)
      run.template operator()<4>();
    break;
  case 3: run.template operator()<3>(); break;
  case 2: run.template operator()<2>(); break;
  case 1: run.template operator()<1>(); break;
  default: break;
  }
}

#if defined(SIGHTLINE_USE_AVX512)
/// C = A B, `wide` vectors and half of one more: half a vector costs half on processors that take vectors of 64 bytes in
/// two parts. The other half of C's last vector becomes 0.
template <int rows, int wide>
SIGHTLINE_INLINE void multiply_narrow_block(int depth, const float* a, std::ptrdiff_t a_stride, const float* b,
                                            std::ptrdiff_t b_stride, float* c, std::ptrdiff_t c_stride, Ahead* ahead) {
  constexpr int lanes = Lanes<float>::count;
  Vec<float> sum[rows][wide];
  __m256 last[rows];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < wide; ++v)
      sum[r][v] = Vec<float>{};
    last[r] = _mm256_setzero_ps();
  }
  for (int k = 0; k < depth; ++k) {
    if (ahead != nullptr && k % Ahead::stretch == 0)
      ahead->step();
    Vec<float> right[wide];
#pragma GCC unroll 16
    for (int v = 0; v < wide; ++v)
      right[v] = load<float>(b + v * lanes);
    const __m256 right_last = _mm256_loadu_ps(b + wide * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const Vec<float> left = splat<float>(a[r * a_stride]);
#pragma GCC unroll 16
      for (int v = 0; v < wide; ++v)
        sum[r][v] = fma(left, right[v], sum[r][v]);
      last[r] = _mm256_fmadd_ps(_mm512_castps512_ps256(left), right_last, last[r]);
    }
    ++a;
    b += b_stride;
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < wide; ++v)
      store<float>(c + r * c_stride + v * lanes, sum[r][v]);
    store<float>(c + r * c_stride + wide * lanes, _mm512_zextps256_ps512(last[r]));
  }
}

/// The product of a strip whose tile has 49 to 56 readers: three vectors and a half.
inline __attribute__((noinline)) void multiply_narrow(int rows, int depth, const float* a, std::ptrdiff_t a_stride,
                                                      const float* b, std::ptrdiff_t b_stride, float* c,
                                                      std::ptrdiff_t c_stride, Ahead* ahead) {
  int r = 0;
  for (; r + block_rows <= rows; r += block_rows)
    multiply_narrow_block<block_rows, 3>(depth, a + r * a_stride, a_stride, b, b_stride, c + r * c_stride, c_stride, ahead);
  for (; r < rows; ++r)
    multiply_narrow_block<1, 3>(depth, a + r * a_stride, a_stride, b, b_stride, c + r * c_stride, c_stride, ahead);
}
#endif

/// C (+)= A B with the k in the order given; they count from where a and b lie.
template <class Real, Along along>
__attribute__((noinline)) void multiply_ordered(int rows, int vectors, int depth, const std::int32_t* order,
                                                const Real* a, std::ptrdiff_t a_stride, const Real* b,
                                                std::ptrdiff_t b_stride, Real* c, std::ptrdiff_t c_stride, bool add,
                                                Ahead* ahead = nullptr, const Ending<Real>& ending = {}) {
  constexpr int lanes = Lanes<Real>::count;
  const auto at = [&](int row) { return a + (along == Along::k ? row * a_stride : row); };
  const auto run = [&](auto some, int r) {
    constexpr int count = decltype(some)::value;
    const Real* const of_rows = ending.factors == nullptr ? nullptr : ending.factors + r;
    int v = 0;
    for (; v + block_vectors <= vectors; v += block_vectors) {
      multiply_block<Real, count, block_vectors, along, true>(depth, at(r), a_stride, b + v * lanes, b_stride,
                                                              c + r * c_stride + v * lanes, c_stride, add, of_rows, v == 0 ? ahead : nullptr, order, ending.canonical);
    }
    for (; v < vectors; ++v)
      multiply_block<Real, count, 1, along, true>(depth, at(r), a_stride, b + v * lanes, b_stride,
                                                  c + r * c_stride + v * lanes, c_stride, add, of_rows, nullptr, order, ending.canonical);
  };
  int r = 0;
  for (; r + block_rows <= rows; r += block_rows)
    run(Constant<block_rows>{}, r);
  for (; r + 4 <= rows; r += 4)
    run(Constant<4>{}, r);
  for (; r < rows; ++r)
    run(Constant<1>{}, r);
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
