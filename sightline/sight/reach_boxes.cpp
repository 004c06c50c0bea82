// Layouts on a grid whose rows are few boxes, each a set of grid rows times a set of columns (rows and columns in one layer, beside windows; docs/theory.md 16.108): so is everything seen.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <set>

#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_memory.hpp"

namespace sightline::sight {

namespace {

constexpr std::size_t most_boxes = 6;

/// For each of some places a set of them, one bit each.
class Sets {
public:
  explicit Sets(Vertex places) : words((std::size_t{places} + 63) / 64), places_(places), bits_(words * places, 0) {}

  [[nodiscard]] Vertex places() const { return places_; }
  [[nodiscard]] const std::uint64_t* of(Vertex place) const { return bits_.data() + place * words; }
  [[nodiscard]] std::uint64_t* of(Vertex place) { return bits_.data() + place * words; }
  [[nodiscard]] bool has(Vertex place, Vertex member) const { return (of(place)[member / 64] >> (member % 64) & 1) != 0; }
  void add(Vertex place, Vertex member) { of(place)[member / 64] |= std::uint64_t{1} << (member % 64); }
  [[nodiscard]] Vertex count(Vertex place) const {
    Vertex members = 0;
    for (std::size_t w = 0; w < words; ++w) members += static_cast<Vertex>(std::popcount(of(place)[w]));
    return members;
  }
  [[nodiscard]] bool holds(const Sets& other) const {
    for (std::size_t w = 0; w < bits_.size(); ++w) {
      if ((other.bits_[w] & ~bits_[w]) != 0) return false;
    }
    return true;
  }
  /// Whatever the members of each set here have there.
  [[nodiscard]] Sets before(const Sets& earlier) const {
    Sets all(places_);
    for (Vertex place = 0; place < places_; ++place) {
      for (std::size_t w = 0; w < words; ++w) {
        for (std::uint64_t left = of(place)[w]; left != 0; left &= left - 1) {
          const std::uint64_t* const more = earlier.of(static_cast<Vertex>(64 * w + static_cast<std::size_t>(std::countr_zero(left))));
          for (std::size_t v = 0; v < words; ++v) all.of(place)[v] |= more[v];
        }
      }
    }
    return all;
  }
  friend bool operator==(const Sets&, const Sets&) = default;

  std::size_t words;

private:
  Vertex places_;
  std::vector<std::uint64_t> bits_;
};

/// Token (r, c) has the tokens of down(r) x across(c).
struct Box {
  Sets down, across;
  friend bool operator==(const Box&, const Box&) = default;
};

/// Those that are in no other.
std::optional<std::vector<Box>> keep_largest(std::vector<Box> boxes) {
  std::vector<Box> kept;
  for (std::size_t k = 0; k < boxes.size(); ++k) {
    bool inside = false;
    for (std::size_t l = 0; l < boxes.size() && !inside; ++l) {
      inside = l != k && boxes[l].down.holds(boxes[k].down) && boxes[l].across.holds(boxes[k].across) && (l < k || boxes[l] != boxes[k]);
    }
    if (!inside) kept.push_back(boxes[k]);
  }
  if (kept.size() > most_boxes) return std::nullopt;
  return kept;
}

Box make_own(Vertex height, Vertex width) {
  Box own{Sets(height), Sets(width)};
  for (Vertex r = 0; r < height; ++r) own.down.add(r, r);
  for (Vertex c = 0; c < width; ++c) own.across.add(c, c);
  return own;
}

struct Boxes {
  Vertex width = 0, height = 0;
  std::vector<std::vector<Box>> layers;  ///< by layer; the own token is in one of them
};

/// One relation's rows as boxes; those of one row have no grid row in common.
class BoxFinder {
public:
  BoxFinder(const layout::Pattern& pattern, Vertex tokens, Vertex width, const Budget& budget) : pattern_(pattern), budget_(budget), width_(width), height_(tokens / width) {}

