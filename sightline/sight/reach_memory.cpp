#include "sightline/sight/reach_memory.hpp"

#include <algorithm>

#include "sightline/base/threshold.hpp"

namespace sightline::sight {

namespace {

thread_local ReachMemory* innermost_memory = nullptr;

constexpr Threshold<Vertex> fewest_vertices{1024, 1, "memory"};
constexpr std::size_t most_layouts = 8;

}  // namespace

bool read_alike(const Layout& a, const Layout& b) {
  return a.tokens == b.tokens && a.registers == b.registers && a.order == b.order && a.layers == b.layers && a.relations.size() == b.relations.size() &&
         std::equal(a.relations.begin(), a.relations.end(), b.relations.begin(),
                    [](const layout::Relation& x, const layout::Relation& y) { return x.pattern().is_written_as(y.pattern()); });
}

ReachMemory::ReachMemory() : outer_(innermost_memory) { innermost_memory = this; }
ReachMemory::~ReachMemory() { innermost_memory = outer_; }

ReachMemory::Entry* ReachMemory::find(const Layout& layout) {
  if (innermost_memory == nullptr || layout.vertices() < fewest_vertices) return nullptr;
  std::list<Entry>& entries = innermost_memory->entries_;
  const auto known = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return read_alike(entry.layout, layout); });
  if (known != entries.end()) return &*known;
  if (entries.size() == most_layouts) entries.pop_front();
  Entry& entry = entries.emplace_back();
  entry.layout.tokens = layout.tokens;
  entry.layout.registers = layout.registers;
  entry.layout.relations = layout.relations;
  entry.layout.layers = layout.layers;
  entry.layout.order = layout.order;
  for (const LayerRun& run : make_period(layout, 0)) entry.period += run.count;
  return &entry;
}

ReachMemory::Key ReachMemory::make_key(const Entry& entry, const ReachQuestion& question, Way way) {
  return {question.wanted.kind, question.wanted.ordinary_only, question.registers_too && entry.layout.registers > 0,
          entry.within_period(question.skip), question.count_unseen ? question.depth : std::nullopt,
          question.count_unseen, question.find_layers, way};
}

std::shared_ptr<const ReadLayer> find_read_layer(const Layout& layout, std::size_t l, const Budget& budget) {
  ReachMemory::Entry* const memory = ReachMemory::find(layout);
  if (memory == nullptr) return std::make_shared<const ReadLayer>(make_read_layer(layout, layout.layers[l], budget));
  memory->read_layers.resize(layout.layers.size());
  if (!memory->read_layers[l]) {
    auto made = std::make_shared<ReadLayer>(make_read_layer(layout, layout.layers[l], budget));
    made->booking.reset();  // it outlives the budget
    memory->read_layers[l] = std::move(made);
  }
  return memory->read_layers[l];
}

ReadLayers find_read_layers(const Layout& layout, const Budget& budget) {
  const std::vector<bool> used = layout.used_layers();
  ReadLayers layers;
  for (std::size_t l = 0; l < layout.layers.size(); ++l) layers.push_back(used[l] ? find_read_layer(layout, l, budget) : std::make_shared<const ReadLayer>());
  return layers;
}

}  // namespace sightline::sight
