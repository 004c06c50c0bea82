// Backward pass of one strip: from scores and products with the output's gradient to weights and derivatives of scores.
#pragma once

#include "sightline/mixer/cpu/forward_tile.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// Per lane of a tile: the largest exponents, d out . out, the rows' factors (see Head::statistics), sums of
/// derivatives.
template <class Real> struct LaneNumbers { Real *most, *middle, *scale, *totals, *carries; };

/// Weight::exponential_root, whose slope grows without bound where a query x and a key y are near: that slope times (x - y)
/// is then to be summed from differences, for x sum(slopes) - sum(slopes y) cancels. Lanes that are near each column of a
/// strip, and their slopes, which leave all other sums.
template <class Real> struct NearPairs {
  Real* slopes = nullptr; ///< [columns][lanes], where a lane is near; null: nobody asks
  bool any = false;
  std::uint64_t lanes[strip_columns];

  /// |x - y| < |x| / 4.
  void find(const Strip& strip, int vectors, const Real* squares, const Real* distances) {
    constexpr int count = Lanes<Real>::count;
    any = false;
    for (int c = 0; c < strip.count; ++c) {
      std::uint64_t found = 0;
      for (int v = 0; v < vectors; ++v) {
        const auto is_near = load<Real>(distances + c * tile_readers + v * count) <
                             load<Real>(squares + v * count) * splat<Real>(Real(1) / 16);
        if (any_differs<Real>((Vec<Real>)is_near, Vec<Real>{})) {
          for (int lane = 0; lane < count; ++lane)
            found |= std::uint64_t{is_near[lane] != 0} << (v * count + lane);
        }
      }
      lanes[c] = found & strip.masks[c];
      any = any || lanes[c] != 0;
    }
  }
  /// Takes the near lanes out of a slope.
  SIGHTLINE_INLINE Vec<Real> keep(int c, int lane, Vec<Real> slope) const {
    if (!any || (lanes[c] >> lane & ((std::uint64_t{1} << Lanes<Real>::count) - 1)) == 0)
      return slope;
    store<Real>(slopes + c * tile_readers + lane, slope);
    return select(lanes[c] >> lane, Vec<Real>{}, slope);
  }
  /// Takes their part from sums [width][lanes] over y, and adds it to those of the columns over x, [columns][padded] or
  /// null: what is left of both then joins x, or y, times the sum of the other slopes.
  void add(const Strip& strip, int vectors, std::int64_t width, const Real* queries, const Real* keys,
           std::ptrdiff_t key_stride, Real* sums, Real* key_sums, std::int64_t padded) const {
    constexpr int count = Lanes<Real>::count;
    for (int c = 0; c < strip.count && any; ++c) {
      if (lanes[c] == 0)
        continue;
      const LaneRange range = find_range<count>(lanes[c]);
      for (std::int64_t k = 0; k < width; ++k) {
        Vec<Real> all{};
        for (int v = range.begin; v < range.end && v < vectors; ++v) {
          Real* const at = sums + k * tile_readers + v * count;
          const Vec<Real> apart =
              load<Real>(queries + k * tile_readers + v * count) - splat<Real>(keys[c * key_stride + k]);
          const Vec<Real> part = select(lanes[c] >> (v * count),
                                        load<Real>(slopes + c * tile_readers + v * count) * apart, Vec<Real>{});
          store<Real>(at, load<Real>(at) - part);
          all += part;
        }
        if (key_sums != nullptr)
          key_sums[c * padded + k] += add_lanes<Real>(all);
      }
    }
  }
};

/// The weight of scores and its derivative by the score, times `chain`.
template <class Real, Weight kind>
SIGHTLINE_INLINE Vec<Real> weight_of(Vec<Real> s, Vec<Real> factor, Vec<Real> bias, Vec<Real> shift, Vec<Real> chain,
                                     Vec<Real>& slope) {
  const Vec<Real> zero{};
  if constexpr (kind == Weight::exponential || kind == Weight::exponential_root) {
    [[maybe_unused]] const Vec<Real> square = s;
    if constexpr (kind == Weight::exponential_root)
      s = square_root<Real>(s);
    const Vec<Real> weight = exp2_shifted<Real>(s * factor + bias, shift);
    slope = weight * chain;
    if constexpr (kind == Weight::exponential_root)
      slope = s == zero ? zero : slope * splat<Real>(Real(0.5)) * inverse_root<Real>(square);
    return weight;
  } else if constexpr (kind == Weight::features) {
    slope = exp2_shifted<Real>(bias, shift);
    return s * slope;
  } else if constexpr (is_reciprocal(kind)) {
    const Vec<Real> weight = reciprocal_weight<Real>(kind, factor, s);
    slope = reciprocal_slope<Real>(kind, weight) * chain;
    return weight;
  } else if constexpr (kind == Weight::relu_squared) {
    const Vec<Real> kept = s < zero ? zero : s;
    slope = (kept + kept) * chain;
    return kept * kept;
  } else {
    slope = chain;
    return s;
  }
}

