#include "sightline/falsify/proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sightline/base/error.hpp"
#include "sightline/base/print_json.hpp"
#include "sightline/falsify/exact.hpp"
#include "sightline/falsify/prober.hpp"
#include "sightline/group/expression.hpp"

namespace sightline::falsify {
namespace {

using nlohmann::ordered_json;

constexpr const char* format_name = "sightline-falsify-proof";

ordered_json to_list(const std::vector<mpq_class>& values) {
  ordered_json list = ordered_json::array();
  for (const mpq_class& value : values) list.push_back(value.get_str());
  return list;
}

ordered_json to_list(const Sample& sample) {
  ordered_json list = ordered_json::array();
  for (const Token& token : sample) list.push_back(to_list(token));
  return list;
}

ordered_json to_object(const Mixer& mixer) {
  switch (mixer.kind) {
    case MixerKind::library: return {{"kind", "library"}, {"file", mixer.text}};
    case MixerKind::bias: return {{"kind", "bias"}, {"expression", mixer.text}};
    case MixerKind::attention: break;
  }
  return {{"kind", "attention"}, {"expression", mixer.text}, {"normalised", mixer.normalised}};
}

ordered_json to_object(const Claim& claim) {
  ordered_json object;
  object["claim"] = claim.equal ? "equal" : "separated";
  object["pair"] = claim.pair;
  object["x"] = to_list(claim.x);
  object["y"] = to_list(claim.y);
  object["a"] = claim.a;
  object["b"] = claim.b;
  if (claim.equal) {
    object["method"] = claim.method;
  } else {
    object["theta"] = to_list(claim.theta);
    object["entry"] = claim.entry;
    object["enclosure"] = {claim.low, claim.high};
    object["bits"] = claim.bits;
  }
  return object;
}

const char* to_word(TheoremG value) { return value == TheoremG::holds ? "holds" : value == TheoremG::blind ? "blind" : "not shown"; }

std::size_t count(const Result& result, Status status) {
  return static_cast<std::size_t>(std::count_if(result.findings.begin(), result.findings.end(), [&](const Finding& f) { return f.status == status; }));
}

/// Reads members with a pointer in every error.
class Reader {
public:
  Reader(const std::string& file, const ordered_json& root) : file_(file), root_(root) {}

