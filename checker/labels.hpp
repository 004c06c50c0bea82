// Token ids: labels of id sequences and the closed forms about them (theory 15.4, 15.5, 15.8).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json.hpp"
#include "layout.hpp"
#include "sight.hpp"

namespace checker {

enum class IdFloor { none, constant_prefixes, constant_sequences, linformer, max_of_three, collision };

/// Two labelled id sequences that agree at the depth while the target tells them apart (BOS = the vocabulary enumerated).
struct IdCollision {
  std::vector<std::uint32_t> x, y;
  Vertex a = 0, b = 0;
};

/// What labels say about a class and a group, whatever the feedforward can do.
struct IdLayers {
  std::optional<std::uint64_t> layers;
  bool never = false, only_necessary = false;
  std::uint64_t low = 0, high = 0;
  std::string rule;                 ///< name in the list of rules
  std::vector<std::string> premises;
  std::optional<IdCollision> at_given, below;
  std::optional<std::uint64_t> distinct_targets;
  IdFloor floor = IdFloor::none;
};

struct IdQuestion {
  const Json* architecture = nullptr;
  const Layout* layout = nullptr;
  const Sight* sight = nullptr;
  const Group* target = nullptr;    ///< G of the targets (never null)
  const ConfirmedGroup* layout_group = nullptr;
  ClassKind kind = ClassKind::all;
  std::optional<std::uint64_t> given;
  const Json* evidence = nullptr;   ///< the certificate's evidence "ids"
};
[[nodiscard]] IdLayers id_layers(const IdQuestion& question);

}  // namespace checker
