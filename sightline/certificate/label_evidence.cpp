#include "sightline/certificate/label_evidence.hpp"

#include <nlohmann/json.hpp>

namespace sightline::certificate {

nlohmann::json to_evidence(const verdict::IdLayers& layers) {
  nlohmann::json evidence;
  if (layers.rule != "labels") return evidence;
  const auto add = [&](const char* name, const std::optional<sight::IdCollision>& c) {
    if (c) evidence[name] = {{"a", c->a}, {"b", c->b}, {"x", c->x}, {"y", c->y}};
  };
  add("at_given", layers.at_given);
  add("below", layers.below);
  return evidence;
}

}  // namespace sightline::certificate
