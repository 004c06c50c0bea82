#include "sightline/certificate/fact_evidence.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sightline::certificate {
namespace {

using attention_kernel::Tri;

char to_letter(Tri value) { return value == Tri::yes ? 'y' : value == Tri::no ? 'n' : '?'; }

std::string to_flags(std::initializer_list<Tri> values) {
  std::string flags;
  for (const Tri value : values) flags += to_letter(value);
  return flags;
}

Tri to_tri(bool value) { return value ? Tri::yes : Tri::no; }

std::string to_facts(const attention_kernel::KernelFacts& k) {
  using attention_kernel::Condition13;
  return to_flags({k.analytic, k.positive, k.nonzero_at_zero, k.mean_property, k.joint_sign_even, k.homogeneous_mixer, k.constant,
                   to_tri(k.is_softmax), to_tri(k.is_gaussian)}) +
         (k.condition13 == Condition13::holds ? 'h' : k.condition13 == Condition13::fails ? 'f' : 'u') + to_letter(k.reads_keys);
}

nlohmann::json to_facts(const attention_kernel::ActivationFacts& s) {
  const bool one_homogeneous = s.positively_homogeneous == Tri::yes && s.homogeneity_degree == 1u;
  return {to_flags({s.continuous, s.locally_lipschitz, s.lipschitz, s.analytic, s.polynomial, s.affine, s.constant, s.odd, s.zero_at_zero,
                    s.even_part_polynomial, s.even_quadratic, to_tri(one_homogeneous), s.c2_or_kink, s.even}),
          s.degree ? static_cast<std::int64_t>(*s.degree) : -1};
}

/// compute(): the facts, which may take long.
template <class Compute>
void add(nlohmann::json& list, const nlohmann::json& expression, const Compute& compute) {
  const bool known = std::any_of(list.begin(), list.end(), [&](const nlohmann::json& pair) { return pair[0] == expression; });
  if (!known) list.push_back({expression, compute()});
}

}  // namespace

void add_fact_evidence(nlohmann::json& evidence, const architecture::Architecture& architecture, const nlohmann::json& canonical,
                       const Budget& budget) {
  nlohmann::json kernels = nlohmann::json::array(), activations = nlohmann::json::array();
  for (std::size_t k = 0; k < architecture.layers.size(); ++k) {
    const auto& [mixer, feedforward, norm, repeat] = architecture.layers[k];
    const nlohmann::json& layer = canonical["layer"][k];
    const bool read = mixer.kind == architecture::MixerKind::attention || mixer.kind == architecture::MixerKind::linformer;
    if (read && (mixer.kernel.name.empty() || mixer.kernel.name == "performer")) {
      add(kernels, layer["mixer"]["kernel"], [&] {
        return to_facts(attention_kernel::compute_kernel_facts(mixer.kernel, static_cast<std::size_t>(architecture.dim),
                                                               static_cast<std::size_t>(architecture.tokens), budget));
      });
    }
    if (mixer.kind == architecture::MixerKind::bias && mixer.activation.name.empty()) {
      add(activations, layer["mixer"]["activation"], [&] { return to_facts(attention_kernel::compute_activation_facts(mixer.activation, budget)); });
    }
    if (feedforward.activation.name.empty()) {
      add(activations, layer["feedforward"]["activation"], [&] { return to_facts(attention_kernel::compute_activation_facts(feedforward.activation, budget)); });
    }
  }
  if (!kernels.empty()) evidence["kernels"] = std::move(kernels);
  if (!activations.empty()) evidence["activations"] = std::move(activations);
}

}  // namespace sightline::certificate
