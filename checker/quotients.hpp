// The field in which expressions are evaluated: quotients of sums c e^r, c and r rational. Different e^r are independent over Q (Lindemann), so zero is seen.
#pragma once

#include <map>
#include <utility>

#include "exact.hpp"

namespace checker {

struct Unknown {};  // thrown where the exact arithmetic, or the reading, ends

using Sum = std::map<Rational, Rational>;  // exponent -> coefficient, none 0; different ones are independent, so empty is the only zero
constexpr std::size_t most_terms = 64;

inline Sum add_terms(Sum a, const Sum& b, const Rational& by) {
  for (const auto& [r, c] : b) {
    Rational& here = a.emplace(r, 0).first->second;
    here = here + c * by;
    if (here.is_zero()) a.erase(r);
  }
  if (a.size() > most_terms) throw Unknown();
  return a;
}
inline Sum multiply_terms(const Sum& a, const Sum& b) {
  Sum product;
  for (const auto& [r, c] : a) {
    Sum shifted;
    for (const auto& [s, e] : b) shifted.emplace(r + s, e);
    product = add_terms(std::move(product), shifted, c);
  }
  return product;
}

struct Value {
  Sum top, bottom{{Rational(0), Rational(1)}};
};
inline Value number(const Rational& q) { return q.is_zero() ? Value{} : Value{{{Rational(0), q}}}; }
inline Value operator+(const Value& a, const Value& b) { return {add_terms(multiply_terms(a.top, b.bottom), multiply_terms(b.top, a.bottom), 1), multiply_terms(a.bottom, b.bottom)}; }
inline Value operator-(const Value& a, const Value& b) { return {add_terms(multiply_terms(a.top, b.bottom), multiply_terms(b.top, a.bottom), -1), multiply_terms(a.bottom, b.bottom)}; }
inline Value operator*(const Value& a, const Value& b) { return {multiply_terms(a.top, b.top), multiply_terms(a.bottom, b.bottom)}; }
inline Value operator/(const Value& a, const Value& b) {
  if (b.top.empty()) throw Unknown();
  if (b.top.size() == 1 && b.bottom.size() == 1) {  // c e^r has an inverse among the sums: bottoms stay 1, and numbers short
    const auto& [r, c] = *b.top.begin();
    const auto& [s, e] = *b.bottom.begin();
    return {multiply_terms(a.top, {{s - r, e / c}}), a.bottom};
  }
  return {multiply_terms(a.top, b.bottom), multiply_terms(a.bottom, b.top)};
}
inline bool operator==(const Value& a, const Value& b) { return (a - b).top.empty(); }
/// A quotient that is plainly rational: c e^r / c' e^r.
inline Rational rational(const Value& v) {
  if (v.top.empty()) return 0;
  if (v.top.size() != 1 || v.bottom.size() != 1 || !(v.top.begin()->first == v.bottom.begin()->first)) throw Unknown();
  return v.top.begin()->second / v.bottom.begin()->second;
}
inline Value exponential(const Value& v) { return {{{rational(v), Rational(1)}}}; }

}  // namespace checker
