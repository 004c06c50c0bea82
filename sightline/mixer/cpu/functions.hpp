// The functions of kernel expressions on vectors, a few units in the last place from the truth. The same bits for the
// same number in every lane. NaN stays NaN.
#pragma once

#include "sightline/mixer/cpu/simd.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

template <class Real> struct FunctionConstants;
template <> struct FunctionConstants<float> {
  static constexpr float magic = 12582912.0F; ///< added and subtracted: rounds to the nearest integer
  static constexpr float ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
  static constexpr float lowest = -175.0F, highest = 177.0F; ///< exponentials are 0 and infinite there
  static constexpr int mantissa = 23, bias = 127;
  static constexpr int exp_terms = 7, log_terms = 4, sine_terms = 5, cosine_terms = 6;
  static constexpr float half_pi[3] = {1.5703125F, 4.837512969970703125e-4F, 7.54978995489188216e-8F};
  static constexpr float most_angle = 4000.0F;
};
template <> struct FunctionConstants<double> {
  static constexpr double magic = 6755399441055744.0;
  static constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  static constexpr double lowest = -1418.0, highest = 1419.0;
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr int exp_terms = 14, log_terms = 10, sine_terms = 9, cosine_terms = 10;
  static constexpr double half_pi[3] = {1.57079625129699707031, 7.54978941586159635335e-8, 5.39030285815811905290e-15};
  static constexpr double most_angle = 1e6;
};

template <class Real> SIGHTLINE_INLINE Vec<Real> magnitude(Vec<Real> x) {
  constexpr typename Lanes<Real>::Integer sign = typename Lanes<Real>::Integer{1} << (8 * sizeof(Real) - 2) << 1;
  return (Vec<Real>)((IntVec<Real>)x & (~sign - IntVec<Real>{}));
}

/// 2^n for whole n in [-bias, bias + 1]; 0 and infinity at the ends.
template <class Real> SIGHTLINE_INLINE Vec<Real> whole_power(Vec<Real> n) {
  using C = FunctionConstants<Real>;
  const IntVec<Real> bits = to_integer<Real>(n, C::magic);
  return (Vec<Real>)((bits + C::bias) << C::mantissa);
}

/// e^x = 2^n (1 + rest) for a whole n, `rest` = e^r - 1 for |r| <= ln 2 / 2.
template <class Real> SIGHTLINE_INLINE Vec<Real> split_exponential(Vec<Real> x, Vec<Real>& rest) {
  using C = FunctionConstants<Real>;
  x = larger(splat<Real>(C::lowest), x); // keeps what is not a number
  x = smaller(splat<Real>(C::highest), x);
  const Vec<Real> n =
      fma(x, splat<Real>(Real(1.44269504088896340736)), splat<Real>(C::magic)) - splat<Real>(C::magic);
  const Vec<Real> r = fma(n, splat<Real>(-C::ln2_low), fma(n, splat<Real>(-C::ln2_high), x));
  Real factorial[C::exp_terms + 1] = {1};
#pragma GCC unroll 16
  for (int k = 1; k <= C::exp_terms; ++k)
    factorial[k] = factorial[k - 1] * Real(k);
  Vec<Real> sum = splat<Real>(Real(1) / factorial[C::exp_terms]);
#pragma GCC unroll 16
  for (int k = C::exp_terms - 1; k >= 2; --k)
    sum = fma(sum, r, splat<Real>(Real(1) / factorial[k]));
  rest = fma(sum * r, r, r);
  return n;
}

/// x 2^n for a whole n in twice the range of exponents.
template <class Real> SIGHTLINE_INLINE Vec<Real> times_whole_power(Vec<Real> x, Vec<Real> n) {
#if defined(SIGHTLINE_USE_AVX512)
  return times_power<Real>(x, n);
#else
  const Vec<Real> half = round_down<Real>(n * splat<Real>(Real(0.5)));
  return x * whole_power<Real>(n - half) * whole_power<Real>(half);
#endif
}

template <class Real> SIGHTLINE_INLINE Vec<Real> exponential(Vec<Real> x) {
  Vec<Real> rest;
  const Vec<Real> n = split_exponential<Real>(x, rest);
  return times_whole_power<Real>(splat<Real>(1) + rest, n);
}

