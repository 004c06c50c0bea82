// Written by scripts/check_rules.py COMMAND --write: which cases name which rule.
#include "cli/rule_notes.hpp"

namespace sightline::cli {

const std::vector<RuleCases>& rule_cases() {
  static const std::vector<RuleCases> cases = {
      {"absolute-positions", "R01 R02 R03 R04 R07 R10 R11 R14 R15 R16 R17 R67 R68 R76 R77 R79 R89", ""},
      {"additive-positions", "", "verdict_cases/ids-mean-learned-3 verdict_cases/ids-mean-learned-4 verdict_cases/ids-mean-learned-one-layer"},
      {"affine", "", "verdict_cases/ffn-affine-mean verdict_cases/ffn-affine-sum verdict_cases/ffn-affine-linear"},
      {"alibi-both-ways", "", "verdict_cases/ids-alibi-bos-64 verdict_cases/ids-alibi-symmetric verdict_cases/ids-alibi-half-symmetric"},
      {"blind", "", "verdict_cases/ids-blind-full"},
      {"causal-bos", "", "verdict_cases/ids-nope-bos-64 verdict_cases/ids-tokenwise-layer-after verdict_cases/ids-causal-symmetric-bos"},
      {"causal-sink", "", "verdict_cases/ids-nope-sink-64 verdict_cases/ids-nope-eps-64 verdict_cases/ids-causal-symmetric-sink"},
      {"constant-prefixes", "R19 R20 R42", ""},
      {"constant-sequences", "R46 R56 R82", ""},
      {"exact-counts", "", "verdict_cases/ids-sink-window verdict_cases/linear-causal verdict_cases/attention-then-linear"},
      {"feedforward", "A01 A02 A04 A05 A07 A08 A10 A11 A13 A13b A15 A16 A18 A19 A21 A22 A24 A25 A27 A28 A30 A31 B01 B02 B04 B05 B07 B08 B10 B11 B13 B14 B16 B17 B19 B20 B22 B23 B25 B26 B28 B29 B31 B32 B34 B35 B37 B38 B40 B41 B43 B44 B46 B47 B49 B50 B53 B54 B56 B57 B58 B59 C02 C03 C05 C06 C08 C09 C11 C12 C14 C15 C17 C18 C20 D01 D03 D04 D06 D07 D12 D16 D18 D19 D21 D22 D24 D25 D26 D28 D29 D31 D32 D36 R49 R50 R51 R52 R54 R57 R60 R61 R62", ""},
      {"few-labels", "R85", ""},
      {"fixed-positions", "C17", ""},
      {"full-without-positions", "", "verdict_cases/ids-bag-64 verdict_cases/ids-bag-64-explicit verdict_cases/ids-bag-bos-64"},
      {"homogeneous", "", "verdict_cases/ffn-hom-meanx verdict_cases/ffn-hom-sumx verdict_cases/ffn-hom-convolutionx"},
      {"input-rank", "", "verdict_cases/embedding-rms-eps0-centred verdict_cases/embedding-layernorm-raw verdict_cases/embedding-layernorm-square"},
      {"labels", "R05 R21 R33 R35 R36 R64 R81 R83 R85 R87", ""},
      {"left-out", "", "rules/left-out"},
      {"limit", "", "rules/time-limit"},
      {"linformer-ids", "", "verdict_cases/ids-linformer-64 verdict_cases/ids-linformer-s64 verdict_cases/linformer-causal-symmetric"},
      {"max-forgets-counts", "", "verdict_cases/ids-max-64"},
      {"mixed-rotary", "R32", ""},
      {"mixer", "A01 A02 A04 A05 A07 A08 A10 A11 A13 A13b A15 A16 A18 A19 A21 A22 A24 A25 A27 A28 A30 A31 B01 B02 B04 B05 B07 B08 B10 B11 B13 B14 B16 B17 B19 B20 B22 B23 B25 B26 B28 B29 B31 B32 B34 B35 B37 B38 B40 B41 B43 B44 B46 B47 B49 B50 B53 B54 B56 B57 B58 B59 C02 C03 C05 C06 C08 C09 C11 C12 C14 C15 C17 C18 C20 D01 D03 D04 D06 D07 D09 D10 D12 D13 D15 D16 D18 D19 D21 D22 D24 D25 D26 D28 D29 D31 D32 D34 D35 D36 R49 R50 R51 R52 R54 R57 R60 R61 R62", ""},
      {"norm-range", "", "verdict_cases/norm-post-rms-nohead-gain1 verdict_cases/norm-post-rms-nohead-eps0-gain1 verdict_cases/norm-post-rms-nohead-eps0"},
      {"odd", "D09 D35", ""},
      {"open", "D06 D10 D13 D15 D26 D34 R30 R61 R67 R77 R87", ""},
      {"output-rank", "A01 A02 A04 A05 A07 A08 A10 A11 A13 A13b A15 A16 A18 A19 A21 A22 A24 A25 A27 A28 A30 A31 B01 B02 B04 B05 B07 B08 B10 B11 B13 B14 B16 B17 B19 B20 B22 B23 B25 B26 B28 B29 B31 B32 B34 B35 B37 B38 B40 B41 B43 B44 B46 B47 B49 B50 B53 B54 B56 B57 B58 B59 C02 C03 C05 C06 C08 C09 C11 C12 C14 C15 C17 C18 C20 D01 D03 D04 D06 D07 D09 D10 D12 D13 D15 D16 D18 D19 D21 D22 D24 D25 D26 D28 D29 D31 D32 D34 D35 D36 R01 R02 R03 R04 R05 R07 R10 R11 R13 R14 R15 R16 R17 R19 R20 R21 R22 R23 R24 R25 R26 R27 R28 R29 R30 R32 R33 R35 R36 R39 R42 R43 R44 R46 R47 R48 R49 R50 R51 R52 R54 R56 R57 R60 R61 R62 R64 R67 R68 R69 R76 R79 R81 R82 R83 R87 R89", ""},
      {"post-norm", "R52 R62", ""},
      {"pre-layernorm", "D04 R49 R50 R51", ""},
      {"pre-layernorm-translation", "D03", ""},
      {"pre-rmsnorm", "D01 R60", ""},
      {"sandwich-rmsnorm", "", "verdict_cases/norm-sandwich-rms verdict_cases/norm-after-rms verdict_cases/odd-norms-differ-rms"},
      {"t5-buckets", "R44", ""},
      {"theorem-bos", "R22 R23 R24 R25 R26 R27 R28 R29 R30 R39 R43 R47 R48 R69", ""},
      {"theorem-e", "A01 A02 A04 A05 A07 A08 A10 A11 A13 A13b A15 A16 A18 A19 A21 A22 A24 A25 A27 A28 A30 A31 B01 B02 B04 B05 B07 B08 B10 B11 B13 B14 B16 B17 B19 B20 B22 B23 B25 B26 B28 B29 B31 B32 B34 B35 B37 B38 B40 B41 B43 B44 B46 B47 B49 B50 B53 B54 B56 B57 B58 B59 C02 C03 C05 C06 C08 C09 C11 C12 C14 C15 C18 C20 D01 D03 D04 D06 D07 D09 D10 D12 D13 D15 D16 D18 D19 D21 D22 D24 D25 D26 D28 D29 D31 D32 D34 D35 D36 R49 R50 R51 R52 R54 R57 R60 R61 R62", ""},
      {"theorem-g", "D24 D36 R57", ""},
      {"tied", "R68", ""},
      {"unseen", "R13", ""},
      {"views", "", "rules/views verdict_cases/exact-counts-mirror verdict_cases/bos-t5-far"},
  };
  return cases;
}

}  // namespace sightline::cli
