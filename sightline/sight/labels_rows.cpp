#include "sightline/sight/labels_rows.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "sightline/base/error.hpp"
#include "sightline/sight/labels_polynomial.hpp"

namespace sightline::sight {

namespace {

// First words of a row label: rows of different kinds are never equal.
constexpr std::uint32_t empty_row = 0, constant_row = 1, counted_row = 2, polynomial_row = 3, whole_row = 4;

bool reads_relative(RowRule rule) { return rule != RowRule::frequency && rule != RowRule::whole; }

void append_wide(std::int64_t value, std::vector<std::uint32_t>& words) {
  words.push_back(static_cast<std::uint32_t>(static_cast<std::uint64_t>(value)));
  words.push_back(static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) >> 32));
}

Polynomial multiply(const Polynomial& a, const Polynomial& b) {
  if (a.empty() || b.empty()) return {};
  Polynomial product(a.size() + b.size() - 1, 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) product[i + j] += a[i] * b[j];
  }
  return product;
}

}  // namespace

RowLabeller::RowLabeller(const layout::Relation& relation, RowRule rule) : rule_(rule) {
  const bool distances = relation.relative().kind == layout::RelativeKind::distance;
  if (rule == RowRule::alibi && !distances) throw ArgumentError("the alibi rule needs a relation coloured by distance");
  std::map<Colour, std::uint32_t> index;
  std::map<std::int64_t, std::uint32_t> matrix_index, relative_index;
  std::vector<layout::ColouredRun> runs;
  rows_.resize(relation.vertex_count());
  for (Vertex i = 0; i < relation.vertex_count(); ++i) {
    Row& row = rows_[i];
    std::set<std::uint32_t> matrices, relatives;
    relation.raw_row(i, runs);
    for (const layout::ColouredRun& run : runs) {
      std::int64_t raw = run.colour - 1;
      for (Vertex k = 0; k < run.size(); ++k, raw += run.colour_step) {
        const std::int64_t relative = raw % relation.relative_count();
        Colour colour;
        if (rule != RowRule::whole) {
          colour.matrix = matrix_index.try_emplace(raw / relation.relative_count(), matrix_index.size() + 1).first->second;
        }
        if (rule == RowRule::alibi) {
          // 1 + the exponent of z; arcs that touch a register have weight z^0 and are told apart by their states.
          colour.relative = static_cast<std::uint32_t>(std::max<std::int64_t>(relative, 1));
        } else if (reads_relative(rule)) {
          colour.relative = relative_index.try_emplace(relative, relative_index.size() + 1).first->second;
        }
        row.read.push_back(run.first + k * run.step);
        row.colour.push_back(index.try_emplace(colour, index.size()).first->second);
        matrices.insert(colour.matrix);
        relatives.insert(colour.relative);
      }
    }
    row.one_matrix_colour = matrices.size() <= 1;
    row.one_relative_colour = relatives.size() <= 1;
    row.relative_injective = relatives.size() == row.read.size();
  }
  colours_.resize(index.size());
  for (const auto& [colour, k] : index) colours_[k] = colour;
  count_base_ = std::uint64_t{relation.vertex_count()} + 1;
  relative_base_ = std::max(relative_index.size(), rows_.size()) + 1;  // relative indices, or 1 + a distance
  packs_ = (matrix_index.size() + 1) * relative_base_ * count_base_ <= std::numeric_limits<std::uint32_t>::max();
}

void RowLabeller::count_arcs(const Row& row, const std::uint32_t* state) {
  keys_.clear();
  for (std::size_t k = 0; k < row.read.size(); ++k) {
    keys_.push_back(std::uint64_t{state[row.read[k]]} << 32 | row.colour[k]);
  }
  std::sort(keys_.begin(), keys_.end());
}

