// What is not read never leaks: NaN and infinities in one token change nothing that does not read it, forward and
// backward.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <set>

#include "problem.hpp"

namespace sightline::mixer {
namespace {

bool reads(const Problem& problem, std::int64_t i, std::int64_t j) {
  for (const layout::Relation& relation : problem.relations)
    if (relation.pattern().reads(static_cast<layout::Vertex>(i), static_cast<layout::Vertex>(j)))
      return true;
  return false;
}

bool exists(const Problem& problem, std::int64_t b, std::int64_t v) {
  return problem.lengths.empty() || v < problem.lengths[static_cast<std::size_t>(b)] ||
         v >= problem.plan->read_tokens();
}

template <class Real>
void poison(std::vector<Real>& numbers, std::int64_t batch, std::int64_t vertices, std::int64_t b, std::int64_t v,
            Random& random) {
  const std::size_t rest = numbers.size() / static_cast<std::size_t>(batch * vertices);
  constexpr Real infinity = std::numeric_limits<Real>::infinity();
  const Real poisons[] = {std::numeric_limits<Real>::quiet_NaN(), infinity, -infinity};
  for (std::size_t k = 0; k < rest; ++k)
    numbers[static_cast<std::size_t>(b * vertices + v) * rest + k] = poisons[random() % 3];
}

// Vertices v with kept(b, v) must have the same bits in both.
template <class Real, class Kept>
void check_same(const Problem& problem, const std::vector<Real>& a, const std::vector<Real>& b, Kept kept,
                const std::string& what) {
  const std::size_t vertices = static_cast<std::size_t>(problem.shape.readers);
  if (a.empty() || vertices == 0)
    return;
  const std::size_t rest = a.size() / (static_cast<std::size_t>(problem.shape.batch) * vertices);
  for (std::size_t at = 0; at < static_cast<std::size_t>(problem.shape.batch) * vertices; ++at) {
    if (!kept(static_cast<std::int64_t>(at / vertices), static_cast<std::int64_t>(at % vertices)))
      continue;
    for (std::size_t k = at * rest; k < (at + 1) * rest; ++k) {
      CHECK_MESSAGE(std::memcmp(&a[k], &b[k], sizeof(Real)) == 0, problem.name << ": " << what << " of token "
                                                                               << at % vertices << " was " << a[k]
                                                                               << ", is " << b[k]);
    }
  }
}

template <class Real> void check_leaks(const Problem& problem, Random& random, const Execution& execution) {
  const Shape& s = problem.shape;
  Numbers<Real> clean = draw_numbers<Real>(problem, random);
  run_forward(problem, clean, execution);
  run_backward(problem, clean, execution);
  const std::int64_t b = pick(random, 0, s.batch - 1), v = pick(random, 0, s.readers - 1);
  // The keys and values of a token, or its query, or the gradient of its output.
  for (const int target : {0, 1, 2}) {
    if (target == 1 && !problem.is_attention)
      continue;
    Numbers<Real> spoiled = clean;
    if (target == 0) {
      if (problem.is_attention)
        poison(spoiled.key, s.batch, s.reads, b, v, random);
      poison(spoiled.value, s.batch, s.reads, b, v, random);
    } else {
      poison(target == 1 ? spoiled.query : spoiled.grad_out, s.batch, s.readers, b, v, random);
    }
    run_forward(problem, spoiled, execution);
    run_backward(problem, spoiled, execution);
    std::set<std::int64_t> readers, touched;
    for (std::int64_t i = 0; i < s.readers; ++i) {
      if (!exists(problem, b, i) || !(target == 0 ? exists(problem, b, v) && reads(problem, i, v) : i == v))
        continue;
      readers.insert(i);
      for (std::int64_t j = 0; j < s.reads; ++j)
        if (exists(problem, b, j) && reads(problem, i, j))
          touched.insert(j);
    }
    if (touched.empty())
      readers.clear();
    const auto not_reader = [&](std::int64_t batch, std::int64_t i) { return batch != b || !readers.contains(i); };
    const auto not_touched = [&](std::int64_t batch, std::int64_t j) { return batch != b || !touched.contains(j); };
    check_same(problem, clean.out, spoiled.out, not_reader, "output");
    check_same(problem, clean.grad_query, spoiled.grad_query, not_reader, "query's gradient");
    check_same(problem, clean.grad_key, spoiled.grad_key, not_touched, "key's gradient");
    check_same(problem, clean.grad_value, spoiled.grad_value, not_touched, "value's gradient");
    if (readers.empty()) {
      CHECK(same_bits(clean.grad_bias, spoiled.grad_bias));
      CHECK(same_bits(clean.grad_sink, spoiled.grad_sink));
    }
  }
}

TEST_CASE("nothing leaks from what is not read") {
  Random random(31);
  for (int round = 0; round < 1500; ++round) {
    const Problem problem = draw_problem(random, 10, false);
    const Execution execution{round % 2 == 0 ? Implementation::reference : Implementation::cpu, 1 + round % 3,
                              round % 5 == 0};
    if (round % 3 == 0)
      check_leaks<double>(problem, random, execution);
    else
      check_leaks<float>(problem, random, execution);
  }
}

TEST_CASE("empty rows and tokens beyond the length give zero") {
  Random random(32);
  int zeros = 0;
  for (int round = 0; round < 400; ++round) {
    const Problem problem = draw_problem(random, 8, false);
    const Shape& s = problem.shape;
    Numbers<float> numbers = draw_numbers<float>(problem, random);
    for (const auto implementation : {Implementation::reference, Implementation::cpu}) {
      run_forward(problem, numbers, {implementation});
      run_backward(problem, numbers, {implementation});
      const auto check_zero = [&](const std::vector<float>& of, std::int64_t b, std::int64_t v) {
        if (of.empty())
          return;
        const std::size_t rest = of.size() / static_cast<std::size_t>(s.batch * s.readers);
        for (std::size_t k = 0; k < rest; ++k)
          CHECK_MESSAGE(of[static_cast<std::size_t>(b * s.readers + v) * rest + k] == 0, problem.name);
        ++zeros;
      };
      for (std::int64_t b = 0; b < s.batch; ++b) {
        for (std::int64_t v = 0; v < s.readers; ++v) {
          bool row_empty = true, column_empty = true;
          for (std::int64_t u = 0; u < s.readers; ++u) {
            if (!exists(problem, b, u) || !exists(problem, b, v))
              continue;
            row_empty = row_empty && !reads(problem, v, u);
            column_empty = column_empty && !reads(problem, u, v);
          }
          if (row_empty) {
            check_zero(numbers.out, b, v);
            check_zero(numbers.grad_query, b, v);
          }
          if (column_empty) {
            check_zero(numbers.grad_key, b, v);
            check_zero(numbers.grad_value, b, v);
          }
        }
      }
    }
  }
  CHECK(zeros > 1000);
}

} // namespace
} // namespace sightline::mixer
