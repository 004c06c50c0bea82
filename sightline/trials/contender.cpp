#include "sightline/trials/contender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "sightline/base/error.hpp"
#include "sightline/target/sampler.hpp"

namespace sightline::trials {
namespace {

constexpr std::int64_t most_monomials = 40;

double number(std::int64_t value) { return static_cast<double>(value); }

double count_monomials(std::int64_t dim, std::int64_t degree) {
  double product = 1;
  for (std::int64_t k = 1; k <= dim; ++k)
    product *= number(degree + k) / number(k);
  return std::round(product) - 1;
}

bool is_sumformer(Kind kind) { return kind == Kind::mlp_sumformer || kind == Kind::polynomial_sumformer; }

/// One layer of perceptron on one token, with its gelu.
double map(double in, double out) { return 2 * in * out + out; }

double count_sumformer(const Task& task, const Contender& c) {
  const double n = number(task.tokens), d = number(task.dim), k = number(task.outputs), latent = number(c.latent),
               w = number(c.width), h = number(c.hidden);
  double phi = latent, first = w, second = h; // polynomial: a multiplication per monomial; psi has widths w, h
  if (c.kind == Kind::mlp_sumformer) {
    phi = map(d, w) + map(w, w) + 2 * w * latent;
    first = second = h;
  }
  const double psi = map(d, first) + first + map(first, second) + 2 * second * k;
  return n * (phi + latent + psi) + 2 * latent * first;
}

double count_attention(const Task& task, const Contender& c) {
  const double n = number(task.tokens), d = number(task.dim), k = number(task.outputs), w = number(c.width),
               h = number(c.hidden), layers = number(task.layers);
  const double vertices = n + (c.kind == Kind::reg ? 1 : 0);
  const double per_pair = 4 * w + 3;
  double mixing = 0;
  switch (c.kind) {
  case Kind::window:
    mixing = n * number(std::min(2 * c.radius + 1, task.tokens)) * per_pair;
    break;
  case Kind::linformer:
    mixing = 4 * n * number(c.rank) * w + n * number(c.rank) * per_pair;
    break;
  case Kind::performer: {
    const double m = number(c.features);
    mixing = n * (2 * (2 * m * w + 2 * w + m) + 4 * m * w + 3 * m);
    break;
  }
  case Kind::reg:
    mixing = 2 * n * per_pair;
    break;
  default:
    mixing = n * n * per_pair;
  }
  const double layer = mixing + vertices * (8 * w * w + w + 4 * w * h + h + w);
  const double positions = task.positions ? n * w : 0;
  return n * (map(d, 4 * w) + 8 * w * w) + positions + layers * layer + n * 2 * w * k;
}

/// How far a / b is from `wanted`, as a logarithm.
double misproportion(double a, double b, double wanted) { return std::fabs(std::log(a / b / wanted)); }

/// Sizes that the task leaves to the kind.
Contender make_contender(const Task& task, Kind kind, std::int64_t width) {
  Contender c;
  c.kind = kind;
  c.width = width;
  const std::int64_t n = task.tokens;
  // Round a ring, `layers` layers of radius r reach layers * r to either side: all tokens from n / 2 on.
  c.radius = task.radius > 0 ? task.radius : std::max<std::int64_t>(1, (n / 2 + task.layers - 1) / task.layers);
  c.rank = task.rank > 0 ? task.rank : std::max<std::int64_t>(1, n / 4);
  c.features = task.features > 0 ? task.features : std::min<std::int64_t>(width, 32);
  if (kind == Kind::mlp_sumformer)
    c.latent = std::max<std::int64_t>(2, width / 2);
  if (kind == Kind::polynomial_sumformer) {
    for (c.degree = 1; c.degree < n && count_monomials(task.dim, c.degree + 1) <= number(most_monomials); ++c.degree)
      continue;
    c.latent = static_cast<std::int64_t>(count_monomials(task.dim, c.degree));
  }
  return c;
}

} // namespace

const std::vector<Kind>& list_kinds() {
  static const std::vector<Kind> kinds = {Kind::full, Kind::window,        Kind::linformer,           Kind::performer,
                                          Kind::reg,  Kind::mlp_sumformer, Kind::polynomial_sumformer};
  return kinds;
}

std::string_view name_of(Kind kind) {
  switch (kind) {
  case Kind::full:
    return "full";
  case Kind::window:
    return "window";
  case Kind::linformer:
    return "linformer";
  case Kind::performer:
    return "performer";
  case Kind::reg:
    return "register";
  case Kind::mlp_sumformer:
    return "mlp-sumformer";
  case Kind::polynomial_sumformer:
    return "polynomial";
  }
  return "";
}

Kind parse_kind(std::string_view word) {
  std::string all;
  for (const Kind kind : list_kinds()) {
    if (name_of(kind) == word)
      return kind;
    all += fmt::format("{}{}", all.empty() ? "" : ", ", name_of(kind));
  }
  throw InputError(fmt::format("--only: expected some of {}, found {}", all, word));
}

double count_operations(const Task& task, const Contender& contender) {
  return is_sumformer(contender.kind) ? count_sumformer(task, contender) : count_attention(task, contender);
}

Contender fit_to_budget(const Task& task, Kind kind, double budget, double tolerance) {
  const double wanted = is_sumformer(kind) ? 1 : 4; // hidden / width
  std::optional<Contender> best;
  double best_score = INFINITY, smallest = INFINITY, nearest = INFINITY;
  for (std::int64_t width = 2; width <= 4096; width += is_sumformer(kind) || width < 32 ? 1 : 2) {
    Contender c = make_contender(task, kind, width);
    c.hidden = 1;
    const double least = count_operations(task, c);
    smallest = std::min(smallest, least);
    if (least > budget * (1 + tolerance))
      break;
    // The count rises with `hidden`: the last one that is not above the budget, or the next.
    std::int64_t low = 1, high = 1 << 20;
    while (high - low > 1) {
      c.hidden = (low + high) / 2;
      (count_operations(task, c) <= budget ? low : high) = c.hidden;
    }
    for (const std::int64_t hidden : {low, low + 1}) {
      c.hidden = hidden;
      const double off = std::fabs(count_operations(task, c) / budget - 1);
      nearest = std::min(nearest, off);
      const double score = misproportion(number(hidden), number(width), wanted) + off;
      if (off <= tolerance && score < best_score) {
        best_score = score;
        best = c;
      }
    }
  }
  if (best)
    return *best;
  throw InputError(
      smallest > budget
          ? fmt::format("--budget {}: {} needs at least {} operations per sequence for {} tokens", budget,
                        name_of(kind), smallest, task.tokens)
          : fmt::format("--budget {}: no sizes of {} come within {:.0f} % of it (the nearest is off by {:.1f} %)",
                        budget, name_of(kind), 100 * tolerance, 100 * nearest));
}

std::string describe(const Contender& c) {
  switch (c.kind) {
  case Kind::mlp_sumformer:
    return fmt::format("latent {}, phi {}, psi {}", c.latent, c.width, c.hidden);
  case Kind::polynomial_sumformer:
    return fmt::format("latent {} (degree {}), psi {}, {}", c.latent, c.degree, c.width, c.hidden);
  case Kind::window:
    return fmt::format("width {}, feedforward {}, radius {}", c.width, c.hidden, c.radius);
  case Kind::linformer:
    return fmt::format("width {}, feedforward {}, rank {}", c.width, c.hidden, c.rank);
  case Kind::performer:
    return fmt::format("width {}, feedforward {}, {} features", c.width, c.hidden, c.features);
  default:
    return fmt::format("width {}, feedforward {}", c.width, c.hidden);
  }
}

std::string to_toml(const Task& task, const Contender& c, std::uint64_t seed) {
  const std::int64_t n = task.tokens, dim = is_sumformer(c.kind) ? task.dim + c.latent : c.width;
  std::string text = fmt::format("name = \"{}\"\ntokens = {}\ndim = {}\n[input]\nembedding = \"mlp\"\ndim = {}\n",
                                 name_of(c.kind), n, dim, task.dim);
  if (c.kind == Kind::reg)
    text += "registers = [\"sum\"]\n";
  if (task.positions && !is_sumformer(c.kind))
    text += "positions = \"learned\"\n";
  text += fmt::format("[output]\nhead = \"linear\"\ndim = {}\n[feedforward]\nactivation = \"gelu\"\n", task.outputs);
  if (!is_sumformer(c.kind))
    text += fmt::format("width = {}\n", c.hidden);
  const std::string layers = fmt::format("[[layer]]\nrepeat = {}\n", is_sumformer(c.kind) ? 1 : task.layers);
  switch (c.kind) {
  case Kind::window:
    return text +
           fmt::format("[mixer]\npattern = {{ kind = \"window\", radius = {}, wrap = true }}\n",
                       std::min(c.radius, n / 2)) +
           layers;
  case Kind::linformer:
    return text + fmt::format("[mixer]\nkind = \"linformer\"\nrank = {}\n", c.rank) + layers;
  case Kind::performer: {
    std::mt19937_64 random = target::make_random(seed, 301, 0);
    std::string features;
    for (std::int64_t f = 0; f < c.features; ++f) {
      features += f == 0 ? "[" : ", [";
      for (std::int64_t e = 0; e < dim; ++e) { // Box and Muller
        const double radius = std::sqrt(-2 * std::log1p(-target::draw_unit(random)));
        features += fmt::format("{}{:.6f}", e == 0 ? "" : ", ",
                                radius * std::cos(2 * std::numbers::pi * target::draw_unit(random)));
      }
      features += "]";
    }
    return text + fmt::format("[mixer]\nkernel = {{ name = \"performer\", features = [{}] }}\n", features) + layers;
  }
  case Kind::reg: {
    std::string rows, all;
    for (std::int64_t i = 0; i < n; ++i) {
      rows += fmt::format("[{}], ", n);
      all += fmt::format("{}{}", i == 0 ? "" : ", ", i);
    }
    return text + fmt::format("[mixer]\npattern = {{ kind = \"rows\", rows = [{}[{}]] }}\n", rows, all) + layers;
  }
  case Kind::mlp_sumformer:
  case Kind::polynomial_sumformer:
    return text + "[mixer]\nkind = \"mean\"\n" + layers;
  default:
    return text + layers;
  }
}

} // namespace sightline::trials
