#include "sightline/sight/isomorphisms.hpp"
#include "sightline/verdict/floors.hpp"

namespace sightline::verdict {

// theory.md 3.2, 16.12. Networks of the depth are the functions with F_b(tau X) = F_root(X) for all tau in Iso(root, b). On tokens that are
// independent with mean 0 the monomials X[0][u] (and X[0][u] X[1][v]) are orthogonal, so the nearest such function to the target
// has the coefficients averaged over all (b, tau), and the squared error is what the averaging loses.
void add_distance(const Context& context, const sight::ViewQuestion& question, std::uint64_t depth, Floor& floor) {
  if (floor.orbit.empty() || question.target_class != sight::ClassKind::all) return;
  const auto classes = sight::list_isomorphisms(question, depth, 10'000, context.budget);
  if (!classes) return;
  const std::uint64_t n = context.tokens();
  const bool linear = floor.orbit.size() == 2;
  const std::vector<std::uint32_t> label = label_tuples(context.target, linear ? 2 : 3, context.budget);
  const std::uint64_t places = linear ? n : n * n;
  const auto index = [&](std::uint64_t i, std::uint64_t place) { return i + n * place; };
  const std::uint32_t orbit = label[index(floor.orbit[0], floor.orbit[1] + (linear ? 0 : n * floor.orbit[2]))];
  Distance distance;
  mpq_class lost = 0;
  std::uint64_t monomials = 0;
  std::vector<std::uint64_t> hits(places);
  for (const sight::RootClass& one : *classes) {
    std::fill(hits.begin(), hits.end(), 0);
    std::uint64_t maps = 0, own = 0;
    for (const auto& [b, list] : one.to) {
      for (std::uint64_t place = 0; place < places; ++place) own += label[index(b, place)] == orbit;
      for (const std::vector<layout::Vertex>& tau : list) {
        context.budget.poll();
        ++maps;
        for (std::uint64_t place = 0; place < places; ++place) {
          const std::uint64_t image = linear ? tau[place] : tau[place % n] + n * tau[place / n];
          hits[place] += label[index(b, image)] == orbit;
        }
      }
    }
    mpz_class squares = 0;
    for (const std::uint64_t h : hits) squares += mpz_class(static_cast<unsigned long>(h)) * static_cast<unsigned long>(h);
    const mpz_class all(static_cast<unsigned long>(maps));
    mpq_class kept(squares * static_cast<unsigned long>(one.to.size()), all * all);
    kept.canonicalize();
    lost += static_cast<unsigned long>(own) - kept;
    monomials += own;
    distance.isomorphisms += maps;
  }
  const long scale = linear ? 12 : 144;
  distance.squared_error = lost / scale;
  distance.norm = mpq_class(static_cast<unsigned long>(monomials)) / scale;
  floor.distance = std::move(distance);
}

}  // namespace sightline::verdict
