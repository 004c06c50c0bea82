#include "sightline/attention_kernel/linear_program.hpp"

#include "sightline/base/error.hpp"

namespace sightline::attention_kernel {

Surd dot_product(const std::vector<Surd>& a, const std::vector<Surd>& b) {
  Surd sum;
  for (std::size_t i = 0; i < a.size(); ++i) if (!a[i].is_zero() && !b[i].is_zero()) sum += a[i] * b[i];
  return sum;
}

std::optional<std::vector<Surd>> find_strict_solution(const std::vector<std::vector<Surd>>& rows, std::size_t dim, const Budget& budget) {
  const std::size_t count = rows.size(), height = dim + 1, width = count + height + 1;
  // Phase one for: multipliers >= 0, sum of multiplier * row = 0, sum of multipliers = 1. Columns: multipliers,
  // artificial variables, right-hand side; the last line holds the reduced costs of the sum of the artificials.
  std::vector<std::vector<Surd>> table(height + 1, std::vector<Surd>(width));
  std::vector<std::size_t> basis(height);
  for (std::size_t i = 0; i < height; ++i) {
    for (std::size_t k = 0; k < count; ++k) table[i][k] = i < dim ? rows[k][i] : Surd(1);
    table[i][count + i] = 1;
    table[i][width - 1] = i < dim ? 0 : 1;
    basis[i] = count + i;
  }
  for (std::size_t k = 0; k < count; ++k) for (std::size_t i = 0; i < height; ++i) table[height][k] -= table[i][k];
  table[height][width - 1] = -1;

  while (true) {
    budget.poll();
    std::size_t enter = count;
    for (std::size_t k = 0; k < count && enter == count; ++k) if (table[height][k].sign() < 0) enter = k;
    if (enter == count) break;
    std::size_t leave = height;
    Surd least;
    for (std::size_t i = 0; i < height; ++i) {
      if (table[i][enter].sign() <= 0) continue;
      const Surd ratio = table[i][width - 1] / table[i][enter];
      if (leave == height || ratio < least || (ratio == least && basis[i] < basis[leave])) {
        leave = i;
        least = ratio;
      }
    }
    if (leave == height) throw InternalError("linear program: the sum of the artificial variables is bounded below, yet a ray was found");
    const Surd inverse = table[leave][enter].inverse();
    for (Surd& entry : table[leave]) if (!entry.is_zero()) entry *= inverse;
    for (std::size_t i = 0; i <= height; ++i) {
      if (i == leave || table[i][enter].is_zero()) continue;
      budget.poll();
      const Surd factor = table[i][enter];
      for (std::size_t k = 0; k < width; ++k) if (!table[leave][k].is_zero()) table[i][k] -= factor * table[leave][k];
    }
    basis[leave] = enter;
  }

  if (table[height][width - 1].is_zero()) return std::nullopt;
  // The dual prices 1 - (reduced cost of artificial i) separate; their first `dim` entries, negated, are v.
  std::vector<Surd> v(dim);
  for (std::size_t i = 0; i < dim; ++i) v[i] = table[height][count + i] - Surd(1);
  for (const std::vector<Surd>& row : rows)
    if (dot_product(row, v).sign() <= 0) throw InternalError("linear program: the solution does not satisfy its inequalities");
  return v;
}

}  // namespace sightline::attention_kernel