  [[noreturn]] void fail(const std::string& pointer, std::string_view expected) const {
    throw InputError(fmt::format("{}: {}: expected {}", file_, pointer.empty() ? "/" : pointer, expected));
  }
  const ordered_json& at(const std::string& pointer, std::string_view expected) const {
    const ordered_json::json_pointer where(pointer);
    if (!root_.contains(where)) fail(pointer, expected);
    return root_.at(where);
  }
  std::string text(const std::string& pointer) const {
    const auto& value = at(pointer, "a string");
    if (!value.is_string()) fail(pointer, "a string");
    return value.get<std::string>();
  }
  std::size_t number(const std::string& pointer, std::size_t most) const {
    const auto& value = at(pointer, fmt::format("a number of at most {}", most));
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) fail(pointer, fmt::format("a whole number, 0 to {}", most));
    return value.get<std::size_t>();
  }
  mpq_class rational(const std::string& pointer) const {
    const std::string digits = text(pointer);
    mpq_class value;
    const bool plain = !digits.empty() && digits.size() < 4096 && digits.find_first_not_of("-0123456789/") == std::string::npos;
    if (!plain || value.set_str(digits, 10) != 0 || value.get_den() == 0) fail(pointer, "a rational such as \"-3/4\"");
    value.canonicalize();
    return value;
  }
  std::vector<mpq_class> rationals(const std::string& pointer, std::size_t size) const {
    const auto& value = at(pointer, fmt::format("a list of {} rationals", size));
    if (!value.is_array() || value.size() != size) fail(pointer, fmt::format("a list of {} rationals", size));
    std::vector<mpq_class> result;
    for (std::size_t k = 0; k < size; ++k) result.push_back(rational(fmt::format("{}/{}", pointer, k)));
    return result;
  }
  Sample sample(const std::string& pointer, std::size_t tokens, std::size_t dim) const {
    const auto& value = at(pointer, fmt::format("a list of {} tokens", tokens));
    if (!value.is_array() || value.size() != tokens) fail(pointer, fmt::format("a list of {} tokens", tokens));
    Sample result;
    for (std::size_t k = 0; k < tokens; ++k) result.push_back(rationals(fmt::format("{}/{}", pointer, k), dim));
    return result;
  }

private:
  const std::string& file_;
  const ordered_json& root_;
};

/// Is the computed enclosure inside the claimed one, and 0 outside of it? The claimed ends are decimals.
std::string compare_enclosures(const Interval& computed, const std::string& low, const std::string& high) {
  Interval claimed(computed.bits());
  if (mpfr_set_str(claimed.low(), low.c_str(), 10, MPFR_RNDD) != 0 || mpfr_set_str(claimed.high(), high.c_str(), 10, MPFR_RNDU) != 0) return "the enclosure is no pair of decimals";
  if (mpfr_nan_p(claimed.low()) || mpfr_nan_p(claimed.high()) || !claimed.excludes_zero()) return "the enclosure contains 0";
  if (mpfr_lessequal_p(claimed.low(), claimed.high()) == 0) return "the ends of the enclosure are exchanged";
  if (!claimed.contains(computed)) return fmt::format("the value lies in [{}, {}], not inside the claimed enclosure", computed.print_low(), computed.print_high());
  return {};
}

/// y = tau x with tau in G. Only for tokens that are pairwise distinct; equal tokens inside an input count as one orbit,
/// because nothing is claimed about them (general position, theory.md 1.1).
bool in_one_orbit(const Sample& x, const Sample& y, const group::Group& symmetry, const Budget& budget) {
  std::vector<group::Point> images(x.size());
  bool all_found = true;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::count(x.begin(), x.end(), x[i]) != 1 || std::count(y.begin(), y.end(), y[i]) != 1) return true;
    const auto at = std::find(y.begin(), y.end(), x[i]);
    if (at == y.end()) all_found = false;
    else images[i] = static_cast<group::Point>(at - y.begin());
  }
  return all_found && group::Membership(symmetry, budget).contains(group::Permutation::from_images(images));
}

std::string check_separated(const Mixer& mixer, Prober& prober, const Reader& reader, const std::string& at, const Sample& x, const Sample& y, std::size_t a, std::size_t b,
                            std::size_t dim) {
  const auto& listed = reader.at(at + "/theta", "a list of rationals");
  const std::size_t expected = mixer.kind == MixerKind::library ? listed.size() : count_parameters(mixer, dim);
  const Parameters theta = reader.rationals(at + "/theta", expected);
  const std::size_t entry = reader.number(at + "/entry", dim);
  const auto bits = static_cast<long>(reader.number(at + "/bits", 65536));
  if (bits < 53) reader.fail(at + "/bits", "a number of bits, 53 to 65536");
  try {
    const std::vector<Interval> left = prober.enclose(x, a, theta, bits), right = prober.enclose(y, b, theta, bits);
    if (entry >= left.size()) reader.fail(at + "/entry", fmt::format("a whole number, 0 to {}", left.size() - 1));
    return compare_enclosures(left[entry] - right[entry], reader.text(at + "/enclosure/0"), reader.text(at + "/enclosure/1"));
  } catch (const Undefined&) {
    return "the mixer is not defined at these parameters";
  }
}

}  // namespace

int to_exit_code(const Result& result) {
  if (count(result, Status::failing) > 0) return 1;
  const bool all = !result.findings.empty() && !result.limit && count(result, Status::separated) == result.findings.size();
  return all || result.theorem_g == TheoremG::holds ? 0 : 3;
}