// The polynomials A_s have a common factor in the variables of `factor` iff, as vectors over everything else, the groups of
// one such monomial are all proportional; the quotient is then any one of them. Integer content is divided out at the end.
// No (group, rest) occurs twice, so stretches as long as the first group match it only if they are groups themselves.
bool RowLabeller::divide_by(Factor factor) {
  const auto group = [&](const Entry& e) {
    return Colour{factor == Factor::relative ? 0 : e.colour.matrix, factor == Factor::matrix ? 0 : e.colour.relative};
  };
  const auto rest = [&](const Entry& e) {
    return std::tuple(e.state, factor == Factor::relative ? e.colour.matrix : 0, factor == Factor::matrix ? e.colour.relative : 0);
  };
  std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
    return std::tuple(group(a), rest(a)) < std::tuple(group(b), rest(b));
  });
  std::size_t size = 1;
  while (size < entries_.size() && group(entries_[size]) == group(entries_[0])) ++size;
  if (entries_.size() % size != 0) return false;
  for (std::size_t begin = size; begin < entries_.size(); begin += size) {
    for (std::size_t k = 0; k < size; ++k) {
      const Entry& e = entries_[begin + k];
      if (group(e) != group(entries_[begin]) || rest(e) != rest(entries_[k])) return false;
      if (std::uint64_t{e.count} * entries_[0].count != std::uint64_t{entries_[begin].count} * entries_[k].count) return false;
    }
  }
  entries_.resize(size);
  for (Entry& e : entries_) {
    if (factor != Factor::relative) e.colour.matrix = 0;
    if (factor != Factor::matrix) e.colour.relative = 0;
  }
  return true;
}

void RowLabeller::append_entries(std::vector<std::uint32_t>& words) {
  const auto before = [](const Entry& a, const Entry& b) {
    return a.state != b.state ? a.state < b.state : a.colour < b.colour;
  };
  std::sort(entries_.begin(), entries_.end(), before);
  words.push_back(counted_row);
  for (const Entry& e : entries_) {
    words.push_back(e.state);
    if (packs_) {
      words.push_back(static_cast<std::uint32_t>((e.colour.matrix * relative_base_ + e.colour.relative) * count_base_ + e.count));
    } else {
      words.insert(words.end(), {e.colour.matrix, e.colour.relative, e.count});
    }
  }
}

void RowLabeller::append_polynomials(const Row& row, std::vector<std::uint32_t>& words) {
  // One polynomial in z per (matrix colour, state), the matrix colour with most states in view first.
  std::vector<std::uint32_t> states, matrices;
  for (const Entry& e : entries_) {
    states.push_back(e.state);
    matrices.push_back(e.colour.matrix);
  }
  for (std::vector<std::uint32_t>* values : {&states, &matrices}) {
    std::sort(values->begin(), values->end());
    values->erase(std::unique(values->begin(), values->end()), values->end());
  }
  const auto place = [](const std::vector<std::uint32_t>& values, std::uint32_t x) {
    return static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), x) - values.begin());
  };
  std::vector<Polynomial> family(matrices.size() * states.size());
  for (const Entry& e : entries_) {
    Polynomial& a = family[place(matrices, e.colour.matrix) * states.size() + place(states, e.state)];
    if (a.size() < e.colour.relative) a.resize(e.colour.relative, 0);
    a[e.colour.relative - 1] += e.count;
  }
  // A_s = P(w) e_s(z) iff the rows of the matrix are proportional over Q(z); its first row is not zero.
  bool rank_one = true;
  if (!row.one_matrix_colour) {
    std::size_t pivot = 0;
    while (family[pivot].empty()) ++pivot;
    for (std::size_t k = 1; rank_one && k < matrices.size(); ++k) {
      const Polynomial* line = &family[k * states.size()];
      for (std::size_t s = 0; rank_one && s < states.size(); ++s) {
        rank_one = multiply(line[s], family[pivot]) == multiply(line[pivot], family[s]);
      }
    }
  }
  if (rank_one) family.resize(states.size());
  divide_by_common_factor(family);
  // Written like counts where the coefficients allow it, as those rows are that never came here.
  const bool counts = std::all_of(family.begin(), family.end(), [&](const Polynomial& a) {
    return std::all_of(a.begin(), a.end(), [&](std::int64_t x) { return x >= 0 && x < static_cast<std::int64_t>(count_base_); });
  });
  if (!counts) words.push_back(polynomial_row);
  entries_.clear();
  for (std::size_t k = 0; k < family.size(); ++k) {
    const std::uint32_t s = states[k % states.size()], matrix = rank_one ? 0 : matrices[k / states.size()];
    for (std::uint32_t c = 0; counts && c < family[k].size(); ++c) {
      if (family[k][c] != 0) entries_.push_back({s, {matrix, c + 1}, static_cast<std::uint32_t>(family[k][c])});
    }
    if (counts || family[k].empty()) continue;
    words.insert(words.end(), {s, matrix, static_cast<std::uint32_t>(family[k].size())});
    for (const std::int64_t x : family[k]) append_wide(x, words);
  }
  if (counts) append_entries(words);
}

