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

/// Decimal digits, put so that CLI11 reads them as such: it takes 010 for 8, and an empty text for 0.
inline CLI::Validator make_decimal_check() {
  return {[](std::string& text) {
            const bool has_sign = text.starts_with('-') || text.starts_with('+');
            const char* first = text.data() + (has_sign ? 1 : 0);
            const char* last = text.data() + text.size();
            std::uint64_t size = 0;
            const auto [end, error] = std::from_chars(first, last, size);
            if (error == std::errc::invalid_argument || end != last) return fmt::format("expected a whole number, found \"{}\"", text);
            if (error != std::errc() || size > std::uint64_t{1} << 62) return fmt::format("expected a whole number of at most 2^62, found {}", text);
            text = fmt::format("{}{}", text.starts_with('-') ? "-" : "", size);
            return std::string();
          },
          ""};
}

/// What CLI11 takes though nobody means it, for every option of every command; call it when all are added. An empty text is no name of
/// a file and no expression: `--save ""` (a variable of a script that is not set) must not mean that nothing is saved. Numbers are finite.
inline void refuse_odd_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("TEXT"))
      option->check(CLI::Validator([](std::string& text) { return text.empty() ? std::string("expected a text, found an empty one") : std::string(); }, ""));
    if (type.starts_with("INT") || type.starts_with("UINT")) option->transform(make_decimal_check());
    if (type.starts_with("FLOAT"))
      option->check(CLI::Validator(
          [](std::string& text) {
            double value = 0;
            return CLI::detail::lexical_cast(text, value) && std::isfinite(value) ? std::string() : fmt::format("expected a number, found \"{}\"", text);
          },
          ""));
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) refuse_odd_values(*command);
}

}  // namespace sightline::cli
