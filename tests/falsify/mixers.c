// Libraries that behave and libraries that do not, one per value of CASE.
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MEAN 1
#define MEAN_INTERVAL 2
#define SOFTMAX 3
#define CRASH 4
#define NOT_A_NUMBER 5
#define HANG 6
#define RANDOM_BITS 7
#define NO_MIXER 8
#define INFO_FAILS 9
#define OVERRUN 10
#define LEAVES 11
#define RETURNS 12
#define WRONG_INTERVAL 13
#define POSITIONS 14
#define CRASH_LATE 15
#define SQUARES_INTERVAL 16

int sightline_mixer_info(uint32_t n, uint32_t d, uint32_t* parameters) {
  (void)n;
  *parameters = CASE == SOFTMAX ? 2 * d * d : 1;
  printf("a library that talks\n");
  return CASE == INFO_FAILS ? 5 : 0;
}

#if CASE != NO_MIXER
static int calls = 0;

int sightline_mixer(uint32_t n, uint32_t d, const double* x, uint32_t p, const double* theta, double* out) {
  (void)p;
  ++calls;
  if (CASE == CRASH) raise(SIGSEGV);
  if (CASE == CRASH_LATE && calls > 100) abort();
  if (CASE == HANG) for (;;) pause();
  if (CASE == LEAVES) exit(3);
  if (CASE == RETURNS) return 7;
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t k = 0; k < d; ++k) {
      double sum = 0, total = 0;
      for (uint32_t j = 0; j < n; ++j) {
        double weight = 1;
        if (CASE == SOFTMAX) {
          double score = 0;
          for (uint32_t r = 0; r < d; ++r) {
            double q = 0, key = 0;
            for (uint32_t c = 0; c < d; ++c) q += theta[r * d + c] * x[i * d + c], key += theta[d * d + r * d + c] * x[j * d + c];
            score += q * key;
          }
          weight = exp(score);
        }
        if (CASE == POSITIONS) weight = 1 + j;
        sum += weight * (CASE == SQUARES_INTERVAL ? x[j * d + k] * x[j * d + k] : x[j * d + k]);
        total += weight;
      }
      out[i * d + k] = (CASE == SOFTMAX ? 1 : theta[0]) * sum / total;
    }
  }
  if (CASE == NOT_A_NUMBER) out[d] = NAN;
  if (CASE == RANDOM_BITS) out[0] += calls * 1e-9;
  if (CASE == OVERRUN) out[n * d] = 1;
  return 0;
}
#endif

#if CASE == MEAN_INTERVAL || CASE == WRONG_INTERVAL || CASE == SQUARES_INTERVAL
// Points come as equal pairs here, so a few units around the float64 result are an enclosure.
int sightline_mixer_interval(uint32_t n, uint32_t d, const double* x, uint32_t p, const double* theta, double* out) {
  double *points = malloc(sizeof(double) * n * d), *values = malloc(sizeof(double) * n * d);
  for (uint32_t k = 0; k < n * d; ++k) points[k] = x[2 * k];
  sightline_mixer(n, d, points, p, theta, values);
  for (uint32_t k = 0; k < n * d; ++k) {
    out[2 * k] = values[k] - 1e-9 + (CASE == WRONG_INTERVAL ? 1 : 0);
    out[2 * k + 1] = values[k] + 1e-9 + (CASE == WRONG_INTERVAL ? 1 : 0);
  }
  free(points);
  free(values);
  return 0;
}
#endif