// A state read at one distance only is a monomial, and so is every common factor then: no polynomials needed.
bool RowLabeller::divide_by_monomial() {
  bool monomial = false;
  std::uint32_t low = entries_.front().colour.relative, content = 0;
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    const bool alone = (k == 0 || entries_[k - 1].state != entries_[k].state) &&
                       (k + 1 == entries_.size() || entries_[k + 1].state != entries_[k].state);
    monomial = monomial || alone;
    low = std::min(low, entries_[k].colour.relative);
    content = std::gcd(content, entries_[k].count);
  }
  if (!monomial) return false;
  for (Entry& e : entries_) {
    e.colour = {0, e.colour.relative - low + 1};
    e.count /= content;
  }
  return true;
}

void RowLabeller::append(Vertex reader, const std::uint32_t* state, std::vector<std::uint32_t>& words) {
  const Row& row = rows_[reader];
  if (row.read.empty()) {
    words.push_back(empty_row);
    return;
  }
  if (rule_ == RowRule::whole) {
    words.push_back(whole_row);
    for (const Vertex v : row.read) {
      words.push_back(v);
      words.push_back(state[v]);
    }
    return;
  }
  count_arcs(row, state);
  const bool normalised = rule_ != RowRule::multiset && rule_ != RowRule::set;
  if (normalised && keys_.front() >> 32 == keys_.back() >> 32) {
    words.push_back(constant_row);
    words.push_back(static_cast<std::uint32_t>(keys_.front() >> 32));
    return;
  }
  entries_.clear();
  for (std::size_t begin = 0, end = 0; begin < keys_.size(); begin = end) {
    while (end < keys_.size() && keys_[end] == keys_[begin]) ++end;
    const std::uint32_t count = rule_ == RowRule::set ? 1 : static_cast<std::uint32_t>(end - begin);
    entries_.push_back({static_cast<std::uint32_t>(keys_[begin] >> 32), colours_[static_cast<std::uint32_t>(keys_[begin])], count});
  }
  if (rule_ == RowRule::alibi) {
    return row.one_matrix_colour && divide_by_monomial() ? append_entries(words) : append_polynomials(row, words);
  }
  if (normalised) {
    for (Entry& e : entries_) {
      if (row.one_matrix_colour) e.colour.matrix = 0;
      if (row.one_relative_colour && rule_ != RowRule::rotary) e.colour.relative = 0;
    }
    if (rule_ == RowRule::rotary) {
      if (!row.one_matrix_colour) divide_by(Factor::matrix);
    } else if (!row.relative_injective) {
      const bool no_matrix = row.one_matrix_colour || divide_by(Factor::matrix);
      const bool no_relative = row.one_relative_colour || divide_by(Factor::relative);
      if (!no_matrix && !no_relative) divide_by(Factor::both);
    }
    std::uint32_t content = 0;
    for (const Entry& e : entries_) content = std::gcd(content, e.count);
    for (Entry& e : entries_) e.count /= content;
  }
  append_entries(words);
}

}  // namespace sightline::sight