template <class Real> SIGHTLINE_INLINE Vec<Real> exponential_minus_one(Vec<Real> x) {
  Vec<Real> rest;
  const Vec<Real> n = split_exponential<Real>(x, rest), one = splat<Real>(1), power = times_whole_power<Real>(one, n);
  const Vec<Real> value = fma(power, rest, power - one);
  // Infinity is reached by the power before e^x reaches it; -0 stays.
  const Vec<Real> large = times_whole_power<Real>(one + rest, n);
  const Vec<Real> result = x > splat<Real>(Real(40)) ? large : value;
  return x == Vec<Real>{} ? x : result;
}

/// Natural logarithm; -infinity at 0, NaN below.
template <class Real> SIGHTLINE_INLINE Vec<Real> logarithm(Vec<Real> x) {
  using C = FunctionConstants<Real>;
  using Integer = typename Lanes<Real>::Integer;
  const Vec<Real> smallest = splat<Real>(sizeof(Real) == 4 ? Real(1.17549435e-38F) : Real(2.2250738585072014e-308));
  const Vec<Real> lift = splat<Real>(sizeof(Real) == 4 ? Real(16777216) : Real(18014398509481984));
  const Real lifted = sizeof(Real) == 4 ? Real(24) : Real(54);
  const Vec<Real> y = x < smallest ? x * lift : x;
  const IntVec<Real> bits = (IntVec<Real>)y;
  const Integer fraction = (Integer(1) << C::mantissa) - 1;
  Vec<Real> m = (Vec<Real>)((bits & fraction) | (Integer(C::bias) << C::mantissa)); // [1, 2)
  const IntVec<Real> whole = (bits >> C::mantissa) - Integer(C::bias);
  Vec<Real> e = (Vec<Real>)(whole + (IntVec<Real>)splat<Real>(C::magic)) - splat<Real>(C::magic);
  e = x < smallest ? e - splat<Real>(lifted) : e;
  const auto above = m > splat<Real>(Real(1.41421356237309504880));
  m = above ? m * splat<Real>(Real(0.5)) : m;
  e = above ? e + splat<Real>(1) : e;
  const Vec<Real> f = m - splat<Real>(1), s = f / (splat<Real>(2) + f), z = s * s;
  Vec<Real> sum = splat<Real>(Real(2) / Real(2 * C::log_terms + 1));
#pragma GCC unroll 16
  for (int k = C::log_terms - 1; k >= 1; --k)
    sum = fma(sum, z, splat<Real>(Real(2) / Real(2 * k + 1)));
  const Vec<Real> square = splat<Real>(Real(0.5)) * f * f;
  Vec<Real> result =
      e * splat<Real>(C::ln2_high) - ((square - (s * (square + z * sum) + e * splat<Real>(C::ln2_low))) - f);
  const Vec<Real> infinite = splat<Real>(Real(__builtin_inff()));
  result = x == infinite ? infinite : result;
  result = x == Vec<Real>{} ? -infinite : result;
  return x < Vec<Real>{} ? splat<Real>(Real(__builtin_nanf(""))) : (x == x ? result : x);
}

/// log(1 + x) for x in [0, 1]: 2 atanh(x / (2 + x)), written so that the first term is x itself.
template <class Real> SIGHTLINE_INLINE Vec<Real> logarithm_of_one_plus(Vec<Real> x) {
  constexpr int terms = sizeof(Real) == 4 ? 8 : 17;
  const Vec<Real> s = x / (splat<Real>(2) + x), z = s * s, square = splat<Real>(Real(0.5)) * x * x;
  Vec<Real> sum = splat<Real>(Real(2) / Real(2 * terms + 1));
#pragma GCC unroll 32
  for (int k = terms - 1; k >= 1; --k)
    sum = fma(sum, z, splat<Real>(Real(2) / Real(2 * k + 1)));
  return x - (square - s * (square + z * sum));
}

template <class Real> SIGHTLINE_INLINE Real scalar_sine(Real x, bool cosine) {
  if (sizeof(Real) == 4)
    return Real(cosine ? __builtin_cosf(static_cast<float>(x)) : __builtin_sinf(static_cast<float>(x)));
  return Real(cosine ? __builtin_cos(static_cast<double>(x)) : __builtin_sin(static_cast<double>(x)));
}

