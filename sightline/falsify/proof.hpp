// Findings as JSON, and proofs that are evaluated again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sightline/falsify/falsify.hpp"

namespace sightline::falsify {

/// Exit code of interfaces.md 6: 1 a proven failing pair; 0 every pair proved separated, or Theorem G holds; 3 otherwise.
[[nodiscard]] int to_exit_code(const Result& result);

[[nodiscard]] std::string to_json(const Result& result);
[[nodiscard]] std::string to_text(const Result& result);

/// The proof file: mixer, sizes and all claims (docs/falsify.md). One line of JSON.
[[nodiscard]] std::string to_proof(const Result& result);

struct ProofCheck {
  bool accepted = false;
  std::size_t claims = 0;
  std::string fault;  ///< the first claim that does not hold, and why; empty when accepted
};

/// True when the text is a proof file by its "format": what `sightline check` asks to know whom to call.
[[nodiscard]] bool is_proof(std::string_view json);

/// Evaluates every claim again from the file alone: enclosures are computed anew and must lie inside the claimed ones,
/// which must not contain 0; equalities are proved anew. Claims about a library load it. Throws InputError for text that
/// is no proof file (`FILE: /pointer: ...`) and for what a library does wrong.
[[nodiscard]] ProofCheck check_proof(std::string_view json, const std::string& file, const Budget& budget);

}  // namespace sightline::falsify
