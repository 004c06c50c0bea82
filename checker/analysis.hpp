// What can be proved of a kernel or an activation given as an expression, by short exact arguments. Everything else stays a matter of trust.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace checker {

/// Flags in the order of the evidence (docs/certificate.md): y, n, or ? where nothing is proved here.
struct Analysis {
  std::string flags;
  std::optional<std::int64_t> degree;  ///< of a polynomial activation
  bool ratios_settle = false;          ///< kernels: floating-point evidence against condition (13)
};

/// Arguments used, each a line of docs/certificate.md: exact values in the field of quotients of sums c e^r (c, r rational; different
/// e^r are independent over Q: Lindemann) refute; parity, sign, smoothness, boundedness and growth by the rules of the operations
/// prove; polynomials are multiplied out. An expression that is not read proves nothing.
[[nodiscard]] Analysis analyse_activation(std::string_view expression);
[[nodiscard]] Analysis analyse_kernel(std::string_view expression, std::int64_t dim);

/// Does the kernel depend on x and y through dot products and lengths alone, by the rules of the operations? Turning both then changes nothing (16.37).
[[nodiscard]] bool is_isotropic(std::string_view expression);

/// Facts of the claimed row that are not proved here, in words; throws Rejected when one is refuted. `names`: one per flag.
[[nodiscard]] std::string name_unproved(const Analysis& analysis, const std::string& claimed, bool kernel, const std::string& expression);

}  // namespace checker
