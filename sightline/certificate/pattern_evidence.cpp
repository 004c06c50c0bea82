#include "sightline/certificate/pattern_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sightline/architecture/json_text.hpp"
#include "sightline/architecture/to_tree.hpp"
#include "sightline/layout/pattern_spec.hpp"

namespace sightline::certificate {
namespace {

using layout::AffineRun;
using layout::Pattern;
using layout::PatternKind;
using layout::PatternSpec;
using layout::Vertex;

/// lo, hi, step, colour, lo_slope, hi_slope for the k-th reader of a segment.
using WrittenRun = std::array<std::int64_t, 6>;
using WrittenList = std::vector<WrittenRun>;

constexpr std::int64_t never = std::int64_t{1} << 40;

/// The run for readers from i on, and the first reader for which it has to be written anew.
struct Stretch {
  WrittenRun run{};
  std::int64_t end = never;

  void end_at(std::int64_t reader, std::int64_t i) {
    if (reader > i) end = std::min(end, reader);
  }
};

Stretch write_run(const AffineRun& run, std::int64_t i) {
  Stretch out;
  const std::int64_t step = run.step, lo = run.lo_base + (run.lo_moves ? i : 0);
  const std::int64_t own_floor = run.floor_base + (run.floor_moves ? i : 0), floor = std::max<std::int64_t>(0, own_floor);
  const bool floor_moves = run.floor_moves && own_floor >= 0;
  if (run.floor_moves) out.end_at(-run.floor_base, i);
  std::int64_t first = lo, lo_slope = run.lo_moves ? 1 : 0;
  if (lo >= floor) {
    if (floor_moves && !run.lo_moves) out.end_at(i + lo - floor + 1, i);
  } else {
    // Cut off below the floor in whole steps.
    const std::int64_t rest = ((lo - floor) % step + step) % step;
    first = floor + rest;
    if (run.lo_moves && !floor_moves) {
      out.end_at(i + (floor - lo), i);
      if (step == 1)
        lo_slope = 0;
      else
        out.end_at(i + step - rest, i);
    } else if (!run.lo_moves && floor_moves) {
      out.end_at(i + rest + 1, i);
    }
  }
  const std::int64_t hi = run.hi_base + (run.hi_moves ? i : 0), most = run.limit - 1;
  const bool hi_moves = run.hi_moves && hi < most;
  if (hi_moves) out.end_at(i + (most - hi), i);
  if (hi_moves && hi < 0) out.end_at(i - hi, i);
  out.run = {first, std::min(hi, most), step, run.colour, lo_slope, hi_moves ? 1 : 0};
  return out;
}

class Writer {
public:
  explicit Writer(const Pattern& pattern) : pattern_(pattern) {}

  /// Canonical text.
  void write(std::string& out) {
    out_ = &out;
    out += "{\"lists\":[";
    const auto& segments = pattern_.segments();
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const std::int64_t end = s + 1 < segments.size() ? segments[s + 1].begin : pattern_.vertex_count();
      for (std::int64_t i = segments[s].begin; i < end;) i = write_piece(pattern_.lists()[segments[s].list], i, end);
    }
    out += "],\"segments\":[";
    append_joined(segments_, out);
    fmt::format_to(std::back_inserter(out), "],\"vertices\":{}}}", pattern_.vertex_count());
  }

private:
  /// Writes the readers from i on for which all runs keep their form; returns the first one after them.
  std::int64_t write_piece(const Pattern::RunList& list, std::int64_t i, std::int64_t end) {
    const auto read = [&](std::span<const AffineRun> runs, std::vector<Stretch>& out) {
      out.clear();
      for (const AffineRun& run : runs) {
        out.push_back(write_run(run, i));
        end = std::min(end, out.back().end);
      }
    };
    read(pattern_.own_runs(list, room_), own_);
    read(std::span(pattern_.affine_runs()).subspan(list.shared_begin, list.shared_count), tail_);
    const std::int64_t last = end - 1 - i;
    bool constant = true;
    const auto keep = [&](const std::vector<Stretch>& from, WrittenList& to) {
      to.clear();
      for (const Stretch& stretch : from) {
        WrittenRun run = stretch.run;
        const bool empty = run[0] > run[1] && run[0] + run[4] * last > run[1] + run[5] * last;  // and so in between
        if (empty) continue;
        if (last == 0) run[4] = run[5] = 0;
        run[2] = std::min<std::int64_t>(run[2], pattern_.vertex_count());  // one member either way
        constant = constant && run[4] == 0 && run[5] == 0;
        to.push_back(run);
      }
      if (to.size() > 1) std::sort(to.begin(), to.end());
    };
    keep(own_, runs_);
    const std::int64_t number = find_list(runs_);
    keep(tail_, runs_);
    const std::int64_t tail_number = runs_.empty() ? -1 : find_list(runs_);
    if (!segments_.empty() && constant && segments_.back()[2] == number && segments_.back()[3] == tail_number && last_constant_)
      segments_.back()[1] += last + 1;
    else
      segments_.push_back({i, last + 1, number, tail_number});
    last_constant_ = constant;
    return end;
  }

