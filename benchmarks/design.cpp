// `./do bench design`: 2-closures and orbits on pairs beside GAP (Debian's package `gap`), from the same generators.
// GAP reads its own clock around the one call, so that neither its start nor its reading of the group is counted. Both sides begin with the generators' images.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>

#include "child.hpp"
#include "sightline/design/orbitals.hpp"
#include "sightline/design/two_closure.hpp"
#include "sightline/group/chain.hpp"
#include "sightline/group/expression.hpp"
#include "table.hpp"

using namespace bench;
using sightline::Budget;
using sightline::group::Images;
using sightline::group::Point;

namespace {

constexpr double peer_limit = 60, gap_start = 5;

struct Case {
  std::string name;
  Point degree = 0;
  std::vector<Images> generators;
};

Case by_expression(const std::string& text) {
  const sightline::group::Group group = sightline::group::parse_group(text, std::nullopt, {}, Budget());
  Case result{text, group.degree, {}};
  for (const auto& g : sightline::group::list_generators(group, 1000)) result.generators.push_back(g.images(group.degree));
  return result;
}

Case by_images(std::string name, Point degree, const std::vector<std::function<Point(Point)>>& maps) {
  Case result{std::move(name), degree, {}};
  for (const auto& map : maps) {
    Images images(degree);
    for (Point x = 0; x < degree; ++x) images[x] = map(x);
    result.generators.push_back(std::move(images));
  }
  return result;
}

std::uint64_t power(std::uint64_t base, std::uint64_t exponent, std::uint64_t p) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent /= 2, base = base * base % p) {
    if (exponent % 2 == 1) result = result * base % p;
  }
  return result;
}

std::uint64_t find_primitive_root(std::uint64_t p) {
  for (std::uint64_t g = 2;; ++g) {
    std::uint64_t x = g, length = 1;
    for (; x != 1; x = x * g % p) ++length;
    if (length == p - 1) return g;
  }
}

/// x -> a x + b over Z_p, a in the subgroup of index `index`.
Case affine(Point p, Point index) {
  const std::uint64_t a = power(find_primitive_root(p), index, p);
  return by_images(fmt::format("x -> ax + b mod {}, index {}", p, index), p, {[p](Point x) { return (x + 1) % p; }, [p, a](Point x) { return static_cast<Point>(a * x % p); }});
}

/// PSL(2,p) on the line with its point at infinity, number p.
Case projective(Point p) {
  const std::uint64_t a = power(find_primitive_root(p), 2, p);
  return by_images(fmt::format("PSL(2,{})", p), p + 1,
                   {[p](Point x) { return x == p ? p : (x + 1) % p; }, [p, a](Point x) { return x == p ? p : static_cast<Point>(a * x % p); },
                    [p](Point x) { return x == p ? 0 : x == 0 ? p : static_cast<Point>((p - power(x, p - 2, p)) % p); }});
}

/// S_k on the pairs of its points.
Case on_pairs(Point k) {
  std::vector<std::pair<Point, Point>> pairs;
  std::vector<std::vector<Point>> number(k, std::vector<Point>(k));
  for (Point i = 0; i < k; ++i) {
    for (Point j = i + 1; j < k; ++j) {
      number[i][j] = number[j][i] = static_cast<Point>(pairs.size());
      pairs.emplace_back(i, j);
    }
  }
  const auto act = [&](const std::function<Point(Point)>& g) { return [&, g](Point x) { return number[g(pairs[x].first)][g(pairs[x].second)]; }; };
  return by_images(fmt::format("S_{} on pairs", k), static_cast<Point>(pairs.size()),
                   {act([k](Point i) { return (i + 1) % k; }), act([](Point i) { return i < 2 ? 1 - i : i; })});
}