std::string to_proof(const Result& result) {
  ordered_json object;
  object["format"] = format_name;
  object["version"] = 1;
  object["mixer"] = to_object(result.mixer);
  object["tokens"] = result.tokens;
  object["dim"] = result.dim;
  object["symmetry"] = result.symmetry;
  object["claims"] = ordered_json::array();
  for (const Finding& finding : result.findings) {
    for (const Claim& claim : finding.claims) object["claims"].push_back(to_object(claim));
  }
  return print_json(object) + "\n";
}

std::string to_json(const Result& result) {
  ordered_json object;
  object["mixer"] = to_object(result.mixer);
  object["tokens"] = result.tokens;
  object["dim"] = result.dim;
  object["symmetry"] = result.symmetry;
  object["layers"] = 1;
  object["seed"] = result.seed;
  object["pairs"] = ordered_json::array();
  for (const Finding& finding : result.findings) {
    ordered_json entry;
    entry["name"] = finding.pair.name;
    entry["status"] = to_word(finding.status);
    entry["x"] = to_list(finding.pair.x);
    entry["y"] = to_list(finding.pair.y);
    entry["largest_difference"] = finding.largest_difference ? ordered_json(*finding.largest_difference) : ordered_json(nullptr);
    entry["claims"] = ordered_json::array();
    for (const Claim& claim : finding.claims) {
      ordered_json one = to_object(claim);
      for (const char* key : {"pair", "x", "y"}) one.erase(key);
      entry["claims"].push_back(std::move(one));
    }
    object["pairs"].push_back(std::move(entry));
  }
  object["left_out"] = result.left_out;
  object["theorem_g"] = {{"status", to_word(result.theorem_g)}, {"why", result.theorem_g_why}, {"assumes", result.theorem_g_assumes}};
  object["every_depth"] = result.every_depth && count(result, Status::failing) > 0;
  object["limit"] = result.limit ? ordered_json(*result.limit) : ordered_json(nullptr);
  object["exit"] = to_exit_code(result);
  return print_json(object);
}

std::string to_text(const Result& result) {
  std::string out;
  const auto line = [&out](std::string_view name, std::string_view text) { out += fmt::format("{:<13}{}\n", name, text); };
  const bool library = result.mixer.kind == MixerKind::library;
  line("mixer", library ? result.mixer.text
                : result.mixer.kind == MixerKind::bias
                    ? fmt::format("a sum_j alpha(w.x_j + b), alpha(t) = {}", result.mixer.text)
                    : fmt::format("attention with kernel {}{}", result.mixer.text, result.mixer.normalised ? ", normalised" : ", not normalised"));
  line("inputs", fmt::format("{} tokens of width {}, symmetry {}, one mixing layer", result.tokens, result.dim, result.symmetry));
  bool first = true;
  for (const Finding& finding : result.findings) {
    std::string text = fmt::format("{:<40}{}", finding.pair.name, to_word(finding.status));
    if (finding.status == Status::failing) {
      const Claim& claim = finding.claims.front();
      text += fmt::format(": token {} and token {}, equal whatever the parameters ({})", claim.a, claim.b, claim.method);
    }
    if (finding.largest_difference) text += fmt::format(" (largest relative difference {:.1e})", *finding.largest_difference);
    line(first ? "pairs" : "", text);
    first = false;
  }
  for (const std::string& text : result.left_out) line("left out", text);
  line("theorem G", fmt::format("{}: {}", to_word(result.theorem_g), result.theorem_g_why));
  for (const std::string& text : result.theorem_g_assumes) line("  if", text);
  if (result.limit) line("limit", *result.limit);
  const std::size_t failing = count(result, Status::failing), separated = count(result, Status::separated);
  std::string verdict;
  if (failing > 0) {
    verdict = fmt::format("PROVED: {} of {} pairs cannot be told apart by {} of this mixer alone", failing, result.findings.size(),
                          result.every_depth ? "any number of layers" : "one layer");
  } else if (separated == result.findings.size() && !result.findings.empty()) {
    verdict = "PROVED for these pairs: each is told apart (this does not prove Definition 3, which asks all pairs)";
  } else if (library && separated == 0) {
    verdict = "numbers only: no proof either way";
  } else {
    verdict = fmt::format("{} of {} pairs proved apart, none proved equal", separated, result.findings.size());
  }
  line("result", verdict);
  if (result.theorem_g == TheoremG::holds) line("", fmt::format("with feedforwards between the layers: universal for S_{} (theory 2.6), whatever the pairs say", result.tokens));
  return out;
}

