#!/usr/bin/env bash
# ./do test [--all] [--sanitize] [NAME...]: builds and runs the tests. Without options: the fast suites of the release
# build, the command-line tests, and a small sanitized build that proves the sanitizers are on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
all=0 sanitize=0 names=()
for argument in "$@"; do
  case "$argument" in
    --all) all=1 ;;
    --sanitize) sanitize=1 ;;
    *) names+=("$argument") ;;
  esac
done
preset=release
[ $sanitize = 1 ] && preset=sanitize
# Training needs LibTorch, which is not built for the sanitizers.
training=ON
[ $sanitize = 1 ] && training=OFF
cmake --preset "$preset" -DSIGHTLINE_TESTS=ON -DSIGHTLINE_TRAIN=$training >"build/$preset.configure.log" 2>&1 || { cat "build/$preset.configure.log"; exit 1; }
cmake --build --preset "$preset" >"build/$preset.build.log" 2>&1 || { tail -n 60 "build/$preset.build.log"; exit 1; }
filter=()
[ ${#names[@]} -gt 0 ] && filter=(-R "$(IFS='|'; echo "${names[*]}")")
ctest --preset "$preset" -j2 --no-tests=error "${filter[@]}"
if [ $all = 1 ]; then
  ctest --preset "$preset" -C Slow -L slow --no-tests=error "${filter[@]}"
  # Small layouts by the ways of large ones (tests/thresholds).
  low=low-thresholds
  cmake --preset $low -DSIGHTLINE_TESTS=ON >build/$low.configure.log 2>&1 || { cat build/$low.configure.log; exit 1; }
  cmake --build --preset $low --target sightline_command thresholds_definition test_verdict_brute_force >build/$low.build.log 2>&1 || { tail -n 60 build/$low.build.log; exit 1; }
  ctest --preset $low -L thresholds -j2 "${filter[@]}"
fi
