#include "id_enumeration.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace property {

IdEnumeration::IdEnumeration(const SmallModel& model) : model_(model) {
  const auto n = static_cast<std::size_t>(model.tokens);
  Images ids(n, 0);
  const std::function<void(std::size_t)> write = [&](std::size_t token) {
    if (token == n) {
      inputs_.push_back(ids);
      return;
    }
    const bool special = token == 0 && model.bos;
    for (int id = special ? model.vocabulary : 0; id < (special ? model.vocabulary + 1 : model.vocabulary); ++id) {
      ids[token] = id;
      write(token + 1);
    }
  };
  write(0);

  // A target of the class has one value on (X,a) and (Y,a) when they agree on what a may depend on, and one on (X,a) and
  // (gX, g(a)) for g in G that keeps the BOS in its place.
  targets_.resize(inputs_.size() * n);
  std::iota(targets_.begin(), targets_.end(), std::size_t{0});
  const std::function<std::size_t(std::size_t)> root = [&](std::size_t x) {
    while (targets_[x] != x) x = targets_[x] = targets_[targets_[x]];
    return x;
  };
  const auto base = enumerate_base(model, model.target_class, enumerate_views(model));
  const auto layout_group = model.layout_symmetry ? enumerate_layout_group(model) : std::set<Images>{};
  std::map<Images, std::size_t> index;
  for (std::size_t x = 0; x < inputs_.size(); ++x) index[inputs_[x]] = x;
  for (std::size_t a = 0; a < n; ++a) {
    std::map<Images, std::size_t> first;
    for (std::size_t x = 0; x < inputs_.size(); ++x) {
      Images content;
      for (std::size_t j = 0; j < n; ++j) content.push_back(base[a][j] ? inputs_[x][j] : -1);
      targets_[root(x * n + a)] = root(first.try_emplace(content, x * n + a).first->second);
    }
  }
  // Class causal with the layout's own symmetry means all causal functions on ids (docs/theory.md 16.7).
  const bool all_causal = model.layout_symmetry && model.target_class == sightline::architecture::TargetClass::causal;
  for (const Images& g : enumerate_target_group(model, layout_group)) {
    if ((model.bos && g[0] != 0) || (all_causal && !std::is_sorted(g.begin(), g.end()))) continue;
    for (std::size_t x = 0; x < inputs_.size(); ++x) {
      Images moved(n);
      for (std::size_t j = 0; j < n; ++j) moved[static_cast<std::size_t>(g[j])] = inputs_[x][j];
      const std::size_t y = index.at(moved);
      for (std::size_t a = 0; a < n; ++a) targets_[root(x * n + a)] = root(y * n + static_cast<std::size_t>(g[a]));
    }
  }
  for (std::size_t k = 0; k < targets_.size(); ++k) targets_[k] = root(k);

  const LabelRule rule(model);
  labels_.emplace_back();
  for (const Images& x : inputs_) {
    labels_.back().emplace_back();
    for (int v = 0; v < model.vertices(); ++v) labels_.back().back().push_back(rule.start(v, v < model.tokens ? x[static_cast<std::size_t>(v)] : 0));
  }
  for (std::size_t unchanged = 0, classes = 0;;) {
    std::set<Mark> distinct;
    for (const auto& of : labels_.back()) distinct.insert(of.begin(), of.end());
    unchanged = distinct.size() == classes ? unchanged + 1 : 0;
    classes = distinct.size();
    if (unchanged >= rule.period()) break;
    auto next = labels_.back();
    for (auto& of : next) of = rule.advance(of, labels_.size());
    labels_.push_back(std::move(next));
  }
}

bool IdEnumeration::suffices(std::size_t m) const {
  const auto n = static_cast<std::size_t>(model_.tokens);
  std::map<Mark, std::size_t> target;
  for (std::size_t x = 0; x < inputs_.size(); ++x) {
    for (std::size_t a = 0; a < n; ++a) {
      const std::size_t own = targets_[x * n + a];
      if (target.try_emplace(labels(m)[x][a], own).first->second != own) return false;
    }
  }
  return true;
}

std::optional<std::size_t> IdEnumeration::needed() const {
  for (std::size_t m = 0; m < labels_.size(); ++m) {
    if (suffices(m)) return m;
  }
  return std::nullopt;
}

std::optional<std::size_t> IdEnumeration::find(const std::vector<std::uint32_t>& ids) const {
  const auto at = std::find_if(inputs_.begin(), inputs_.end(), [&](const Images& x) { return std::equal(x.begin(), x.end(), ids.begin(), ids.end(), [](int a, std::uint32_t b) { return a == static_cast<int>(b); }); });
  if (at == inputs_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - inputs_.begin());
}

}  // namespace property