/// What differentiate_strip_as does for vector v's readers, where there are no biases and pairs count whole. The sum of
/// derivatives.
template <class Real, Weight kind>
SIGHTLINE_INLINE Vec<Real> differentiate_vector(const Strip& strip, int v, Vec<Real> factor, Vec<Real> shift, Vec<Real> chain,
                                                Vec<Real> middle, Vec<Real> sum, const NearPairs<Real>& near, Real* scores,
                                                Real* products) {
  constexpr int lanes = Lanes<Real>::count;
  const ColumnRange columns = find_columns<Real>(strip, v);
  for_others(strip, columns, [&](int c) {
    store<Real>(scores + c * tile_readers + v * lanes, Vec<Real>{});
    store<Real>(products + c * tile_readers + v * lanes, Vec<Real>{});
  });
  const auto take = [&](auto keep) SIGHTLINE_INLINE_HERE {
    for (int c = columns.begin; c < columns.end; ++c) {
      const std::ptrdiff_t at = c * tile_readers + v * lanes;
      Vec<Real> slope;
      const Vec<Real> weight = weight_of<Real, kind>(load<Real>(scores + at), factor, Vec<Real>{}, shift, chain, slope);
      store<Real>(scores + at, keep(c, weight));
      slope = keep(c, (load<Real>(products + at) - middle) * slope);
      if constexpr (kind == Weight::exponential_root)
        slope = near.keep(c, v * lanes, slope);
      store<Real>(products + at, slope);
      sum += slope;
    }
  };
  if (strip.full) {
    take([](int /*column*/, Vec<Real> of) SIGHTLINE_INLINE_HERE { return of; });
  } else {
    take([&](int c, Vec<Real> of) SIGHTLINE_INLINE_HERE { return select(strip.masks[c] >> (v * lanes), of, Vec<Real>{}); });
  }
  return sum;
}