  std::optional<std::vector<Box>> find() {
    // What the first column and the first row say of all others, which is then looked at.
    for (Vertex r = 0; r < height_; ++r) {
      if (!read(r * width_)) return std::nullopt;
      if (r == 0) boxes_.assign(parts_.size(), Box{Sets(height_), Sets(width_)});
      if (parts_.size() != boxes_.size()) return std::nullopt;
      for (std::size_t k = 0; k < parts_.size(); ++k) {
        for (const Vertex x : parts_[k].rows) boxes_[k].down.add(r, x);
      }
    }
    for (Vertex c = 0; c < width_; ++c) {
      if (!read(c) || parts_.size() != boxes_.size()) return std::nullopt;
      for (std::size_t k = 0; k < parts_.size(); ++k) {
        for (const Vertex y : parts_[k].columns) boxes_[k].across.add(c, y);
      }
    }
    if (!are_all_so()) return std::nullopt;
    return std::move(boxes_);
  }

  /// Does token 0, and so each, read more than one box?
  bool shows_two() { return read(0) && parts_.size() > 1; }

private:
  /// A set of grid rows, all with the same columns.
  struct Part {
    std::vector<Vertex> columns, rows;
  };

  /// The parts of a row by falling numbers of columns, which have to differ.
  bool read(Vertex token) {
    pattern_.row(token, row_);
    std::map<Vertex, std::vector<Vertex>> of_row;
    std::size_t members = 0;
    for (const layout::Run& run : row_) {
      if ((members += run.size()) > most_members) return false;
      for (std::uint64_t j = run.first; j <= run.last; j += run.step) of_row[static_cast<Vertex>(j / width_)].push_back(static_cast<Vertex>(j % width_));
    }
    std::map<std::vector<Vertex>, std::vector<Vertex>> by_columns;
    for (auto& [x, columns] : of_row) {
      std::sort(columns.begin(), columns.end());
      by_columns[columns].push_back(x);
    }
    if (by_columns.size() > most_parts) return false;
    parts_.clear();
    for (const auto& [columns, rows] : by_columns) parts_.push_back({columns, rows});
    std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.columns.size() > b.columns.size(); });
    for (std::size_t k = 1; k < parts_.size(); ++k) {
      if (parts_[k].columns.size() == parts_[k - 1].columns.size()) return false;
    }
    return true;
  }

  /// Members of a set up to each place.
  static std::vector<std::vector<Vertex>> sum_up(const Sets& sets) {
    std::vector<std::vector<Vertex>> sums(sets.places(), std::vector<Vertex>(std::size_t{sets.places()} + 1, 0));
    for (Vertex place = 0; place < sets.places(); ++place) {
      for (Vertex x = 0; x < sets.places(); ++x) sums[place][x + 1] = sums[place][x] + (sets.has(place, x) ? 1 : 0);
    }
    return sums;
  }

  /// Every row has as many members as its boxes, and each of them is in one.
  bool are_all_so() {
    std::vector<std::vector<std::vector<Vertex>>> down, across;  // by box and place
    for (const Box& box : boxes_) {
      down.push_back(sum_up(box.down));
      across.push_back(sum_up(box.across));
    }
    for (Vertex r = 0; r < height_; ++r) {
      std::vector<std::size_t> box_of(height_, boxes_.size());
      for (std::size_t k = 0; k < boxes_.size(); ++k) {
        for (Vertex x = 0; x < height_; ++x) {
          if (boxes_[k].down.has(r, x)) box_of[x] = k;
        }
      }
      for (Vertex c = 0; c < width_; ++c) {
        budget_.poll();
        std::uint64_t expected = 0, found = 0;
        for (std::size_t k = 0; k < boxes_.size(); ++k) expected += std::uint64_t{down[k][r].back()} * across[k][c].back();
        pattern_.row(r * width_ + c, row_);
        for (const layout::Run& run : row_) {
          found += run.size();
          if (!is_inside(run, r, c, box_of, down, across)) return false;
        }
        if (found != expected) return false;
      }
    }
    return true;
  }

