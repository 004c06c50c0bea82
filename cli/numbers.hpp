// Checks of numbers on the command line, with the words of the project in place of a range up to the largest double.
#pragma once

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace sightline::cli {

inline CLI::Validator make_number_check(bool zero_too) {
  return {[zero_too](std::string& text) {
            double value = 0;
            const bool good = CLI::detail::lexical_cast(text, value) && std::isfinite(value) && (zero_too ? value >= 0 : value > 0);
            return good ? std::string() : std::string("expected a number ") + (zero_too ? "of at least 0" : "above 0") + ", found \"" + text + "\"";
          },
          zero_too ? "NONNEGATIVE" : "POSITIVE"};
}
inline const CLI::Validator positive_number = make_number_check(false);
inline const CLI::Validator non_negative_number = make_number_check(true);

/// A whole number, where CLI11 takes -1 for the largest one of the type.
inline CLI::Validator whole_number(std::uint64_t least) {
  return {[least](std::string& text) {
            std::uint64_t value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool good = error == std::errc() && end == text.data() + text.size() && value >= least && value <= std::uint64_t{1} << 53;
            return good ? std::string() : fmt::format("expected a whole number from {} to 2^53, found {}", least, text);
          },
          "NUMBER"};
}

/// An empty text is no name of a file and no expression: `--save ""` (a variable of a script that is not set) must not mean that
/// nothing is saved. For every option of a command that takes text; call it when all are added.
inline void refuse_empty_texts(CLI::App& app) {
  for (CLI::Option* option : app.get_options([](const CLI::Option* one) { return one->get_type_name().starts_with("TEXT"); }))
    option->check(CLI::Validator([](std::string& text) { return text.empty() ? std::string("expected a text, found an empty one") : std::string(); }, ""));
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) refuse_empty_texts(*command);
}

}  // namespace sightline::cli
