#include "sightline/sight/reach_memory.hpp"

#include <algorithm>

namespace sightline::sight {

namespace {

thread_local ReachMemory* innermost_memory = nullptr;

constexpr Vertex fewest_vertices = 1024;
constexpr std::uint64_t most_pattern_bytes = 32 << 20;
constexpr std::size_t most_layouts = 8;

bool is_written_alike(const layout::Pattern& a, const layout::Pattern& b) {
  return a.vertex_count() == b.vertex_count() && a.segments() == b.segments() && a.lists() == b.lists() && a.affine_runs() == b.affine_runs() && a.written_vertices() == b.written_vertices();
}

bool read_alike(const Layout& a, const Layout& b) {
  return a.tokens == b.tokens && a.registers == b.registers && a.order == b.order && a.layers == b.layers && a.relations.size() == b.relations.size() &&
         std::equal(a.relations.begin(), a.relations.end(), b.relations.begin(),
                    [](const layout::Relation& x, const layout::Relation& y) { return is_written_alike(x.pattern(), y.pattern()); });
}

}  // namespace

ReachMemory::ReachMemory() : outer_(innermost_memory) { innermost_memory = this; }
ReachMemory::~ReachMemory() { innermost_memory = outer_; }

ReachMemory::Entry* ReachMemory::find(const Layout& layout) {
  if (innermost_memory == nullptr || layout.vertices() < fewest_vertices) return nullptr;
  std::list<Entry>& entries = innermost_memory->entries_;
  const auto known = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return read_alike(entry.layout, layout); });
  if (known != entries.end()) return &*known;
  std::uint64_t bytes = 0;
  for (const layout::Relation& relation : layout.relations) bytes += relation.pattern().memory_bytes();
  if (bytes > most_pattern_bytes) return nullptr;
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
          entry.period == 0 ? 0 : question.skip % entry.period, question.count_unseen ? question.depth : std::nullopt,
          question.count_unseen, question.find_layers, way};
}

}  // namespace sightline::sight
