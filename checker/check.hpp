// The checker: confirms every claim of a certificate without search. Standard C++ and the files of this folder only.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace checker {

struct Report {
  bool confirmed = false;
  std::string claim, reason;          ///< the first claim that is not confirmed, and why
  std::vector<std::string> trusted;   ///< what is taken on trust, one sentence each
};

/// Throws Malformed when the text is no certificate (syntax, types, sizes): exit code 2.
/// @param poll  called every few milliseconds at least, on this thread, where it is not empty; what it throws ends the check and comes out here
/// @param threads  this one among them; the report is the same for any number. More than two are not used
[[nodiscard]] Report check_certificate(std::string_view text, const std::function<void()>& poll = {}, unsigned threads = 1);

}  // namespace checker