  /// Its number. New ones are written; short ones are kept beside, long ones read again in the text. All are found by their hashes in a table with gaps.
  std::int64_t find_list(const WrittenList& list) {
    if (2 * lists_.size() >= slots_.size()) grow();
    const std::uint64_t hash = make_hash(list);
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at] != no_list; at = (at + 1) & (slots_.size() - 1)) {
      if (lists_[slots_[at]].hash == hash && is_list(lists_[slots_[at]], list)) return slots_[at];
    }
    slots_[at] = static_cast<std::uint32_t>(lists_.size());
    *out_ += lists_.empty() ? "[" : ",[";
    const bool is_short = list.size() <= most_kept;
    lists_.push_back({hash, is_short ? pool_.size() : out_->size(), static_cast<std::uint32_t>(list.size())});
    if (is_short) pool_.insert(pool_.end(), list.begin(), list.end());
    append_joined(list, *out_);
    *out_ += ']';
    return slots_[at];
  }

  struct List {
    std::uint64_t hash;
    std::size_t begin;  ///< in pool_, or in the text
    std::uint32_t runs;
  };
  static constexpr std::size_t most_kept = 16;

  [[nodiscard]] bool is_list(const List& known, const WrittenList& list) {
    if (known.runs != list.size()) return false;
    if (list.size() <= most_kept) return std::ranges::equal(std::span(pool_).subspan(known.begin, known.runs), list);
    text_.clear();
    append_joined(list, text_);
    text_ += ']';
    return out_->compare(known.begin, text_.size(), text_) == 0;
  }

  void grow() {
    slots_.assign(std::max<std::size_t>(64, 4 * lists_.size()), no_list);
    slots_.resize(std::bit_ceil(slots_.size()), no_list);
    for (std::uint32_t number = 0; number < lists_.size(); ++number) {
      std::size_t at = lists_[number].hash & (slots_.size() - 1);
      while (slots_[at] != no_list) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = number;
    }
  }

  static std::uint64_t make_hash(const WrittenList& list) {
    std::uint64_t hash = list.size();
    for (const WrittenRun& run : list) {
      for (const std::int64_t number : run) hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9e3779b97f4a7c15u + (hash >> 29);
    }
    return hash ^ (hash >> 32);
  }

  static void append_joined(const auto& members, std::string& out) {
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (k > 0) out += ',';
      append(members[k], out);
    }
  }
  template <std::size_t size>
  static void append(const std::array<std::int64_t, size>& numbers, std::string& out) {
    char buffer[24 * size + 2];
    char* end = buffer;
    char before = '[';
    for (const std::int64_t number : numbers) {
      *end++ = std::exchange(before, ',');
      end = std::to_chars(end, end + 20, number).ptr;
    }
    *end++ = ']';
    out.append(buffer, end);
  }
  const Pattern& pattern_;
  std::string* out_ = nullptr;
  std::string text_;  ///< of a list at hand
  std::vector<AffineRun> room_;
  std::vector<Stretch> own_, tail_;  ///< of the piece at hand
  WrittenList runs_;
  static constexpr std::uint32_t no_list = ~std::uint32_t{0};
  std::vector<WrittenRun> pool_;
  std::vector<List> lists_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::array<std::int64_t, 4>> segments_;
  bool last_constant_ = false;
};

bool is_trusted(PatternKind kind) { return kind == PatternKind::bigbird || kind == PatternKind::random || kind == PatternKind::file; }

/// Walks an architecture as the checker does. What counts as the same pattern is decided by its text, not by its rows.
class Walk {
public:
  Walk(const architecture::Architecture& architecture, const Budget& budget)
      : tokens_(static_cast<Vertex>(architecture.tokens)), registers_(static_cast<Vertex>(architecture.input.registers.size())),
        folder_(std::filesystem::path(architecture.file).parent_path().string()), budget_(budget) {}

  void add_mixer(const architecture::Mixer& mixer) {
    using architecture::MixerKind;
    switch (mixer.kind) {
      case MixerKind::tokenwise: return;
      case MixerKind::convolution:
        for (const std::int64_t tap : mixer.taps) {
          PatternSpec spec;
          spec.kind = PatternKind::circulant;
          spec.offsets = {((tap % tokens_) + tokens_) % tokens_};
          add_heads(spec, 1);
        }
        return;
      case MixerKind::linformer:
        if (mixer.projections == architecture::ProjectionKind::blocks)
          add_pooling(mixer.projection_blocks);
        else
          add_heads(PatternSpec{}, 1);
        return;
      default: add_heads(mixer.pattern, static_cast<Vertex>(mixer.heads));
    }
  }

  std::string finish() { return std::move(out_) + "]"; }

private:
  std::vector<Pattern> make(const PatternSpec& spec, Vertex heads) const { return layout::make_patterns(spec, {tokens_, registers_, heads}, budget_); }
  std::string text_of(const PatternSpec& spec) const {
    return architecture::print_json(architecture::to_tree(spec, architecture::Detail::full, folder_));
  }
  void write(const Pattern& pattern) {
    if (out_.size() > 1) out_ += ',';
    Writer(pattern).write(out_);
  }
  bool is_new(const std::string& key) { return known_.insert(key).second; }

  /// Number of patterns that make_patterns gives. Only bigbird's shipped variants have to be drawn to know.
  std::size_t count_heads(const PatternSpec& spec, Vertex heads) {
    if (spec.kind == PatternKind::per_head) return spec.of.size();
    if (spec.kind == PatternKind::bigbird) {
      if (spec.variant.empty() || spec.variant == "paper") return 1;
      const auto [found, unknown] = counts_.try_emplace(fmt::format("{} {}", heads, text_of(spec)));
      if (unknown) found->second = make(spec, heads).size();
      return found->second;
    }
    std::size_t most = 1;
    for (const PatternSpec& part : spec.of) most = std::max(most, count_heads(part, heads));
    return most;
  }

  void add_heads(const PatternSpec& spec, Vertex heads) {
    std::vector<Pattern> made;
    for (std::size_t h = 0, count = count_heads(spec, heads); h < count; ++h) add(spec, h, heads, made);
  }

  /// `made`: all heads of `spec`, filled when first needed.
  void add(const PatternSpec& spec, std::size_t head, Vertex heads, std::vector<Pattern>& made) {
    if (count_heads(spec, heads) == 1) {
      head = 0;
      heads = 1;
    }
    if (is_trusted(spec.kind) && !spec.causal) return add_leaf(spec, head, heads);
    if (spec.kind == PatternKind::per_head && !spec.causal) {
      std::vector<Pattern> part;
      return add(spec.of.at(head), head, static_cast<Vertex>(spec.of.size()), part);
    }
    if (!is_new(fmt::format("{} {} {}", head, heads, text_of(spec)))) return;
    add_leaves(spec, head, heads);
    if (made.empty()) made = make(spec, heads);
    write(made.at(head));
  }

  void add_leaves(const PatternSpec& spec, std::size_t head, Vertex heads) {
    if (count_heads(spec, heads) == 1) {
      head = 0;
      heads = 1;
    }
    if (is_trusted(spec.kind)) return add_leaf(spec, head, heads);
    if (spec.kind == PatternKind::per_head) return add_leaves(spec.of.at(head), head, static_cast<Vertex>(spec.of.size()));
    for (const PatternSpec& part : spec.of) add_leaves(part, head, heads);
  }

  void add_leaf(PatternSpec spec, std::size_t head, Vertex heads) {
    spec.causal = false;
    const std::string key = fmt::format("{} {}", heads, text_of(spec));
    if (!is_new(fmt::format("leaf {} {}", head, key))) return;
    // The heads of one table come one after another: they are drawn once.
    if (drawn_key_ != key) {
      drawn_ = make(spec, heads);
      drawn_key_ = key;
    }
    write(drawn_.at(head));
  }

  void add_pooling(const std::vector<std::vector<std::int64_t>>& blocks) {
    std::vector<Vertex> read;
    std::vector<std::vector<Vertex>> same_block(tokens_ + registers_), all_read(tokens_ + registers_);
    std::string key;
    for (const auto& block : blocks) {
      std::vector<Vertex> members(block.begin(), block.end());
      key += "/";
      for (const Vertex member : members) key += fmt::format(" {}", member);
      std::sort(members.begin(), members.end());
      read.insert(read.end(), members.begin(), members.end());
      for (const Vertex i : members) same_block[i] = members;
    }
    if (!is_new("pooling " + key)) return;
    std::sort(read.begin(), read.end());
    for (Vertex i = 0; i < tokens_; ++i) all_read[i] = read;
    write(layout::make_pattern_from_rows(tokens_ + registers_, all_read));
    write(layout::make_pattern_from_rows(tokens_ + registers_, same_block));
  }

  Vertex tokens_, registers_;
  std::string folder_;
  const Budget& budget_;
  std::set<std::string> known_;
  std::map<std::string, std::size_t> counts_;
  std::string drawn_key_;
  std::vector<Pattern> drawn_;
  std::string out_ = "[";
};

}  // namespace

nlohmann::json to_evidence(const Pattern& pattern) {
  std::string text;
  Writer(pattern).write(text);
  return nlohmann::json::parse(text);
}

std::string write_pattern_evidence(const architecture::Architecture& given, const Budget& budget) {
  const architecture::Architecture architecture = architecture::to_normal_form(given);
  Walk walk(architecture, budget);
  for (const architecture::LayerSpec& layer : architecture.layers) walk.add_mixer(layer.mixer);
  return walk.finish();
}

nlohmann::json make_pattern_evidence(const architecture::Architecture& given, const Budget& budget) { return nlohmann::json::parse(write_pattern_evidence(given, budget)); }

}  // namespace sightline::certificate