bool is_proof(std::string_view json) {
  if (json.find(format_name) == std::string_view::npos) return false;  // certificates are long; reading them takes as long as checking them
  const ordered_json root = ordered_json::parse(json, nullptr, false);
  return root.is_object() && root.value("format", ordered_json()) == format_name;
}

ProofCheck check_proof(std::string_view json, const std::string& file, const Budget& budget) {
  const ordered_json root = ordered_json::parse(json, nullptr, false);
  const Reader reader(file, root);
  if (!root.is_object() || root.value("format", ordered_json()) != format_name) reader.fail("/format", fmt::format("\"{}\"", format_name));
  if (reader.number("/version", 1) != 1) reader.fail("/version", "1");
  const std::size_t tokens = reader.number("/tokens", 4096), dim = reader.number("/dim", 256);
  if (tokens == 0 || dim == 0) reader.fail(tokens == 0 ? "/tokens" : "/dim", "a number above 0");
  const std::string kind = reader.text("/mixer/kind");
  Mixer mixer;
  if (kind == "library") {
    mixer = make_mixer("lib:" + reader.text("/mixer/file"), true, dim);
  } else if (kind == "attention" || kind == "bias") {
    const auto& normalised = kind == "bias" ? ordered_json(true) : reader.at("/mixer/normalised", "true or false");
    if (!normalised.is_boolean()) reader.fail("/mixer/normalised", "true or false");
    mixer = make_mixer("expr:" + reader.text("/mixer/expression"), normalised.get<bool>(), dim);
    if ((mixer.kind == MixerKind::bias) != (kind == "bias")) reader.fail("/mixer/expression", kind == "bias" ? "an expression in t" : "an expression in x and y");
  } else {
    reader.fail("/mixer/kind", "\"attention\", \"bias\" or \"library\"");
  }
  const group::Group symmetry = group::parse_group(reader.text("/symmetry"), static_cast<group::Point>(tokens), budget);
  Prober prober(mixer, tokens, dim, 10, budget);
  const auto& claims = reader.at("/claims", "a list");
  if (!claims.is_array()) reader.fail("/claims", "a list");
  ProofCheck result;
  for (std::size_t k = 0; k < claims.size(); ++k) {
    budget.report("claims", static_cast<double>(k) / static_cast<double>(claims.size()));
    const std::string at = fmt::format("/claims/{}", k);
    const Sample x = reader.sample(at + "/x", tokens, dim), y = reader.sample(at + "/y", tokens, dim);
    const std::size_t a = reader.number(at + "/a", tokens - 1), b = reader.number(at + "/b", tokens - 1);
    const std::string claim = reader.text(at + "/claim");
    std::string fault;
    if (x[a] != y[b]) {
      fault = "the two tokens are not equal before the layer";
    } else if (claim == "equal") {
      if (in_one_orbit(x, y, symmetry, budget)) fault = "the two inputs are in one orbit of the symmetry";
      else if (!prove_equal(mixer, x, y, a, b, budget)) fault = "no exact argument proves the values equal";
    } else if (claim == "separated") {
      if (!prober.is_rigorous()) fault = "the library exports no sightline_mixer_interval";
      else fault = check_separated(mixer, prober, reader, at, x, y, a, b, dim);
    } else {
      reader.fail(at + "/claim", "\"equal\" or \"separated\"");
    }
    if (!fault.empty()) {
      result.fault = fmt::format("{}: {}", at, fault);
      return result;
    }
    ++result.claims;
  }
  result.accepted = true;
  return result;
}

}  // namespace sightline::falsify