/// Sine, or cosine.
template <class Real> SIGHTLINE_INLINE Vec<Real> sine(Vec<Real> x, bool cosine) {
  using C = FunctionConstants<Real>;
  using Integer = typename Lanes<Real>::Integer;
  const Vec<Real> n = (x * splat<Real>(Real(0.63661977236758134308)) + splat<Real>(C::magic)) - splat<Real>(C::magic);
  const Vec<Real> r =
      ((x - n * splat<Real>(C::half_pi[0])) - n * splat<Real>(C::half_pi[1])) - n * splat<Real>(C::half_pi[2]);
  const Vec<Real> z = r * r;
  Real inverse[2 * C::cosine_terms + 2] = {1}; // (-1)^(k / 2) / k!
  for (int k = 1; k < 2 * C::cosine_terms + 2; ++k)
    inverse[k] = inverse[k - 1] / Real(k);
  Vec<Real> odd = splat<Real>((C::sine_terms % 2 != 0 ? -1 : 1) * inverse[2 * C::sine_terms + 1]);
#pragma GCC unroll 16
  for (int k = C::sine_terms - 1; k >= 1; --k)
    odd = fma(odd, z, splat<Real>((k % 2 != 0 ? -1 : 1) * inverse[2 * k + 1]));
  odd = fma(odd * z, r, r);
  Vec<Real> even = splat<Real>((C::cosine_terms % 2 != 0 ? -1 : 1) * inverse[2 * C::cosine_terms]);
#pragma GCC unroll 16
  for (int k = C::cosine_terms - 1; k >= 2; --k)
    even = fma(even, z, splat<Real>((k % 2 != 0 ? -1 : 1) * inverse[2 * k]));
  even = (splat<Real>(1) - splat<Real>(Real(0.5)) * z) + even * z * z;
  IntVec<Real> quarter = to_integer<Real>(n, C::magic);
  if (cosine)
    quarter = quarter + Integer(1);
  const Vec<Real> value = (quarter & Integer(1)) != 0 ? even : odd;
  Vec<Real> result = (quarter & Integer(2)) != 0 ? -value : value;
  const auto far = magnitude<Real>(x) > splat<Real>(C::most_angle);
  bool any = false;
  for (int lane = 0; lane < Lanes<Real>::count; ++lane)
    any = any || far[lane] != 0;
  if (__builtin_expect(any, 0)) {
    for (int lane = 0; lane < Lanes<Real>::count; ++lane) {
      if (far[lane] != 0)
        result[lane] = scalar_sine<Real>(x[lane], cosine);
    }
  }
  return result;
}

template <class Real> SIGHTLINE_INLINE Vec<Real> logistic(Vec<Real> x) {
  const Vec<Real> small = exponential<Real>(-magnitude<Real>(x)), one = splat<Real>(1);
  return (x < Vec<Real>{} ? small : one) / (one + small);
}

/// (e^x - below) / 4 for x >= 0, below 0 or 1. x ends where twice that is infinite: the power of two is finite until then.
template <class Real> SIGHTLINE_INLINE Vec<Real> quarter_exponential(Vec<Real> x, Real below) {
  constexpr Real quarter = Real(0.25), most = sizeof(Real) == 4 ? Real(89.5) : Real(710.5);
  Vec<Real> rest;
  const Vec<Real> n = split_exponential<Real>(smaller(splat<Real>(most), x), rest),
                  power = times_whole_power<Real>(splat<Real>(quarter), n);
  return fma(power, rest, power - splat<Real>(quarter * below));
}

/// Odd functions that are x itself up to here, where quarters of it would be rounded.
template <class Real> SIGHTLINE_INLINE Vec<Real> with_sign_of(Vec<Real> x, Vec<Real> size, Vec<Real> value) {
  value = size < splat<Real>(Real(1e-20)) ? size : value;
  return x < Vec<Real>{} ? -value : value;
}

template <class Real> SIGHTLINE_INLINE Vec<Real> hyperbolic_tangent(Vec<Real> x) {
  const Vec<Real> size = smaller(splat<Real>(22), magnitude<Real>(x)), q = quarter_exponential<Real>(size + size, Real(1)),
                  h = q + q;
  return with_sign_of<Real>(x, size, h / (h + splat<Real>(1)));
}

template <class Real> SIGHTLINE_INLINE Vec<Real> hyperbolic_cosine(Vec<Real> x) {
  const Vec<Real> q = quarter_exponential<Real>(magnitude<Real>(x), Real(0));
  return q + q + splat<Real>(Real(0.125)) / q;
}

