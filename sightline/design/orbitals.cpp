#include "sightline/design/orbitals.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "sightline/base/error.hpp"
#include "sightline/group/chain.hpp"
#include "sightline/group/congruence.hpp"

namespace sightline::design {

namespace {

constexpr Point most_nodes_in_table = 5000;
constexpr std::uint64_t most_transversal = 25'000'000;
constexpr std::uint64_t most_schreier_steps = 20'000'000'000;

std::vector<Point> to_least(const group::UnionFind& classes, Point size) {
  std::vector<Point> least(size);
  for (Point x = 0; x < size; ++x)
    least[x] = classes.find(x);
  return least;
}

} // namespace

void Orbitals::make_nodes(const group::Group& group, const Budget& budget) {
  node_of_.assign(degree_, degree_);
  std::vector<std::uint32_t> class_of(degree_, ~0u);
  for (std::uint32_t k = 0; k < group.symmetric_classes.size(); ++k) {
    for (const Point x : group.symmetric_classes[k])
      class_of[x] = k;
  }
  for (Point x = 0; x < degree_; ++x) {
    if (node_of_[x] != degree_)
      continue;
    const auto node = static_cast<Node>(members_.size());
    members_.push_back(class_of[x] == ~0u ? std::vector<Point>{x} : group.symmetric_classes[class_of[x]]);
    for (const Point y : members_.back())
      node_of_[y] = node;
  }
  if (static_cast<std::uint64_t>(members_.size()) * group.generators.size() > 400'000'000) {
    throw OutOfReach("orbitals are computed for groups whose generators together have at most 4*10^8 images");
  }
  budget.ask(2 * members_.size() * group.generators.size() * sizeof(Node));
  for (const group::Permutation& g : group.generators) {
    std::vector<Node> images(members_.size());
    for (Node k = 0; k < images.size(); ++k)
      images[k] = node_of_[g(members_[k].front())];
    for (const Point x : g.moved()) {
      // The symmetric groups of the classes need not be normal: then the classes are no blocks, and the points stay
      // apart.
      if (node_of_[g(x)] != images[node_of_[x]]) {
        group::Group plain = group;
        plain.generators = group::list_generators(group, ~std::size_t{0});
        plain.symmetric_classes.clear();
        members_.clear();
        generators_.clear();
        make_nodes(plain, budget);
        return;
      }
    }
    if (!group::is_identity(images))
      generators_.push_back(std::move(images));
  }
  std::sort(generators_.begin(), generators_.end());
  generators_.erase(std::unique(generators_.begin(), generators_.end()), generators_.end());
}

Orbitals::Node Orbitals::carry_back(Node node, Node start) const {
  for (; parent_[node] != node; node = parent_[node])
    start = inverses_[step_[node]][start];
  return start;
}

std::uint32_t Orbitals::number(Point i, Point j) const {
  const Node a = node_of_[i], b = node_of_[j];
  if (a == b)
    return i == j ? root_index_[a] : inside_[root_index_[a]];
  if (!table_.empty())
    return table_[static_cast<std::size_t>(a) * members_.size() + b];
  if (is_two_transitive())
    return 1;
  return at_root_[root_index_[a]][carry_back(a, b)];
}

void Orbitals::read_row(std::uint32_t orbital, Point i, std::vector<Point>& out) const {
  out.clear();
  Node node = node_of_[i];
  const std::uint32_t root = root_index_[node];
  if (root_index_[node_of_[list_[orbital].from]] != root)
    return;
  if (orbital == root) {
    out.push_back(i);
  } else if (orbital == inside_[root]) {
    std::copy_if(members_[node].begin(), members_[node].end(), std::back_inserter(out),
                 [i](Point x) { return x != i; });
  } else if (!table_.empty()) {
    const std::uint32_t* row = table_.data() + static_cast<std::size_t>(node) * members_.size();
    for (Node b = 0; b < members_.size(); ++b) {
      if (row[b] == orbital && b != node)
        out.insert(out.end(), members_[b].begin(), members_[b].end());
    }
  } else {
    // The word from the root to the node is read off from the node upwards, and applied from the root downwards.
    std::vector<std::uint32_t> word;
    for (; parent_[node] != node; node = parent_[node])
      word.push_back(step_[node]);
    const std::vector<std::uint32_t>& numbers = at_root_[root];
    for (Node b = 0; b < members_.size(); ++b) {
      if (numbers[b] != orbital)
        continue;
      Node image = b;
      for (std::size_t k = word.size(); k-- > 0;)
        image = generators_[word[k]][image];
      out.insert(out.end(), members_[image].begin(), members_[image].end());
    }
  }
  std::sort(out.begin(), out.end());
}

void Orbitals::grow_trees(const Budget& budget) {
  const auto nodes = static_cast<Node>(members_.size());
  for (const std::vector<Node>& g : generators_)
    inverses_.push_back(group::invert(g));
  parent_.assign(nodes, nodes);
  step_.assign(nodes, 0);
  root_index_.assign(nodes, 0);
  for (Node root = 0; root < nodes; ++root) {
    if (parent_[root] != nodes)
      continue;
    const auto index = static_cast<std::uint32_t>(roots_.size());
    roots_.push_back(root);
    parent_[root] = root;
    std::size_t next = breadth_first_.size();
    breadth_first_.push_back(root);
    for (; next < breadth_first_.size(); ++next) {
      budget.poll();
      const Node x = breadth_first_[next];
      root_index_[x] = index;
      for (std::uint32_t g = 0; g < generators_.size(); ++g) {
        const Node y = generators_[g][x];
        if (parent_[y] != nodes)
          continue;
        parent_[y] = x;
        step_[y] = g;
        breadth_first_.push_back(y);
      }
    }
  }
}

std::vector<Orbitals::Node> Orbitals::compute_by_schreier(const std::vector<Node>& orbit, const Budget& budget) const {
  const Node root = orbit.front();
  const std::size_t nodes = members_.size();
  std::vector<std::uint32_t> place(nodes, 0);
  budget.ask(orbit.size() * nodes * sizeof(Node));
  // Rows are filled when they are needed: where the stabiliser has few orbits, a few Schreier generators merge them
  // all.
  const auto transversal = std::make_unique_for_overwrite<Node[]>(orbit.size() * nodes);
  std::vector<bool> filled(orbit.size(), false);
  for (std::size_t k = 0; k < orbit.size(); ++k)
    place[orbit[k]] = static_cast<std::uint32_t>(k);
  std::iota(transversal.get(), transversal.get() + nodes, 0u);
  filled[0] = true;
  std::vector<std::uint32_t> way;
  const auto get_row = [&](std::uint32_t k) {
    for (way.clear(); !filled[k]; k = place[parent_[orbit[k]]])
      way.push_back(k);
    for (; !way.empty(); way.pop_back()) {
      const std::vector<Node>& g = generators_[step_[orbit[way.back()]]];
      const Node* before = transversal.get() + k * nodes;
      k = way.back();
      Node* images = transversal.get() + k * nodes;
      for (std::size_t j = 0; j < nodes; ++j)
        images[j] = g[before[j]];
      filled[k] = true;
    }
    return transversal.get() + k * nodes;
  };
  group::UnionFind classes(static_cast<Node>(nodes));
  // The stabiliser's orbits lie inside those of G, and the root is alone: at that point nothing more can merge.
  std::size_t mergers_left = nodes - roots_.size() - 1;
  std::vector<Node> position(nodes);
  for (std::uint32_t k = 0; k < orbit.size() && mergers_left > 0; ++k) {
    const Node* images = get_row(k);
    for (std::uint32_t g = 0; g < generators_.size() && mergers_left > 0; ++g) {
      budget.poll();
      const Node y = generators_[g][orbit[k]];
      if (parent_[y] == orbit[k] && step_[y] == g && y != root)
        continue; // the identity
      const Node* target = get_row(place[y]);
      for (Node j = 0; j < nodes; ++j)
        position[target[j]] = j;
      for (Node j = 0; j < nodes; ++j) {
        if (classes.unite(j, position[generators_[g][images[j]]]))
          --mergers_left;
      }
    }
  }
  budget.give_back(orbit.size() * nodes * sizeof(Node));
  return to_least(classes, static_cast<Node>(nodes));
}

std::vector<Orbitals::Node> Orbitals::compute_by_order(const group::Group& group, Node root, std::size_t orbit_size,
                                                       const Budget& budget) const {
  const auto nodes = static_cast<Node>(members_.size());
  group::Order inside; // of the symmetric groups of the classes, which act trivially on the nodes
  for (const std::vector<Point>& members : members_)
    inside.multiply_factorial(static_cast<std::uint32_t>(members.size()));
  group::RandomElements random(nodes, generators_);
  std::vector<group::Permutation> fixing;
  for (std::size_t wanted = 4; wanted <= 64; wanted *= 2) {
    while (fixing.size() < wanted) {
      budget.poll();
      const group::Images& h = random.next();
      group::Images back(nodes);
      for (Node j = 0; j < nodes; ++j)
        back[j] = carry_back(h[root], h[j]);
      fixing.push_back(group::Permutation::from_images(back));
    }
    const group::Group found = group::make_group(nodes, fixing, budget);
    group::Order product = found.order;
    product.multiply(mpz_class(static_cast<unsigned long>(orbit_size)));
    product.multiply(inside);
    if (product == group.order)
      return found.orbit;
  }
  throw OutOfReach("the stabiliser of a point was not generated by 64 random elements");
}

std::vector<Orbitals::Node> Orbitals::compute_stabiliser_orbits(const group::Group& group, Node root,
                                                                const Budget& budget) const {
  std::vector<Node> orbit;
  for (const Node x : breadth_first_) {
    if (roots_[root_index_[x]] == root)
      orbit.push_back(x);
  }
  const std::uint64_t nodes = members_.size();
  if (orbit.size() == 1) {
    std::vector<Node> least(nodes);
    for (Node x = 0; x < nodes; ++x)
      least[x] = roots_[root_index_[x]];
    return least;
  }
  if (orbit.size() * nodes <= most_transversal && orbit.size() * nodes * generators_.size() <= most_schreier_steps)
    return compute_by_schreier(orbit, budget);
  return compute_by_order(group, root, orbit.size(), budget);
}

void Orbitals::number_orbitals(const group::Group& group, const Budget& budget) {
  const auto nodes = static_cast<Node>(members_.size());
  std::vector<std::uint64_t> readers(roots_.size(), 0);
  for (Node x = 0; x < nodes; ++x)
    readers[root_index_[x]] += members_[x].size();
  for (std::uint32_t k = 0; k < roots_.size(); ++k) {
    const Point from = members_[roots_[k]].front();
    list_.push_back({from, from, 1, readers[k], k});
    inside_.push_back(~0u);
  }
  for (std::uint32_t k = 0; k < roots_.size(); ++k) {
    const Node root = roots_[k];
    budget.poll();
    const std::vector<Node> least = compute_stabiliser_orbits(group, root, budget);
    std::size_t fresh = 1;
    for (Node j = 0; j < nodes; ++j)
      fresh += least[j] == j ? 1 : 0;
    budget.ask(fresh * sizeof(Orbital) + nodes * sizeof(std::uint32_t));
    std::vector<std::uint32_t> numbers(nodes, k);
    // In the order of the points read: two points of the root's own class come where its second point stands.
    bool inside_open = members_[root].size() > 1;
    const auto add_inside = [&] {
      inside_[k] = static_cast<std::uint32_t>(list_.size());
      const auto others = static_cast<Point>(members_[root].size() - 1);
      list_.push_back({members_[root][0], members_[root][1], others, others * readers[k], 0});
      inside_open = false;
    };
    for (Node j = 0; j < nodes; ++j) {
      if (j == root)
        continue;
      if (inside_open && members_[j].front() > members_[root][1])
        add_inside();
      if (least[j] == j) {
        numbers[j] = static_cast<std::uint32_t>(list_.size());
        list_.push_back({members_[root].front(), members_[j].front(), 0, 0, 0});
      } else {
        numbers[j] = numbers[least[j]];
      }
      Orbital& orbital = list_[numbers[j]];
      orbital.subdegree += static_cast<Point>(members_[j].size());
      orbital.size += readers[k] * members_[j].size();
    }
    if (inside_open)
      add_inside();
    at_root_.push_back(std::move(numbers));
  }
}

void Orbitals::fill_table(const Budget& budget) {
  const std::size_t nodes = members_.size();
  budget.ask(nodes * nodes * sizeof(std::uint32_t));
  table_.resize(nodes * nodes);
  for (const Node i : breadth_first_) {
    budget.poll();
    std::uint32_t* row = table_.data() + i * nodes;
    if (parent_[i] == i) {
      std::copy(at_root_[root_index_[i]].begin(), at_root_[root_index_[i]].end(), row);
      continue;
    }
    const std::vector<Node>& g = generators_[step_[i]];
    const std::uint32_t* before = table_.data() + parent_[i] * nodes;
    for (std::size_t j = 0; j < nodes; ++j)
      row[g[j]] = before[j];
  }
}

Orbitals compute_orbitals(Point degree, const std::vector<group::Permutation>& generators, const Budget& budget) {
  const std::uint64_t table = std::uint64_t{degree} * degree;
  if (table > most_transversal || table * generators.size() > most_schreier_steps)
    return compute_orbitals(group::make_group(degree, generators, budget), budget);
  group::Group group; // its order is not looked at on this way
  group.degree = degree;
  // Transpositions generate the symmetric groups of their components, which cost nothing.
  group::UnionFind swapped(degree);
  std::vector<std::vector<Point>> members(degree);
  for (const group::Permutation& g : generators) {
    if (g.moved().size() == 2)
      (void)swapped.unite(g.moved()[0], g.moved()[1]);
    else if (!g.is_identity())
      group.generators.push_back(g);
  }
  for (Point x = 0; x < degree; ++x)
    members[swapped.find(x)].push_back(x);
  for (std::vector<Point>& part : members) {
    if (part.size() > 1)
      group.symmetric_classes.push_back(std::move(part));
  }
  return compute_orbitals(group, budget);
}

Orbitals compute_orbitals(const group::Group& group, const Budget& budget) {
  Orbitals result;
  result.degree_ = group.degree;
  result.make_nodes(group, budget);
  result.grow_trees(budget);
  if (static_cast<std::uint64_t>(result.roots_.size()) * result.members_.size() > 50'000'000) {
    throw OutOfReach("orbitals are computed when the number of orbits times the number of points is at most 5*10^7");
  }
  result.number_orbitals(group, budget);
  if (result.members_.size() <= most_nodes_in_table && !result.is_two_transitive())
    result.fill_table(budget);
  for (Orbital& orbital : result.list_) {
    budget.poll();
    orbital.paired = result.number(orbital.to, orbital.from);
  }
  return result;
}

} // namespace sightline::design