  bool is_inside(const layout::Run& run, Vertex r, Vertex c, const std::vector<std::size_t>& box_of, const std::vector<std::vector<std::vector<Vertex>>>& down,
                 const std::vector<std::vector<std::vector<Vertex>>>& across) const {
    const Vertex from_row = run.first / width_, to_row = run.last / width_;
    if (run.step == width_) {  // one column
      for (std::size_t k = 0; k < boxes_.size(); ++k) {
        const bool meets = down[k][r][to_row + 1] > down[k][r][from_row];
        if (meets && !boxes_[k].across.has(c, run.first % width_)) return false;
      }
      Vertex covered = 0;
      for (std::size_t k = 0; k < boxes_.size(); ++k) covered += down[k][r][to_row + 1] - down[k][r][from_row];
      return covered == to_row - from_row + 1;
    }
    if (run.step == 1) {  // along grid rows
      for (Vertex x = from_row; x <= to_row; ++x) {
        if (box_of[x] == boxes_.size()) return false;
        const Vertex low = x == from_row ? run.first % width_ : 0, high = x == to_row ? run.last % width_ : width_ - 1;
        if (across[box_of[x]][c][high + 1] - across[box_of[x]][c][low] != high - low + 1) return false;
      }
      return true;
    }
    for (std::uint64_t j = run.first; j <= run.last; j += run.step) {
      const std::size_t k = box_of[j / width_];
      if (k == boxes_.size() || !boxes_[k].across.has(c, static_cast<Vertex>(j % width_))) return false;
    }
    return true;
  }

  static constexpr std::size_t most_parts = 3, most_members = std::size_t{1} << 20;

  const layout::Pattern& pattern_;
  const Budget& budget_;
  Vertex width_, height_;
  std::vector<Box> boxes_;
  std::vector<Part> parts_;
  std::vector<layout::Run> row_;
};

/// Widths that token 0 shows: how far it reads without a gap, and in which steps.
std::set<Vertex> propose_widths(const Layout& layout, const std::vector<bool>& used) {
  std::set<Vertex> widths;
  std::vector<layout::Run> row;
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (!used[l]) continue;
    for (const std::uint32_t r : layout.layers[l].relations) {
      layout.relations[r].pattern().row(0, row);
      for (const layout::Run& run : row) {
        if (run.step > 1) widths.insert(run.step);
        else if (run.first <= 1) widths.insert({run.last, run.last + 1});  // the token below the own one comes next in the order of the line
      }
    }
  }
  constexpr Vertex most_places = 2048;
  std::erase_if(widths, [&](Vertex width) { return width < 2 || layout.tokens % width != 0 || layout.tokens / width < 2 || std::max(width, layout.tokens / width) > most_places; });
  return widths;
}

std::optional<Boxes> find_boxes(const Layout& layout, Vertex width, const std::vector<bool>& used, const Budget& budget) {
  // Single boxes are products, which are asked side by side (reach_grid.cpp).
  bool may_have_two = false;
  for (std::size_t l = 0; l < used.size() && !may_have_two; ++l) {
    const std::vector<std::uint32_t>& relations = layout.layers[l].relations;
    may_have_two = used[l] && (relations.size() > 1 || std::any_of(relations.begin(), relations.end(), [&](std::uint32_t r) {
                                 return BoxFinder(layout.relations[r].pattern(), layout.tokens, width, budget).shows_two();
                               }));
  }
  if (!may_have_two) return std::nullopt;
  Boxes boxes{width, layout.tokens / width, std::vector<std::vector<Box>>(used.size())};
  std::map<std::uint32_t, std::vector<Box>> known;
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (!used[l]) continue;
    std::vector<Box> all{make_own(boxes.height, boxes.width)};
    for (const std::uint32_t r : layout.layers[l].relations) {
      if (!known.contains(r)) {
        auto found = BoxFinder(layout.relations[r].pattern(), layout.tokens, width, budget).find();
        if (!found) return std::nullopt;
        known.emplace(r, *std::move(found));
      }
      all.insert(all.end(), known.at(r).begin(), known.at(r).end());
    }
    auto kept = keep_largest(std::move(all));
    if (!kept) return std::nullopt;
    boxes.layers[l] = *std::move(kept);
  }
  // Single boxes are products, which are asked side by side (reach_grid.cpp).
  if (std::all_of(boxes.layers.begin(), boxes.layers.end(), [](const std::vector<Box>& layer) { return layer.size() <= 1; })) return std::nullopt;
  return boxes;
}

