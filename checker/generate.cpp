// The patterns of an architecture by their definitions (format "Patterns"), one row at a time.
#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "layout.hpp"
#include "threshold.hpp"

namespace checker {
namespace {

using Integer = std::int64_t;

Integer floor_divide(Integer a, Integer b) { return a / b - (a % b < 0 ? 1 : 0); }
Integer positive_rest(Integer a, Integer b) { return a - floor_divide(a, b) * b; }

/// lo, lo+step, .. <= hi within 0 .. limit-1; what lies below 0 is left out in whole steps.
void add_run(Integer lo, Integer hi, Integer step, Integer limit, Row& out, Integer colour = 1) {
  if (lo < 0) lo = positive_rest(lo, step);
  hi = std::min(hi, limit - 1);
  if (lo > hi) return;
  const Integer last = lo + (hi - lo) / step * step;
  out.push_back({static_cast<Vertex>(lo), static_cast<Vertex>(last), lo == last ? 1 : static_cast<Vertex>(step), colour, 0});
}

void unite(Row& row, const Row& more) {
  const Row rest = subtract(more, row);
  row.insert(row.end(), rest.begin(), rest.end());
}

/// Runs of a row have no vertex in common.
Row intersect(const Row& row, const Row& other) {
  Row both;
  for (const Run& run : row)
    for (const Run& taken : other)
      if (const std::optional<Run> part = meet(run, taken)) both.push_back(*part);
  return both;
}

/// x - before d, .., x + after d in steps of d; round a ring each token once.
void add_window(Integer x, Integer before, Integer after, Integer d, bool wrap, Integer n, Row& out) {
  if (!wrap) return add_run(x - before * d, x + after * d, d, n, out);
  const Integer step = d % n, common = std::gcd(step, n);
  if (step == 0) return add_run(x, x, 1, n, out);
  if (before + after + 1 >= n / common) return add_run(x % common, n - 1, common, n, out);
  const Integer lo = x - before * step, hi = x + after * step;
  for (Integer lap = floor_divide(lo, n); lap <= floor_divide(hi, n); ++lap) add_run(lo - lap * n, hi - lap * n, step, n, out);
}

/// The block of x: boundaries at shift + k size; with wrap the two end pieces are one unless a boundary is at 0.
void add_block(Integer x, Integer size, Integer shift, bool wrap, Integer n, Row& out) {
  const Integer first = positive_rest(shift, size), begin = first + floor_divide(x - first, size) * size;
  const Integer last_begin = std::max<Integer>(0, first + floor_divide(n - 1 - first, size) * size);
  if (wrap && first > 0 && last_begin > 0 && (begin < 0 || begin == last_begin)) {
    add_run(0, first - 1, 1, n, out);
    add_run(last_begin, n - 1, 1, n, out);
  } else {
    add_run(std::max<Integer>(begin, 0), begin + size - 1, 1, n, out);
  }
}

/// Sorted distinct vertices as runs; colours, unless empty, are parallel to them.
Row compress(const std::vector<Vertex>& members, const std::vector<Integer>& colours = {}) {
  Row out;
  const auto colour = [&](std::size_t k) { return colours.empty() ? 1 : colours[k]; };
  for (std::size_t k = 0, end = 0; k < members.size(); k = end) {
    end = k + 1;
    while (end < members.size() && colour(end) == colour(k) && members[end] - members[end - 1] == members[k + 1] - members[k]) ++end;
    if (end == k + 2 && members[k + 1] - members[k] > 1) --end;
    const Vertex step = end - k > 1 ? members[k + 1] - members[k] : 1;
    out.push_back({members[k], members[end - 1], step, colour(k), 0});
  }
  return out;
}

std::vector<Vertex> to_set(const Json& list, std::uint64_t limit) {
  std::set<Vertex> out;
  for (const Json& value : list.array())
    if (!out.insert(static_cast<Vertex>(value.natural(limit))).second) throw Malformed("an index stands twice in a list");
  return {out.begin(), out.end()};
}

constexpr std::uint64_t largest = 2147483647;
Integer get(const Json& spec, std::string_view key) { return static_cast<Integer>(spec[key].natural(largest)); }
Integer get_positive(const Json& spec, std::string_view key) {
  const Integer value = get(spec, key);
  if (value == 0) throw Malformed(std::string(key) + ": expected at least 1");
  return value;
}
std::pair<Integer, Integer> get_pair(const Json& spec, std::string_view key, Integer least) {
  const Json& pair = spec[key];
  if (pair.size() != 2) throw Malformed(std::string(key) + ": expected two integers");
  const std::pair<Integer, Integer> out(pair[0].natural(largest), pair[1].natural(largest));
  if (std::min(out.first, out.second) < least) throw Malformed(std::string(key) + ": expected integers from " + std::to_string(least) + " on");
  return out;
}

bool is_trusted(const Json& spec) { return spec["kind"].is("bigbird") || spec["kind"].is("random") || spec["kind"].is("file"); }

/// A product of what the grid row y and the grid column x read.
PatternSource::Rule make_grid(const Json& spec, Integer n) {
  using Axis = std::function<void(Integer, Row&)>;
  const auto [h, w] = get_pair(spec, "shape", 1);
  if (h * w != n) throw Malformed("shape: expected height times width to be the number of tokens");
  Axis rows = [](Integer y, Row& out) { out.push_back({static_cast<Vertex>(y), static_cast<Vertex>(y), 1, 1, 0}); }, columns = rows;
  const auto whole = [](Integer extent) { return [extent](Integer, Row& out) { add_run(0, extent - 1, 1, extent, out); }; };
  const bool wrap = spec["wrap"].boolean();
  const int forms = spec["rows"].boolean() + spec["columns"].boolean() + (spec.find("window") != nullptr) + (spec.find("blocks") != nullptr);
  if (forms != 1) throw Malformed("expected one of window, rows, columns, blocks in a grid pattern");
  if (spec["rows"].boolean()) {
    columns = whole(w);
  } else if (spec["columns"].boolean()) {
    rows = whole(h);
  } else if (spec.find("window") != nullptr) {
    const auto make = [wrap](Integer reach, Integer extent) {
      return [=](Integer x, Row& out) { add_window(x, std::min(reach, extent), std::min(reach, extent), 1, wrap, extent, out); };
    };
    const auto [r, s] = get_pair(spec, "window", 0);
    rows = make(r, h), columns = make(s, w);
  } else {
    const auto make = [wrap](Integer size, Integer shift, Integer extent) {
      return [=](Integer x, Row& out) { add_block(x, size, shift, wrap, extent, out); };
    };
    const auto [a, b] = get_pair(spec, "blocks", 1);
    const auto [p, q] = spec.find("shift") != nullptr ? get_pair(spec, "shift", 0) : std::pair<Integer, Integer>(0, 0);
    rows = make(a, p, h), columns = make(b, q, w);
  }
  return [=, w = w](Vertex i, Row& out) {
    Row bands, parts;
    rows(i / w, bands);
    columns(i % w, parts);
    Integer height = 0, width = 0;
    for (const Run& band : bands) height += band.size();
    for (const Run& part : parts) width += part.size();
    for (const Run& band : bands) {
      if (width == w)
        add_run(band.first * w, band.last * w + w - 1, 1, n, out);
      else if (width < height)
        for (const Run& part : parts)
          for (Integer x = part.first; x <= part.last; ++x) add_run(band.first * w + x, band.last * w + x, w, n, out);
      else
        for (Integer y = band.first; y <= band.last; ++y)
          for (const Run& part : parts) add_run(y * w + part.first, y * w + part.last, 1, n, out);
    }
  };
}

PatternSource::Rule make_window(const Json& spec, Integer n) {
  const bool ring = spec["kind"].is("ring"), both = spec.find("radius") != nullptr, wrap = ring || spec["wrap"].boolean();
  const Integer before = get(spec, both ? "radius" : "before"), after = get(spec, both ? "radius" : "after");
  const Integer dilation = ring ? 1 : get_positive(spec, "dilation");
  const std::vector<Vertex> globals = ring ? std::vector<Vertex>() : to_set(spec["global"], static_cast<std::uint64_t>(n - 1));
  return [=, columns = compress(globals)](Vertex i, Row& out) {
    if (std::binary_search(globals.begin(), globals.end(), i)) return add_run(0, n - 1, 1, n, out);
    Row window;
    add_window(i, before, after, dilation, wrap, n, window);
    out = columns;
    unite(out, window);
  };
}

PatternSource::Rule make_strided(const Json& spec, Integer n) {
  const Integer stride = get_positive(spec, "stride"), local = stride - (spec["variant"].is("code") ? 1 : 0);
  const bool has_local = !spec["part"].is("summary"), has_summary = !spec["part"].is("local");
  return [=](Vertex i, Row& out) {
    if (has_local) add_run(std::max<Integer>(0, i - local), i + local, 1, n, out);
    Row summary;
    if (has_summary) add_run(i % stride, n - 1, stride, n, summary);
    unite(out, summary);
  };
}

PatternSource::Rule make_fixed(const Json& spec, Integer n) {
  const Integer stride = get_positive(spec, "stride"), columns = spec["part"].is("local") ? 0 : get_positive(spec, "summary");
  if (columns > stride) throw Malformed("summary: expected at most the stride");
  const bool alone = spec["part"].is("summary");
  Row summary;
  if (columns <= n / stride)
    for (Integer j = stride - columns; j < stride; ++j) add_run(j, n - 1, stride, n, summary);
  else
    for (Integer j = stride - columns; j < n; j += stride) add_run(j, j + columns - 1, 1, n, summary);
  return [=](Vertex i, Row& out) {
    out = summary;
    const Integer begin = i / stride * stride, own = stride - columns;
    if (!alone)
      add_run(begin, begin + own - 1, 1, n, out);
    else if (i % stride < own) add_run(i, i, 1, n, out);
  };
}

/// Rows of a few members each, compared one by one: the same ones with the same colours, none twice. False may mean: too many.
bool are_few_and_same(const Row& a, const Row& b) {
  constexpr Threshold<std::size_t> few{8, 1, "few members"};
  std::array<std::pair<Vertex, std::int64_t>, few.usual()> left, right;
  const auto list = [&](const Row& row, auto& out) {
    std::size_t count = 0;
    for (const Run& run : row) {
      if (run.size() > few - count) return few + 1;
      for (std::uint64_t j = run.first; j <= run.last; j += run.step) out[count++] = {static_cast<Vertex>(j), run.colour};
    }
    std::sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  };
  const std::size_t count = list(a, left);
  if (count > few || list(b, right) != count) return false;
  for (std::size_t k = 0; k < count; ++k) {
    if (left[k] != right[k] || (k > 0 && right[k].first == right[k - 1].first)) return false;
  }
  return true;
}

}  // namespace

PatternSource::PatternSource(Vertex tokens, Vertex registers, const Json& patterns, std::vector<std::string>& trusted)
    : tokens_(tokens), vertices_(std::int64_t{tokens} + registers), patterns_(&patterns), trusted_(&trusted) {}

void PatternSource::finish() const {
  if (next_ != patterns_->size()) throw Rejected("patterns", "the architecture has " + std::to_string(next_) + " of them");
}

std::shared_ptr<const Pattern> PatternSource::take(const std::string& key) {
  if (next_ == patterns_->size()) throw Rejected("patterns", "the architecture has more of them");
  return known_[key] = std::make_shared<const Pattern>(read_pattern((*patterns_)[next_++], static_cast<Vertex>(vertices_)));
}

std::shared_ptr<const Pattern> PatternSource::held_to(const std::string& key, const std::string& kind, const std::function<Rule()>& rule) {
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const Rule make_row = rule();  // takes the leaves it needs first
  const auto pattern = take(key);
  Row expected, moved;
  pattern->visit_stretches([&](Vertex begin, Vertex end, const Row& found, bool moves) {
    for (Vertex i = begin, next = begin; i < end; i = next) {
      expected.clear();
      make_row(i, expected);
      poll();
      // Rows that move along on both sides are the same as long as both do, when the first ones are.
      next = moves ? std::min(end, make_row.moves_until(i)) : i + 1;
      if (moves) moved = found;
      for (Run& run : moved) run.first += i - begin, run.last += i - begin;
      const Row& here = moves ? moved : found;
      if (expected == here || are_few_and_same(expected, here)) continue;
      if (!is_disjoint(here, work_) || !same_row(expected, here, work_))
        throw Rejected("patterns", "pattern " + std::to_string(next_ - 1) + " (" + kind + "): reader " + std::to_string(i) + " reads something else");
    }
    return true;
  });
  return pattern;
}

std::shared_ptr<const Pattern> PatternSource::leaf(const Json& spec, std::uint64_t head, std::uint64_t heads) {
  Json::Object plain;  // `causal` comes later
  std::string key = "leaf " + std::to_string(head) + " " + std::to_string(heads);
  for (const auto& [name, value] : spec.object())
    if (name != "causal") key += " " + name + print(value);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const auto pattern = take(key);
  const std::string& kind = spec["kind"].string();
  const Json* degree = kind == "random" ? spec.find("degree") : nullptr;
  Row row;
  for (Vertex i = 0, end = 0; i < pattern->vertices; i = end) {
    end = kind == "bigbird" && i < tokens_ ? std::min(pattern->same_row_until(i), static_cast<Vertex>(tokens_)) : i + 1;
    pattern->row(i, row);
    bool good = is_disjoint(row, work_);
    std::uint64_t size = 0;
    for (const Run& run : row) {
      size += run.size();
      if (kind == "file") continue;
      good = good && i < tokens_ && run.last < tokens_ && (kind == "bigbird" || run.colour == 1);
      if (kind == "random") good = good && !meet(run, {i, i, 1, 1, 0});
    }
    if (degree != nullptr && i < tokens_) good = good && size == degree->natural(largest);
    if (!good) throw Rejected("patterns", "pattern " + std::to_string(next_ - 1) + " (" + kind + "): reader " + std::to_string(i) + " cannot read this");
  }
  trusted_->push_back("which arcs a pattern of kind \"" + kind + "\" has: its rows are taken from the certificate" +
                      (kind == "file" ? ", as read from " + print(spec["path"]) : ""));
  return pattern;
}

std::uint64_t PatternSource::count_heads(const Json& spec, std::uint64_t heads) const {
  const Json& kind = spec["kind"];
  if (kind.is("per_head")) return spec["heads"].size();
  if (kind.is("bigbird") && !spec["variant"].is("paper")) {
    const Integer block = std::min(get_positive(spec, "block"), tokens_), blocks = 5 + 2 * get(spec, "random");
    return spec["variant"].is("huggingface") && (spec["mode"].is("eval") || tokens_ <= blocks * block) ? 1 : heads;
  }
  std::uint64_t most = 1;
  if (const Json* parts = spec.find("of"))
    for (const Json& part : parts->array()) most = std::max(most, count_heads(part, heads));
  return most;
}

std::vector<std::shared_ptr<const Pattern>> PatternSource::heads(const Json& spec, std::uint64_t heads) {
  std::vector<std::shared_ptr<const Pattern>> out;
  for (std::uint64_t h = 0, count = count_heads(spec, heads); h < count; ++h) out.push_back(one(spec, h, heads));
  return out;
}

std::shared_ptr<const Pattern> PatternSource::one(const Json& spec, std::uint64_t head, std::uint64_t heads) {
  if (count_heads(spec, heads) == 1) head = 0, heads = 1;
  const bool causal = spec["causal"].boolean();
  if (is_trusted(spec) && !causal) return leaf(spec, head, heads);
  if (spec["kind"].is("per_head") && !causal) return one(spec["heads"][head], head, spec["heads"].size());
  const std::string key = std::to_string(head) + " " + std::to_string(heads) + " " + print(spec);
  return held_to(key, spec["kind"].string(), [&] { return make_rule(spec, head, heads); });
}

PatternSource::Rule PatternSource::make_rule(const Json& spec, std::uint64_t head, std::uint64_t heads) {
  if (count_heads(spec, heads) == 1) head = 0, heads = 1;
  Rule rule = make_kind(spec, head, heads);
  if (!spec["causal"].boolean()) return rule;
  return [rule, n = static_cast<Vertex>(tokens_)](Vertex i, Row& out) {
    if (i >= n) return rule(i, out);
    Row all;
    rule(i, all);
    for (const Run& run : all) {
      if (run.first <= i) {
        const Vertex last = run.last <= i ? run.last : run.first + (i - run.first) / run.step * run.step;
        out.push_back({run.first, last, run.first == last ? 1 : run.step, run.colour, 0});
      }
      if (run.last >= n) {
        if (const std::optional<Run> part = meet(run, Run{n, run.last, 1, 1, 0})) out.push_back(*part);
      }
    }
  };
}

PatternSource::Rule PatternSource::make_kind(const Json& spec, std::uint64_t head, std::uint64_t heads) {
  const std::string& kind = spec["kind"].string();
  const Integer n = tokens_, vertices = vertices_;
  const auto tokens_only = [n](Rule rule) -> Rule {
    Rule only([row = std::move(rule.row), n](Vertex i, Row& out) {
      if (i < n) row(i, out);
    });
    only.moves_until = [moves_until = std::move(rule.moves_until), n](Vertex i) { return i < n ? std::min(moves_until(i), static_cast<Vertex>(n)) : i + 1; };
    return only;
  };
  if (is_trusted(spec)) return [pattern = leaf(spec, head, heads)](Vertex i, Row& out) { pattern->row(i, out); };
  if (kind == "full") return [=](Vertex, Row& out) { add_run(0, vertices - 1, 1, vertices, out); };
  if (kind == "self") return tokens_only([=](Vertex i, Row& out) { add_run(i, i, 1, n, out); });
  if (kind == "window" || kind == "ring") return tokens_only(make_window(spec, n));
  if (kind == "blocks" || kind == "shifted_blocks") {
    const bool shifted = kind == "shifted_blocks", wrap = shifted && spec["wrap"].boolean();
    const Integer size = get_positive(spec, "size"), shift = shifted ? get(spec, "shift") : 0;
    return tokens_only([=](Vertex i, Row& out) { add_block(i, size, shift, wrap, n, out); });
  }
  if (kind == "strided") return tokens_only(make_strided(spec, n));
  if (kind == "fixed") return tokens_only(make_fixed(spec, n));
  if (kind == "grid") return tokens_only(make_grid(spec, n));
  if (kind == "star") {
    if (vertices != n + 1) throw Malformed("a star has exactly one register");
    return [=](Vertex i, Row& out) {
      if (i == n) return add_run(0, n, 1, vertices, out);
      add_window(i, 1, 1, 1, true, n, out);
      add_run(n, n, 1, vertices, out);
    };
  }
  if (kind == "butterfly") {
    const Integer distance = get_positive(spec, "distance");
    if ((n & (n - 1)) != 0 || (distance & (distance - 1)) != 0 || distance >= n) throw Malformed("a butterfly has powers of two");
    const auto d = static_cast<Vertex>(distance);
    Rule rule([d](Vertex i, Row& out) {
      const Vertex low = i & ~d, high = i | d;
      out.assign(1, {low, d == 1 ? high : low, 1, 1, 0});
      if (d != 1) out.push_back({high, high, 1, 1, 0});
    });
    rule.moves_until = [d](Vertex i) { return (i | (d - 1)) + 1; };  // i and i + d, or i - d and i, up to the next multiple of d
    return tokens_only(std::move(rule));
  }
  if (kind == "circulant") {
    std::set<Vertex> offsets;
    for (const Json& offset : spec["offsets"].array()) offsets.insert(static_cast<Vertex>(positive_rest(offset.integer(), n)));
    return tokens_only([n, runs = compress({offsets.begin(), offsets.end()})](Vertex i, Row& out) {
      for (const Run& run : runs)
        for (const Integer lap : {-n, Integer{0}}) add_run(i + run.first + lap, i + run.last + lap, run.step, n, out);
    });
  }
  if (kind == "graph") {
    std::vector<std::set<Vertex>> rows(static_cast<std::size_t>(n));
    const bool directed = spec["directed"].boolean(), loops = spec["loops"].boolean();
    for (const Json& edge : spec["edges"].array()) {
      if (edge.size() != 2) throw Malformed("an edge is a pair of tokens");
      const auto u = edge[0].natural(static_cast<std::uint64_t>(n - 1)), v = edge[1].natural(static_cast<std::uint64_t>(n - 1));
      rows[u].insert(static_cast<Vertex>(v));
      if (!directed) rows[v].insert(static_cast<Vertex>(u));
    }
    return tokens_only([rows = std::move(rows), loops](Vertex i, Row& out) {
      std::set<Vertex> row = rows[i];
      if (loops) row.insert(i);
      out = compress({row.begin(), row.end()});
    });
  }
  if (kind == "rows" || kind == "matrix") {
    const Json::Array& lines = spec[kind].array();
    if (static_cast<Integer>(lines.size()) != vertices) throw Malformed(kind + ": expected a row for every token and register");
    const bool listed = kind == "rows";
    return [&lines, listed, vertices](Vertex i, Row& out) {
      if (listed) {
        out = compress(to_set(lines[i], static_cast<std::uint64_t>(vertices - 1)));
        return;
      }
      std::vector<Vertex> members;
      std::vector<Integer> colours;
      if (static_cast<Integer>(lines[i].size()) != vertices) throw Malformed("matrix: expected as many entries as rows");
      for (Vertex j = 0; j < vertices; ++j)
        if (const auto colour = lines[i][j].natural(largest); colour != 0) {
          members.push_back(j);
          colours.push_back(static_cast<Integer>(colour));
        }
      out = compress(members, colours);
    };
  }
  if (kind == "per_head") return make_rule(spec["heads"][head], head, spec["heads"].size());
  std::vector<Rule> parts;
  for (const Json& part : spec["of"].array()) parts.push_back(make_rule(part, head, heads));
  if (parts.empty()) throw Malformed("of: expected at least one pattern");
  return [kind, parts](Vertex i, Row& out) {
    parts[0](i, out);
    for (std::size_t k = 1; k < parts.size(); ++k) {
      Row row;
      parts[k](i, row);
      if (kind == "union")
        unite(out, row);
      else if (kind == "minus")
        out = subtract(out, row);
      else
        out = intersect(out, row);
    }
  };
}

}  // namespace checker