/// Scores and products with the output's gradient -> weights (in `scores`) and derivatives of the scores (in
/// `products`); 0 where nobody reads. alone: the strip is all that the tile reads, and d out . out is found as the
/// weighted mean of the products, whose rounding then cancels where one weight outweighs the others; `slopes` holds as
/// much as `scores`.
template <class Real, Weight kind>
void differentiate_strip_as(const Rule<Real>& rule, const Head<Real>& head, const Strip& strip, int vectors,
                            const LaneNumbers<Real>& of, bool alone, const TileBias<Real>& bias,
                            const NearPairs<Real>& near, Real* scores, Real* products, Real* slopes) {
  constexpr int lanes = Lanes<Real>::count;
  const Vec<Real> factor = splat<Real>(rule.factor), zero{};
  const Vec<Real> chained = splat<Real>(score_chain<Real>(rule));
  const bool biased = static_cast<bool>(bias.biases);
  const bool full = strip.full;
  for (int v = 0; v < vectors; ++v) {
    const Vec<Real> shift = load<Real>(of.most + v * lanes);
    Vec<Real> middle = load<Real>(of.middle + v * lanes), sum = load<Real>(of.totals + v * lanes), slope{};
    const auto weigh = [&](int c) SIGHTLINE_INLINE_HERE {
      const Vec<Real> s = load<Real>(scores + c * tile_readers + v * lanes);
      Vec<Real> added{};
      if constexpr (kind == Weight::features)
        added = feature_exponent<Real>(head, strip, c, v * lanes, bias.biases);
      else if (biased)
        added = bias.biases.get(c, v * lanes);
      const Vec<Real> weight = weight_of<Real, kind>(s, factor, added, shift, chained, slope);
      slope = halve<Real>(strip, c, v * lanes, slope);
      return halve<Real>(strip, c, v * lanes, weight);
    };
    if constexpr (kind != Weight::features) {
      if (!alone && !biased && !bias.sums && !strip.halved) {
        store<Real>(of.totals + v * lanes,
                    differentiate_vector<Real, kind>(strip, v, factor, shift, chained, middle, sum, near, scores, products));
        continue;
      }
    }
    if (alone) {
      Vec<Real> mean{};
      for (int place = 0; place < strip.count; ++place) {
        const int c = column_at(strip, place);
        const std::ptrdiff_t at = c * tile_readers + v * lanes;
        if (!is_read<Real>(strip, c, v))
          continue;
        Vec<Real> weight = weigh(c), product = weight * load<Real>(products + at);
        if (!full) {
          const std::uint64_t mask = strip.masks[c] >> (v * lanes);
          weight = select(mask, weight, zero);
          product = select(mask, product, zero);
        }
        mean += product;
        store<Real>(scores + at, weight);
        store<Real>(slopes + at, slope);
      }
      if (rule.normalised)
        middle = mean * load<Real>(of.scale + v * lanes);
    }
    for (int c = 0; c < strip.count; ++c) {
      const std::ptrdiff_t at = c * tile_readers + v * lanes;
      if (!is_read<Real>(strip, c, v)) {
        store<Real>(scores + at, zero);
        store<Real>(products + at, zero);
        continue;
      }
      if (alone) {
        slope = load<Real>(slopes + at);
      } else {
        const Vec<Real> weight = weigh(c);
        store<Real>(scores + at, full ? weight : select(strip.masks[c] >> (v * lanes), weight, zero));
      }
      const Vec<Real> above = load<Real>(products + at) - middle;
      if (bias.sums)
        bias.sums.add(c, v * lanes, strip.masks[c] >> (v * lanes), load<Real>(scores + at) * above);
      slope = above * slope;
      if (!full)
        slope = select(strip.masks[c] >> (v * lanes), slope, zero);
      if constexpr (kind == Weight::exponential_root)
        slope = near.keep(c, v * lanes, slope);
      store<Real>(products + at, slope);
      sum += slope;
    }
    store<Real>(of.totals + v * lanes, sum);
  }
}

template <class Real>
void differentiate_strip(const Rule<Real>& rule, const Head<Real>& head, const Strip& strip, int vectors,
                         const LaneNumbers<Real>& of, bool alone, const TileBias<Real>& bias,
                         const NearPairs<Real>& near, Real* scores, Real* products, Real* slopes) {
#define SIGHTLINE_CASE(kind)                                                                                           \
  case Weight::kind:                                                                                                   \
    return differentiate_strip_as<Real, Weight::kind>(rule, head, strip, vectors, of, alone, bias, near,      \
                                                      scores, products, slopes);
  switch (rule.weight) {
    SIGHTLINE_CASE(exponential)
    SIGHTLINE_CASE(exponential_root)
    SIGHTLINE_CASE(reciprocal)
    SIGHTLINE_CASE(reciprocal_root)
    SIGHTLINE_CASE(relu_squared)
    SIGHTLINE_CASE(identity)
    SIGHTLINE_CASE(features)
  case Weight::program:
    return; // differentiate_program
  }
#undef SIGHTLINE_CASE
}