double measure(const std::function<void()>& work) {
  double best = 1e9;
  for (int k = 0; k < 3; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

std::vector<sightline::group::Permutation> make(const Case& one) {
  std::vector<sightline::group::Permutation> generators;
  for (const Images& g : one.generators) generators.push_back(sightline::group::Permutation::from_images(g));
  return generators;
}

class Bench {
public:
  Bench() : table_("build/bench/design.json") {
    std::ofstream("build/bench/case.g", std::ios::trunc) << "Print(6*7, \"\\n\");\nQUIT;\n";
    has_gap_ = run_command(peer_limit, {"/usr/bin/env", "gap", "-q", "-A", "build/bench/case.g"}).text.find("42") != std::string::npos;
    if (!has_gap_) fmt::print("GAP is not installed (apt-get install gap): its side is left out\n");
  }

  void closure(const Case& one) {
    mpz_class order;
    const double own = measure([&] {
      const std::vector<sightline::group::Permutation> generators = make(one);
      const auto orbitals = sightline::design::compute_orbitals(one.degree, generators, Budget());
      order = *sightline::design::compute_two_closure(generators, orbitals, Budget()).order.value();
    });
    compare_with_gap(fmt::format("2-closure: {}, n = {}", one.name, one.degree), one, own, order.get_str(), "r := Size(TwoClosure(G));");
  }

  void orbits(const Case& one) {
    std::size_t count = 0;
    const double own = measure([&] { count = sightline::design::compute_orbitals(one.degree, make(one), Budget()).list().size(); });
    compare_with_gap(fmt::format("orbits on pairs: {}, n = {}", one.name, one.degree), one, own, std::to_string(count),
                     fmt::format("r := Length(Orbits(G, Tuples([1..{}], 2), OnPairs));", one.degree));
  }

  int finish() {
    table_.print_summary();
    return table_.all_correct() ? 0 : 1;
  }

private:
  void compare_with_gap(const std::string& name, const Case& one, double own, const std::string& answer, const std::string& call) {
    std::optional<double> peer;
    std::string remark = "GAP is not installed";
    if (has_gap_) {
      const std::string file = "build/bench/case.g";
      {
        std::ofstream out(file, std::ios::trunc);
        // The reading of the line is not counted: the clock starts after it.
        out << "SizeScreen([4096, 24]);; SetInfoLevel(InfoWarning, 0);; SetInfoLevel(InfoPerformance, 0);;\ngens := [\n";
        for (const Images& g : one.generators) {
          out << "PermList([";
          for (std::size_t x = 0; x < g.size(); ++x) out << (x == 0 ? "" : ",") << g[x] + 1;
          out << "]),\n";
        }
        // The best of three on both sides, while that takes no longer than a few seconds; every time with a new group, which remembers nothing.
        out << "];;\nbest := -1;; begin := NanosecondsSinceEpoch();;\n"
               "for k in [1..3] do if k = 1 or NanosecondsSinceEpoch() - begin < 3 * 10^9 then\n"
               "t := NanosecondsSinceEpoch();; G := Group(gens, ());; "
            << call << " t := NanosecondsSinceEpoch() - t;; if best < 0 or t < best then best := t;; fi; fi; od;\nPrint(best, \" \", r, \"\\n\");\nQUIT;\n";
      }
      const Outcome outcome = run_command(peer_limit + gap_start, {"/usr/bin/env", "gap", "-q", "-A", file});
      remark = outcome.end == Outcome::End::over_limit ? "GAP: over 60 s" : "GAP gave no answer";
      if (outcome.end == Outcome::End::finished) {
        std::string text = outcome.text;
        std::erase_if(text, [](char c) { return c == '\\' || c == '\n'; });
        const std::size_t space = text.find(' ');
        if (space != std::string::npos && space < 20 && text.find_first_not_of("0123456789") == space) {
          peer = std::stod(text.substr(0, space)) * 1e-9;
          remark = answer.size() < 20 ? answer : "";
          if (text.substr(space + 1) != answer) {
            remark = fmt::format("WRONG: ours {}, GAP {}", answer, text.substr(space + 1));
            table_.mark_wrong();
          }
        }
      } else if (outcome.end == Outcome::End::over_limit) {
        peer = peer_limit;
      }
    }
    const bool long_one = one.degree >= 190;
    Row row = compare(name, own, peer, long_one ? 0.01 : 1);
    row.remark = remark;
    table_.add(row);
  }

  Table table_;
  bool has_gap_ = false;
};

}  // namespace

int main(int count, char** words) {
  const bool quick = count == 2 && std::string(words[1]) == "--quick";
  if (count > 1 && !quick) {
    fmt::print(stderr, "bench design: expected --quick or nothing, found {}\n", words[1]);
    return 2;
  }
  std::filesystem::create_directories("build/bench");
  Bench bench;
  std::vector<Case> transitive = {by_expression("C_20"), by_expression("D_20"), by_expression("S_4 wr S_5"), on_pairs(7), projective(23), affine(23, 2),
                                  by_expression("regular(A_5)"), by_expression("hypercube(6)"), by_expression("torus(8,9)"), by_expression("C_8*C_9"), on_pairs(12)};
  if (!quick) {
    for (const char* text : {"D_100", "S_10 wr S_10", "C_10 wr C_10", "regular(S_5)", "hypercube(7)", "C_200", "D_200", "torus(10,20)", "C_10*C_20", "S_10 wr S_20", "C_2 wr C_100", "D_10 wr D_20", "A_200"}) {
      transitive.push_back(by_expression(text));
    }
    for (Case& one : std::vector<Case>{projective(97), affine(97, 4), projective(199), affine(199, 2), affine(199, 11), on_pairs(20)}) transitive.push_back(one);
  }
  for (const Case& one : transitive) bench.closure(one);
  std::vector<Case> pairs = {by_expression("C_50"), by_expression("S_5 x S_5 x C_20"), affine(101, 5)};
  if (!quick) {
    for (const char* text : {"D_200", "trivial(200)", "S_10 wr S_20", "C_100 x C_100", "C_500", "D_500", "S_20 wr S_25", "S_250 x S_250", "C_20*C_25"}) pairs.push_back(by_expression(text));
    for (Case& one : std::vector<Case>{affine(199, 2), projective(199), affine(499, 6), on_pairs(32)}) pairs.push_back(one);
  }
  for (const Case& one : pairs) bench.orbits(one);
  return bench.finish();
}