std::shared_ptr<const Boxes> recall_boxes(const Layout& layout, const Budget& budget) {
  const auto make = [&]() -> std::shared_ptr<const Boxes> {
    const std::vector<bool> used = layout.used_layers();
    for (const Vertex width : propose_widths(layout, used)) {
      if (auto found = find_boxes(layout, width, used, budget)) return std::make_shared<const Boxes>(*std::move(found));
    }
    return nullptr;
  };
  ReachMemory::Entry* memory = ReachMemory::find(layout);
  if (memory == nullptr) return make();
  if (!memory->has_boxes) {
    auto found = make();
    memory = ReachMemory::find(layout);
    memory->boxes = std::move(found);
    memory->has_boxes = true;
  }
  return std::static_pointer_cast<const Boxes>(memory->boxes);
}

/// What all tokens see, layer by layer.
class BoxReach {
public:
  BoxReach(const ReachQuestion& question, const Boxes& boxes, const Budget& budget)
      : question_(question), boxes_(boxes), budget_(budget), booking_(budget, std::uint64_t{question.layout->tokens} * 12), walk_(*question.layout, question.skip) {}

  /// Nothing where views are too many boxes.
  std::optional<ReachAnswer> answer() {
    ReachAnswer answer;
    const bool seen = question_.wanted.kind == ClassKind::seen;
    std::vector<Vertex> wanted(question_.layout->tokens, question_.layout->tokens - (question_.wanted.ordinary_only ? 1 : 0));
    if (seen) {
      if (!follow_to_end(answer.reach)) return std::nullopt;
      wanted = count();
    } else if (question_.find_layers && !find_layers(answer.reach)) {
      return std::nullopt;
    }
    if (!question_.count_unseen) return answer;
    start();
    std::uint64_t q = 0;
    while (next_change(q, question_.depth)) continue;
    if (is_too_much_) return std::nullopt;
    answer.unseen = count();
    for (Vertex i = 0; i < answer.unseen.size(); ++i) answer.unseen[i] = wanted[i] - answer.unseen[i];
    return answer;
  }

private:
  void start() {
    state_.assign(1, make_own(boxes_.height, boxes_.width));
    seen_ = count();
    walk_.start();
  }

  [[nodiscard]] bool sees(Vertex i, Vertex j) const { return hold(state_, i, j); }
  [[nodiscard]] bool hold(const std::vector<Box>& boxes, Vertex i, Vertex j) const {
    const Vertex w = boxes_.width;
    return std::any_of(boxes.begin(), boxes.end(), [&](const Box& box) { return box.down.has(i / w, j / w) && box.across.has(i % w, j % w); });
  }

  /// By token how many of those that count it sees.
  [[nodiscard]] std::vector<Vertex> count() const {
    const Vertex width = boxes_.width, height = boxes_.height;
    const std::size_t masks = std::size_t{1} << state_.size();
    // Grid rows by the boxes that hold them, and columns in any of some boxes.
    std::vector<Vertex> rows(masks), columns(masks * width, 0), counts(question_.layout->tokens);
    for (Vertex c = 0; c < width; ++c) {
      std::vector<std::uint64_t> either(state_.front().across.words);
      for (std::size_t mask = 1; mask < masks; ++mask) {
        std::fill(either.begin(), either.end(), 0);
        for (std::size_t k = 0; k < state_.size(); ++k) {
          for (std::size_t word = 0; (mask >> k & 1) != 0 && word < either.size(); ++word) either[word] |= state_[k].across.of(c)[word];
        }
        for (const std::uint64_t word : either) columns[mask * width + c] += static_cast<Vertex>(std::popcount(word));
      }
    }
    for (Vertex r = 0; r < height; ++r) {
      budget_.poll();
      std::fill(rows.begin(), rows.end(), 0);
      for (Vertex x = 0; x < height; ++x) {
        std::size_t mask = 0;
        for (std::size_t k = 0; k < state_.size(); ++k) mask |= state_[k].down.has(r, x) ? std::size_t{1} << k : 0;
        ++rows[mask];
      }
      for (std::size_t mask = 1; mask < masks; ++mask) {
        for (Vertex c = 0; rows[mask] > 0 && c < width; ++c) counts[r * width + c] += rows[mask] * columns[mask * width + c];
      }
    }
    for (Vertex i = 0; question_.wanted.ordinary_only && i < counts.size(); ++i) counts[i] -= sees(i, 0) ? 1 : 0;
    return counts;
  }

