// The generator of patterns and the naive reading of the format agree on everything an import writes.
#include <doctest/doctest.h>

#include "dense_reach.hpp"
#include "sightline/base/budget.hpp"

using namespace sightline;
using namespace sightline::huggingface;
using namespace sightline::huggingface::test;
using nlohmann::json;

TEST_CASE("patterns mean the same to the generator as to a reader of the format") {
  for (const std::int64_t tokens : {1, 2, 7, 24}) {
    for (const json& config : std::vector<json>{
             {{"model_type", "gemma2"}, {"num_hidden_layers", 2}, {"sliding_window", 4}},
             {{"model_type", "llama4_text"}, {"num_hidden_layers", 4}, {"attention_chunk_size", 5}},
             {{"model_type", "longformer"}, {"num_hidden_layers", 1}, {"attention_window", 6}},
             {{"model_type", "modernbert"}, {"num_hidden_layers", 2}, {"local_attention", 5}},
             {{"model_type", "big_bird"}, {"num_hidden_layers", 1}, {"block_size", 2}, {"num_random_blocks", 1}}}) {
      CAPTURE(config.dump());
      CAPTURE(tokens);
      for (const auto& layer : write_out(import_json(config, with_tokens(tokens)).architecture)) {
        const layout::PatternSize size{static_cast<layout::Vertex>(tokens), 0, 1};
        const auto patterns = layout::make_patterns(layer.mixer.pattern, size, Budget{});
        const Matrix expected = expand(layer.mixer.pattern, tokens);
        for (const auto& pattern : patterns) {
          std::vector<layout::Run> row;
          for (layout::Vertex i = 0; i < tokens; ++i) {
            std::vector<bool> reads(static_cast<std::size_t>(tokens), false);
            pattern.row(i, row);
            for (const layout::Run& run : row)
              for (layout::Vertex j = run.first; j <= run.last; j += run.step) reads[j] = true;
            CHECK(reads == expected[i]);
          }
        }
      }
    }
  }
}