template <class Real> SIGHTLINE_INLINE Vec<Real> hyperbolic_sine(Vec<Real> x) {
  const Vec<Real> size = magnitude<Real>(x), q = quarter_exponential<Real>(size, Real(1)), h = q + q,
                  small = h / (h + h + splat<Real>(1));
  return with_sign_of<Real>(x, size, h + (size > splat<Real>(22) ? splat<Real>(Real(0.5)) : small));
}

template <class Real> SIGHTLINE_INLINE Vec<Real> soft_plus(Vec<Real> x) {
  const Vec<Real> zero{};
  return (x > zero ? x : x < zero ? zero : x) + logarithm_of_one_plus<Real>(exponential<Real>(-magnitude<Real>(x)));
}

/// 1 / sqrt(x), from an estimate where there is one.
template <class Real> SIGHTLINE_INLINE Vec<Real> inverse_root(Vec<Real> x) {
#if defined(SIGHTLINE_USE_AVX512)
  if constexpr (sizeof(Real) == 4) {
    const Vec<Real> guess = _mm512_rsqrt14_ps(x), error = fma(-x * guess, guess, splat<Real>(1));
    return error == error ? fma(splat<Real>(Real(0.5)) * guess, error, guess) : guess; // 0 and infinity
  }
#endif
  return splat<Real>(1) / square_root<Real>(x);
}

/// base^exponent for a whole exponent, |exponent| <= 64.
template <class Real> SIGHTLINE_INLINE Vec<Real> whole_exponent(Vec<Real> base, Real exponent) {
  Vec<Real> result = splat<Real>(1), square = base;
  for (int rest = static_cast<int>(exponent < Real(0) ? -exponent : exponent); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0)
      result *= square;
    square *= square;
  }
  return exponent < Real(0) ? splat<Real>(1) / result : result;
}

template <class Real> SIGHTLINE_INLINE Vec<Real> raise(Vec<Real> base, Real exponent) {
  if (exponent == Real(0.5))
    return square_root<Real>(base);
  if (exponent >= Real(-64) && exponent <= Real(64) && exponent == Real(static_cast<int>(exponent)))
    return whole_exponent<Real>(base, exponent);
  if (exponent >= Real(-8) && exponent <= Real(8) && exponent + exponent == Real(static_cast<int>(exponent + exponent)))
    return exponent < Real(0) ? whole_exponent<Real>(inverse_root<Real>(base), -(exponent + exponent))
                              : whole_exponent<Real>(square_root<Real>(base), exponent + exponent);
  Vec<Real> out{};
  for (int lane = 0; lane < Lanes<Real>::count; ++lane) {
    out[lane] = sizeof(Real) == 4 ? Real(__builtin_powf(static_cast<float>(base[lane]), static_cast<float>(exponent)))
                                  : Real(__builtin_pow(static_cast<double>(base[lane]), static_cast<double>(exponent)));
  }
  return out;
}

/// Calls f with x -> x^exponent, which is made once for all vectors: usual exponents without a branch.
template <class Real, class Function> SIGHTLINE_INLINE void with_raising(Real exponent, Function f) {
  const auto run = [&]<int twice>() SIGHTLINE_INLINE_HERE {
    f([](Vec<Real> x) SIGHTLINE_INLINE_HERE { return raise<Real>(x, Real(0.5) * Real(twice)); });
  };
  const Real twice = exponent + exponent;
  switch (twice >= Real(-6) && twice <= Real(6) && twice == Real(static_cast<int>(twice)) ? static_cast<int>(twice) : 0) {
  case -6: return run.template operator()<-6>();
  case -5: return run.template operator()<-5>();
  case -4: return run.template operator()<-4>();
  case -3: return run.template operator()<-3>();
  case -2: return run.template operator()<-2>();
  case -1: return run.template operator()<-1>();
  case 1: return run.template operator()<1>();
  case 2: return run.template operator()<2>();
  case 3: return run.template operator()<3>();
  case 4: return run.template operator()<4>();
  case 5: return run.template operator()<5>();
  case 6: return run.template operator()<6>();
  default: return f([=](Vec<Real> x) SIGHTLINE_INLINE_HERE { return raise<Real>(x, exponent); });
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