/// The same for programs: `products` become the slopes of x.y, `totals` collect those along the reader, `along`
/// [columns][lanes] those along the read. reader_squares, read_squares, distances: what the program reads besides
/// scores.
template <class Real>
void differentiate_program(const Rule<Real>& rule, const Head<Real>& head, const Strip& strip, int vectors,
                           const LaneNumbers<Real>& of, bool alone, const TileBias<Real>& bias,
                           const ProgramScores<Real>& inputs, const ProgramSpace<Real>& space,
                           Real* scores, Real* products, Real* slopes, Real* along) {
  constexpr int lanes = Lanes<Real>::count;
  const Program<Real>& program = *rule.program;
  const Vec<Real> zero{}, one = splat<Real>(1), ln2 = splat<Real>(Real(0.69314718055994530942));
  const bool exponents = program.exponent >= 0 || has_bias(head), lengths = uses_lengths(program);
  const auto mask_of = [&](int c, int v) { return strip.masks[c] >> (v * lanes); };
  // The power of two and the weight of vector k of a block that has run.
  const auto weigh = [&](int c, int k, int v, Vec<Real> shift, Vec<Real>& power) SIGHTLINE_INLINE_HERE {
    Vec<Real> exponent = program.exponent < 0 ? zero : load<Real>(space.value(program.exponent, k));
    if (bias.biases)
      exponent += bias.biases.get(c + k, v * lanes);
    power = exponents ? exp2_shifted<Real>(exponent, shift) : one;
    return program.factor < 0 ? power : power * load<Real>(space.value(program.factor, k));
  };
  for (int c = 0; lengths && c < strip.count * lanes; c += lanes)
    store<Real>(along + c, zero);
  for (int v = 0; v < vectors; ++v) {
    const Vec<Real> shift = load<Real>(of.most + v * lanes);
    Vec<Real> middle = load<Real>(of.middle + v * lanes), sum = load<Real>(of.totals + v * lanes),
              carry = load<Real>(of.carries + v * lanes), power;
    const ColumnRange columns = find_columns<Real>(strip, v);
    for_others(strip, columns, [&](int c) {
      store<Real>(slopes + c * tile_readers + v * lanes, zero);
      store<Real>(products + c * tile_readers + v * lanes, zero);
    });
    const auto run = [&](int c) {
      const int count = columns.end - c < program_block ? columns.end - c : program_block;
      fill_program<Real>(program, c, count, v * lanes, tile_readers, inputs.reader_squares, inputs.read_squares, scores,
                         inputs.distances, space);
      run_program<Real>(program, count, space);
      return count;
    };
    if (alone && rule.normalised) {
      Vec<Real> mean{};
      for (int c = columns.begin; c < columns.end; c += program_block) {
        const int count = run(c);
        for (int k = 0; k < count; ++k) {
          const Vec<Real> product =
              weigh(c, k, v, shift, power) * load<Real>(products + (c + k) * tile_readers + v * lanes);
          mean += strip.full ? product : select(mask_of(c + k, v), product, zero);
        }
      }
      middle = mean * load<Real>(of.scale + v * lanes);
    }
    for (int c = columns.begin; c < columns.end; c += program_block) {
      const int count = run(c);
      for (int k = 0; k < count; ++k) {
        const std::ptrdiff_t at = (c + k) * tile_readers + v * lanes;
        const Vec<Real> weight = weigh(c, k, v, shift, power), base = load<Real>(products + at) - middle;
        store<Real>(slopes + at, strip.full ? weight : select(mask_of(c + k, v), weight, zero));
        seed_slopes<Real>(program, k, power * base, weight * base * ln2, space);
        if (bias.sums)
          bias.sums.add(c + k, v * lanes, mask_of(c + k, v), weight * base);
      }
      reverse_program<Real>(program, count, space);
      for (int k = 0; k < count; ++k) {
        const std::ptrdiff_t at = (c + k) * tile_readers + v * lanes;
        const std::uint64_t mask = strip.full ? ~std::uint64_t{0} : mask_of(c + k, v);
        if (!lengths) {
          const Vec<Real> slope = program.uses[0] ? load<Real>(space.slope(0, k)) : zero;
          store<Real>(products + at, strip.full ? slope : select(mask, slope, zero));
          continue;
        }
        PairSlopes<Real> found = take_slopes<Real>(program, k, space);
        if (!strip.full) {
          found.pair = select(mask, found.pair, zero);
          found.reader = select(mask, found.reader, zero);
          found.read = select(mask, found.read, zero);
        }
        store<Real>(products + at, found.pair);
        // x times this sum and a sum of y cancel where x and y are near (norm(x - y)): so it keeps what rounding takes.
        const Vec<Real> kept = found.reader - carry, next = sum + kept;
        // What is not read leaves even the rest as it is: exact mode's readers meet it before or behind what they read.
        carry = strip.full ? (next - sum) - kept : select(mask, (next - sum) - kept, carry);
        sum = strip.full ? next : select(mask, next, sum);
        store<Real>(along + (c + k) * lanes, load<Real>(along + (c + k) * lanes) + found.read);
      }
    }
    store<Real>(of.totals + v * lanes, sum);
    store<Real>(of.carries + v * lanes, carry);
  }
  for (int c = 0; c < strip.count; ++c) {
    for (int v = 0; v < vectors; ++v) {
      const std::ptrdiff_t at = c * tile_readers + v * lanes;
      store<Real>(scores + at, load<Real>(slopes + at));
    }
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD
