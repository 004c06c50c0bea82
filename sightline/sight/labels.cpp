#include "sightline/sight/labels.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "sightline/base/error.hpp"
#include "sightline/sight/labels_inputs.hpp"
#include "sightline/sight/labels_intern.hpp"
#include "sightline/sight/labels_rows.hpp"
#include "sightline/sight/labels_witness.hpp"

namespace sightline::sight {

namespace {

constexpr std::uint32_t id_start = 0, register_start = 1;

class Enumeration {
public:
  Enumeration(const IdQuestion& question, const Budget& budget)
      : question_(question), layout_(*question.layout), budget_(budget), inputs_(question), targets_(question, inputs_, budget) {
    // Twice the labels (old and new), once the table that finds collisions.
    booked_bytes_ = 3 * inputs_.count * inputs_.vertices * sizeof(std::uint32_t);
    budget.ask(booked_bytes_);
    for (std::size_t r = 0; r < layout_.relations.size(); ++r) labellers_.emplace_back(layout_.relations[r], question.rules[r]);
    start();
  }
  ~Enumeration() { budget_.give_back(booked_bytes_); }
  Enumeration(const Enumeration&) = delete;
  Enumeration& operator=(const Enumeration&) = delete;

  IdAnswer decide(std::optional<std::uint64_t> depth) {
    IdAnswer answer;
    answer.distinct_targets = targets_.distinct();
    std::vector<bool> idle(layout_.layers.size(), true);  // layers that leave the present partition as it is
    for (const std::uint32_t used : layout_.order) idle[used] = false;
    const std::vector<bool> none_idle = idle;
    std::vector<std::uint32_t> below;  // labels one layer earlier
    bool collides = has_collision(inputs_, targets_, state_, distinct_);
    for (std::uint64_t m = 0;;) {
      if (!collides && !answer.needed) {
        answer.needed = m;
        if (m > 0) answer.below_needed = find_least_collision(inputs_, targets_, below, budget_);
      }
      if (collides && depth == m) answer.at_given = find_least_collision(inputs_, targets_, state_, budget_);
      if (distinct_ == state_.size() || std::all_of(idle.begin(), idle.end(), [](bool b) { return b; })) break;
      const std::uint32_t layer = layout_.order[m % layout_.order.size()];
      ++m;
      if (apply(layer, below)) {
        answer.stable_at = m;
        idle = none_idle;
        if (collides) collides = has_collision(inputs_, targets_, state_, distinct_);
      } else {
        idle[layer] = true;
      }
    }
    if (collides) {
      answer.below_needed = find_least_collision(inputs_, targets_, state_, budget_);
      if (!depth || *depth >= answer.stable_at) answer.at_given = answer.below_needed;
    }
    return answer;
  }

private:
  void start() {
    SequenceNumbers numbers(budget_);
    state_.resize(inputs_.count * inputs_.vertices);
    std::vector<std::uint32_t> words;
    const auto append = [&](std::uint64_t colour) {
      words.push_back(static_cast<std::uint32_t>(colour));
      words.push_back(static_cast<std::uint32_t>(colour >> 32));
    };
    for (std::uint64_t k = 0; k < inputs_.count; ++k) {
      if ((k & 0xfff) == 0) budget_.poll();
      for (Vertex v = 0; v < inputs_.vertices; ++v) {
        words.clear();
        if (v < inputs_.tokens) {
          words.assign({id_start, inputs_.id(k, v)});
          if (!question_.position_colours.empty()) append(question_.position_colours[v]);
          else if (question_.absolute_positions) append(v);
        } else {
          words.assign({register_start});
          append(layout_.vertex_colour[v]);
        }
        state_[k * inputs_.vertices + v] = numbers.number(words);
      }
    }
    distinct_ = numbers.count();
  }

  // One layer; `before` takes the labels of the layer below. True when labels got finer.
  bool apply(std::uint32_t layer, std::vector<std::uint32_t>& before) {
    const std::vector<std::uint32_t>& relations = layout_.layers[layer].relations;
    before.swap(state_);
    state_.resize(before.size());
    SequenceNumbers numbers(budget_);
    std::deque<SequenceNumbers> heads;  // one head's words go straight into the label, several are numbered first
    if (relations.size() > 1) {
      for (std::size_t h = 0; h < relations.size(); ++h) heads.emplace_back(budget_);
    }
    std::vector<std::uint32_t> words, head_words;
    for (std::uint64_t k = 0; k < inputs_.count; ++k) {
      if ((k & 0xff) == 0) budget_.poll();
      const std::uint32_t* old = before.data() + k * inputs_.vertices;
      for (Vertex v = 0; v < inputs_.vertices; ++v) {
        words.assign({old[v]});
        if (heads.empty()) {
          for (const std::uint32_t r : relations) labellers_[r].append(v, old, words);
        }
        for (std::size_t h = 0; h < heads.size(); ++h) {
          head_words.clear();
          labellers_[relations[h]].append(v, old, head_words);
          words.push_back(heads[h].number(head_words));
        }
        state_[k * inputs_.vertices + v] = numbers.number(words);
      }
    }
    const bool finer = numbers.count() != distinct_;
    distinct_ = numbers.count();
    return finer;
  }

  const IdQuestion& question_;
  const layout::Layout& layout_;
  const Budget& budget_;
  Inputs inputs_;
  Targets targets_;
  std::vector<RowLabeller> labellers_;
  std::uint64_t booked_bytes_ = 0;
  std::vector<std::uint32_t> state_;  // label of vertex v of sequence k at k * vertices + v
  std::uint64_t distinct_ = 0;
};

void check(const IdQuestion& question) {
  if (question.layout == nullptr || question.layout->tokens == 0) throw ArgumentError("labels need a layout with tokens");
  const layout::Layout& layout = *question.layout;
  if (layout.order.empty()) throw ArgumentError("labels need at least one layer");
  if (question.rules.size() != layout.relations.size()) throw ArgumentError("labels need one row rule per relation");
  if (question.vocabulary < 2) throw ArgumentError("labels need at least two ids");
  if (layout.registers > 0 && layout.vertex_colour.size() != layout.vertices()) throw ArgumentError("registers need their colours");
  if (!question.position_colours.empty() && question.position_colours.size() != layout.tokens) {
    throw ArgumentError("position colours are one per token");
  }
  if (question.target != nullptr && question.target->degree != layout.tokens) throw ArgumentError("the target group acts on the tokens");
}

}  // namespace

double count_labelled_inputs(const IdQuestion& question) {
  const double ordinary = static_cast<double>(question.layout->tokens) - (question.bos ? 1 : 0);
  return question.layout->tokens * std::pow(static_cast<double>(question.vocabulary), ordinary);
}

std::uint32_t reduced_vocabulary(std::uint32_t tokens, std::optional<std::int64_t> vocabulary, bool bos) {
  const std::int64_t ordinary = std::int64_t{tokens} - (bos ? 1 : 0);
  return static_cast<std::uint32_t>(std::max<std::int64_t>(2, std::min(vocabulary.value_or(ordinary), ordinary)));
}

IdAnswer compute_id_labels(const IdQuestion& question, std::optional<std::uint64_t> depth, const Budget& budget) {
  check(question);
  return Enumeration(question, budget).decide(depth);
}

}  // namespace sightline::sight
