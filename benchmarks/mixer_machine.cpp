// What this machine can do: fused multiply-adds and memory bandwidth, measured where the figures are.
#include "mixer_machine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace sightline::bench {
namespace {

template <class Work>
double fastest(int threads, int repeats, Work work) {
  double best = 1e30;
  for (int r = 0; r < repeats; ++r) {
    const double start = now();
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back([&work, t] { work(t); });
    work(0);
    for (std::thread& other : others) other.join();
    best = std::min(best, now() - start);
  }
  return best;
}

#if defined(__x86_64__)
typedef float Wide __attribute__((vector_size(64)));

__attribute__((target("avx512f,fma"))) float multiply_add_512(long rounds) {
  Wide sum[12], factor, added;
  for (int lane = 0; lane < 16; ++lane) {
    factor[lane] = 0.999F;
    added[lane] = 0.001F;
    for (int k = 0; k < 12; ++k) sum[k][lane] = static_cast<float>(k);
  }
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int k = 0; k < 12; ++k) sum[k] = sum[k] * factor + added;
  }
  for (int k = 1; k < 12; ++k) sum[0] += sum[k];
  return sum[0][0];
}

typedef float Half __attribute__((vector_size(32)));

__attribute__((target("avx2,fma"))) float multiply_add_256(long rounds) {
  Half sum[12], factor, added;
  for (int lane = 0; lane < 8; ++lane) {
    factor[lane] = 0.999F;
    added[lane] = 0.001F;
    for (int k = 0; k < 12; ++k) sum[k][lane] = static_cast<float>(k);
  }
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int k = 0; k < 12; ++k) sum[k] = sum[k] * factor + added;
  }
  for (int k = 1; k < 12; ++k) sum[0] += sum[k];
  return sum[0][0];
}
#endif

}  // namespace

double now() {
  static const bool of_processor = std::getenv("SIGHTLINE_BENCH_PROCESSOR_TIME") != nullptr;
  timespec time{};
  clock_gettime(of_processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double measure_peak(int threads) {
#if defined(__x86_64__)
  constexpr long rounds = 300'000;  // a few milliseconds: some of many trials meet no other work
  [[maybe_unused]] static volatile float sink = 0;
  double best = 0;
  if (__builtin_cpu_supports("avx512f")) {
    best = 12.0 * 16 * 2 * rounds * threads / fastest(threads, 300, [](int) { sink = multiply_add_512(rounds); });
  }
  if (__builtin_cpu_supports("avx2")) {
    best = std::max(best, 12.0 * 8 * 2 * rounds * threads / fastest(threads, 300, [](int) { sink = multiply_add_256(rounds); }));
  }
  return best;
#else
  (void)threads;
  return 0;
#endif
}

void* take_pages(std::size_t bytes) {
  constexpr std::size_t small = 4096, large = std::size_t{2} << 20;
  const bool is_large = bytes >= large / 2;
  const std::size_t page = is_large ? large : small, whole = (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
  void* const result = std::aligned_alloc(page, whole);
  if (result == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  if (is_large) (void)madvise(result, whole, MADV_HUGEPAGE);  // a wish: without it pages are small
#endif
  return result;
}

double measure_triad(int threads) {
  constexpr std::size_t count = std::size_t{1} << 24;  // three arrays of 64 MiB
  const auto take = [](float first) {
    std::unique_ptr<float[], void (*)(void*)> array(static_cast<float*>(take_pages(count * sizeof(float))), std::free);
    std::fill_n(array.get(), count, first);
    return array;
  };
  const auto first = take(1), second = take(2), third = take(3);
  float* const a = first.get();
  const float *const b = second.get(), *const c = third.get();
  const std::size_t part = count / static_cast<std::size_t>(threads);
  const double seconds = fastest(threads, 25, [&](int t) {
    const std::size_t begin = part * static_cast<std::size_t>(t);
    for (std::size_t k = begin; k < begin + part; ++k) a[k] = b[k] + 1.5F * c[k];
  });
  return 3.0 * sizeof(float) * count / seconds;
}

}  // namespace sightline::bench
