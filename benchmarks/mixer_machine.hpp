// Ceilings of the machine, by this run's own measurement.
#pragma once

#include <cstddef>

namespace sightline::bench {

/// Seconds by the clock of every figure here; with SIGHTLINE_BENCH_PROCESSOR_TIME set, the processor time of all threads, which other work on
/// the machine lengthens least.
[[nodiscard]] double now();

/// Room for numbers, which nothing was written to: whole pages, and from 1 MiB on pages of 2 MiB where the system has them. To be given back by
/// std::free; throws std::bad_alloc.
[[nodiscard]] void* take_pages(std::size_t bytes);

/// float32 operations per second (a fused multiply-add is two) of `threads` threads; 0 where nobody wrote a loop for it.
[[nodiscard]] double measure_peak(int threads);
/// Bytes per second of a[k] = b[k] + s c[k], counted as STREAM counts them (two reads, one write).
[[nodiscard]] double measure_triad(int threads);

}  // namespace sightline::bench
