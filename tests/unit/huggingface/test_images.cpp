// Image models: the grid, its windows, its stages.
#include <doctest/doctest.h>

#include "dense_reach.hpp"

using namespace sightline;
using namespace sightline::huggingface;
using namespace sightline::huggingface::test;
using nlohmann::json;

namespace {

// The library's own procedure: pad, roll by the shift, cut into windows, mask by the nine regions, roll back.
Matrix shift_like_the_library(std::int64_t height, std::int64_t width, std::int64_t window, bool odd_layer) {
  std::int64_t shift = odd_layer ? window / 2 : 0;
  if (std::min(height, width) <= window) {
    shift = 0;
    window = std::min(height, width);
  }
  const std::int64_t padded_height = (height + window - 1) / window * window;
  const std::int64_t padded_width = (width + window - 1) / window * window;
  const auto place = [&](std::int64_t x, std::int64_t size) { return ((x - shift) % size + size) % size; };
  const auto region = [&](std::int64_t x, std::int64_t size) {
    if (shift == 0) return 0;
    return x < size - window ? 0 : x < size - shift ? 1 : 2;
  };
  const auto n = static_cast<std::size_t>(height * width);
  Matrix reads(n, std::vector<bool>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const auto ii = static_cast<std::int64_t>(i);
      const auto jj = static_cast<std::int64_t>(j);
      const std::int64_t ri = place(ii / width, padded_height), rj = place(jj / width, padded_height);
      const std::int64_t ci = place(ii % width, padded_width), cj = place(jj % width, padded_width);
      reads[i][j] = ri / window == rj / window && ci / window == cj / window &&
                    region(ri, padded_height) == region(rj, padded_height) && region(ci, padded_width) == region(cj, padded_width);
    }
  return reads;
}

}  // namespace

TEST_CASE("swin reads what rolling and masking leaves") {
  for (std::int64_t height = 1; height <= 9; ++height)
    for (std::int64_t width = 1; width <= 9; ++width)
      for (std::int64_t window = 1; window <= 5; ++window) {
        CAPTURE(height);
        CAPTURE(width);
        CAPTURE(window);
        const auto architecture = import_json({{"model_type", "swin"},
                                               {"image_size", {height, width}},
                                               {"patch_size", 1},
                                               {"depths", {2}},
                                               {"num_heads", {3}},
                                               {"window_size", window}})
                                      .architecture;
        const auto layers = write_out(architecture);
        REQUIRE(layers.size() == 2);
        for (const bool odd : {false, true})
          CHECK(expand(layers[odd ? 1 : 0].mixer.pattern, architecture.tokens) == shift_like_the_library(height, width, window, odd));
      }
}

TEST_CASE("swin takes the stage whose grid has as many tokens as asked for") {
  const json tiny = {{"model_type", "swin"}};
  const auto first = import_json(tiny).architecture;
  CHECK(first.tokens == 3136);
  CHECK(first.dim == 96);
  CHECK(first.mixer.heads == 3);
  CHECK(first.input.dim == 48);
  CHECK(first.input.norm.has_value());
  CHECK_FALSE(first.output.norm.has_value());
  CHECK(first.input.positions == architecture::Positions::none);
  const auto last = import_json(tiny, with_tokens(49)).architecture;
  CHECK(last.dim == 768);
  CHECK(last.mixer.heads == 24);
  CHECK(last.input.dim == 1536);
  CHECK(last.output.norm.has_value());
  CHECK(last.layer_count() == 2);
  // 30 pixels in patches of 4: the image is padded to 8 x 8 patches.
  CHECK(import_json({{"model_type", "swin"}, {"image_size", 30}}).architecture.tokens == 64);
}

TEST_CASE("vit counts the class token and detr keeps positions out of values") {
  const auto vit = import_json({{"model_type", "vit"}, {"image_size", {32, 48}}, {"patch_size", 16}}).architecture;
  CHECK(vit.tokens == 7);
  CHECK(vit.input.dim == 768);
  CHECK(vit.input.positions == architecture::Positions::learned);
  CHECK(vit.norm.place == architecture::NormPlace::pre);
  CHECK(vit.target.target_class == architecture::TargetClass::all);
  CHECK_FALSE(vit.input.bos);
  const auto detr = import_json({{"model_type", "detr"}}, with_tokens(12)).architecture;
  CHECK(detr.dim == 256);
  CHECK(detr.input.positions == architecture::Positions::none);
  CHECK(detr.mixer.relative.scheme == architecture::RelativeScheme::learned);
  CHECK(detr.norm.place == architecture::NormPlace::post);
}

TEST_CASE("image encoders count the tokens in front of their patches") {
  const auto import_small = [](const std::string& type) {
    return import_json({{"model_type", type}, {"image_size", 32}, {"patch_size", 16}}).architecture;
  };
  const auto deit = import_small("deit");
  CHECK(deit.tokens == 6);
  CHECK(deit.output.norm.has_value());
  CHECK(import_small("dinov2").tokens == 5);
  CHECK(import_json({{"model_type", "dinov2"}, {"use_swiglu_ffn", true}}).architecture.feedforward.kind ==
        architecture::FeedforwardKind::glu);
  CHECK(import_json({{"model_type", "dinov2"}, {"image_size", {14, 56}}, {"patch_size", 14}}).architecture.tokens == 5);
  CHECK_THROWS_AS(import_json({{"model_type", "dinov2"}, {"image_size", {28, 56}}, {"patch_size", 14}}), InputError);  // 8 patches: no square to make their positions from
  const auto with_registers = import_small("dinov2_with_registers");
  CHECK(with_registers.tokens == 5);
  CHECK(with_registers.input.registers == std::vector<std::string>{"r0", "r1", "r2", "r3"});  // each a vector of its own
  CHECK(import_json({{"model_type", "dinov2_with_registers"}, {"num_register_tokens", 0}}).architecture.input.registers.empty());
  const auto clip = import_small("clip_vision_model");
  CHECK(clip.tokens == 5);
  CHECK(clip.input.norm.has_value());
  CHECK_FALSE(clip.output.norm.has_value());
  const auto siglip = import_small("siglip_vision_model");
  CHECK(siglip.tokens == 4);
  CHECK(siglip.input.positions == architecture::Positions::learned);
}
