#include <fmt/format.h>

#include <algorithm>

#include "sightline/architecture/number_text.hpp"
#include "sightline/architecture/readers.hpp"
#include "sightline/base/error.hpp"

namespace sightline::architecture {
namespace {

using attention_kernel::Activation;
using attention_kernel::Kernel;
using attention_kernel::Role;

std::vector<std::string_view> to_views(const std::vector<std::string>& words) { return {words.begin(), words.end()}; }

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Throws unless the text is an expression of this role; a misspelt name gets its suggestion.
void require_expression(const View& view, const std::string& text, Role role, std::int64_t dim, std::string_view expected,
                        const std::vector<std::string>& names) {
  try {
    (void)attention_kernel::parse_expression(text, role, static_cast<std::size_t>(dim));
  } catch (const InputError& error) {
    const bool like_a_name = text.find_first_of("()+*/^., []") == std::string::npos;
    if (like_a_name)
      fail_expected(view, std::string(expected), to_views(names));
    std::string why = error.what();
    std::replace(why.begin(), why.end(), '\n', ' ');
    fail(view, fmt::format("expected {}, found {}: {}", expected, quote_for_message(text), why));
  }
}

mpq_class read_rational(const View& table, std::string_view key, Sign sign) {
  double number = 1;
  read_number(table, key, number, sign);
  return to_rational(number);
}

std::vector<mpq_class> to_rationals(const View& view, std::int64_t count) {
  const std::vector<double> numbers = to_numbers(view);
  if (static_cast<std::int64_t>(numbers.size()) != count)
    fail(view, fmt::format("expected {} numbers (dim), found {}", count, numbers.size()));
  std::vector<mpq_class> out;
  for (const double number : numbers)
    out.push_back(to_rational(number));
  return out;
}

}  // namespace

Kernel read_kernel(const View& view, std::int64_t dim) {
  constexpr std::string_view expected = "a kernel name or an expression in x and y";
  const std::vector<std::string>& names = attention_kernel::kernel_names();
  Kernel kernel;
  if (const std::string* text = view.node().string()) {
    if (!contains(names, *text)) {
      require_expression(view, *text, Role::kernel, dim, expected, names);
      kernel.name.clear();
      kernel.text = *text;
      return kernel;
    }
    kernel.name = *text;
    if (kernel.name == "performer")
      fail(view, "expected { name = \"performer\", features = [[...], ...] }, found the name alone");
    if (kernel.name == "exponential-sum")
      fail(view, "expected { name = \"exponential-sum\", weight = [...] }, found the name alone");
    return kernel;
  }
  if (view.node().table() == nullptr)
    fail_expected(view, std::string(expected));
  const auto name = view.find("name");
  if (!name) {
    require_table(view, "a kernel", {"name", "gamma", "features", "weight", "temperature"});
    fail_missing(view, "name", "the name of the kernel");
  }
  if (name->node().string() == nullptr || !contains(names, *name->node().string()))
    fail_expected(*name, "a kernel name", to_views(names));
  kernel.name = *name->node().string();
  std::vector<std::string_view> keys{"name"};
  if (kernel.name == "gaussian" || kernel.name == "rbf")
    keys.emplace_back("gamma");
  if (kernel.name == "performer")
    keys.emplace_back("features");
  if (kernel.name == "exponential-sum")
    keys.emplace_back("weight");
  if (kernel.name == "cosine")
    keys.emplace_back("temperature");
  require_table(view, fmt::format("the kernel \"{}\"", kernel.name), keys);
  kernel.gamma = read_rational(view, "gamma", Sign::positive);
  kernel.temperature = read_rational(view, "temperature", Sign::positive);
  if (kernel.name == "performer") {
    const auto features = view.find("features");
    if (!features)
      fail_missing(view, "features", "a list of vectors of dim numbers");
    const List& list = to_list(*features, "a list of vectors of dim numbers");
    if (list.empty())
      fail_expected(*features, "at least one vector");
    for (std::size_t i = 0; i < list.size(); ++i)
      kernel.features.push_back(to_rationals(View(*features, i), dim));
  }
  if (kernel.name == "exponential-sum") {
    const auto weight = view.find("weight");
    if (!weight)
      fail_missing(view, "weight", "a list of dim numbers");
    kernel.weight = to_rationals(*weight, dim);
  }
  return kernel;
}

Activation read_activation(const View& view) {
  constexpr std::string_view expected = "an activation name or an expression in t";
  const std::string& text = to_string(view, expected);
  const std::vector<std::string>& names = attention_kernel::activation_names();
  if (contains(names, text))
    return {text, ""};
  require_expression(view, text, Role::activation, 0, expected, names);
  return {"", text};
}

}  // namespace sightline::architecture