  bool apply(std::uint32_t layer) {
    std::vector<Box> next;
    for (const Box& read : boxes_.layers[layer]) {
      for (const Box& box : state_) {
        budget_.poll();
        work_ += std::uint64_t{boxes_.height} * boxes_.height * box.down.words + std::uint64_t{boxes_.width} * boxes_.width * box.across.words;
        if (work_ > most_work) {
          is_too_much_ = true;
          return false;
        }
        next.push_back({read.down.before(box.down), read.across.before(box.across)});
      }
    }
    auto kept = keep_largest(std::move(next));
    if (!kept) {
      is_too_much_ = true;
      return false;
    }
    // Views only grow, so as many are the same.
    state_ = *std::move(kept);
    std::vector<Vertex> seen = count();
    const bool changed = seen != seen_;
    before_ = std::exchange(seen_, std::move(seen));
    return changed;
  }

  bool next_change(std::uint64_t& q, std::optional<std::uint64_t> limit) {
    return walk_.next_change(q, limit, [this](std::uint32_t l) { return !is_too_much_ && apply(l); });
  }

  /// The least token that misses one, and the least that it misses.
  [[nodiscard]] std::optional<UnreachablePair> find_missing() const {
    const Vertex from = question_.wanted.ordinary_only ? 1 : 0, tokens = question_.layout->tokens;
    for (Vertex i = 0; i < tokens; ++i) {
      if (seen_[i] == tokens - from) continue;
      for (Vertex j = from; j < tokens; ++j) {
        if (!sees(i, j)) return UnreachablePair{i, j};
      }
    }
    return std::nullopt;
  }

  bool find_layers(Connected& reach) {
    start();
    std::uint64_t q = 0;
    std::optional<UnreachablePair> before;
    for (auto missing = find_missing(); missing; missing = find_missing()) {
      before = missing;
      if (next_change(q, std::nullopt)) continue;
      reach = {std::nullopt, missing};
      return !is_too_much_;
    }
    reach = {q, before};
    return !is_too_much_;
  }

  bool follow_to_end(Connected& reach) {
    start();
    reach.layers = 0;
    std::uint64_t q = 0;
    std::vector<Box> old = state_;
    while (next_change(q, std::nullopt)) {
      const auto i = static_cast<Vertex>(std::mismatch(seen_.begin(), seen_.end(), before_.begin()).first - seen_.begin());
      Vertex j = question_.wanted.ordinary_only ? 1 : 0;  // there is one that came into view
      while (hold(old, i, j) || !sees(i, j)) ++j;
      reach = {q, UnreachablePair{i, j}};
      old = state_;
    }
    return !is_too_much_;
  }

  static constexpr std::uint64_t most_work = std::uint64_t{1} << 31;

  const ReachQuestion& question_;
  const Boxes& boxes_;
  const Budget& budget_;
  Booking booking_;
  LayerWalk walk_;
  std::vector<Box> state_;
  std::vector<Vertex> seen_, before_;  ///< by token: how many it sees, and saw a layer before
  std::uint64_t work_ = 0;
  bool is_too_much_ = false;
};

}  // namespace

std::optional<ReachAnswer> answer_by_boxes(const ReachQuestion& question, const Budget& budget) {
  if (question.weight != nullptr || question.layout->registers > 0 || question.layout->order.empty() || question.wanted.kind == ClassKind::causal) return std::nullopt;
  const std::shared_ptr<const Boxes> boxes = recall_boxes(*question.layout, budget);
  return boxes ? BoxReach(question, *boxes, budget).answer() : std::nullopt;
}

}  // namespace sightline::sight
