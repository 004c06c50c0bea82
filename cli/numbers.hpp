// Checks of numbers on the command line, with the words of the project in place of a range up to the largest double.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
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

}  // namespace sightline::cli
