#!/usr/bin/env bash
# ./do fuzz [--seconds N] [READER...]: runs every reader on damaged input under AddressSanitizer and UBSan, N seconds in all
# (default 60). Starts from the committed corpora; what it finds on the way stays in build/fuzz/. A crash, a hang over 20 s or
# more than 2 GB is a failure; the input that did it is kept and named.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=60 readers=() only_check=
if [ "${1:-}" = --check ]; then only_check=1; shift; fi  # says what is wrong with the options, before minutes of building
while [ $# -gt 0 ]; do
  case "$1" in
    --seconds) [[ "${2:-}" =~ ^[0-9]+$ ]] || { echo "fuzz: --seconds: expected a whole number, found \"${2:-}\"" >&2; exit 2; }; seconds=$2; shift 2 ;;
    -h|--help) sed -n '2,4s/^# //p' "$0"; exit 0 ;;
    -*) echo "fuzz: unknown option $1" >&2; exit 2 ;;
    *) readers+=("$1"); shift ;;
  esac
done
[ ${#readers[@]} -gt 0 ] || readers=($(ls tests/fuzz/corpus))
for reader in "${readers[@]}"; do
  [ -d "tests/fuzz/corpus/$reader" ] || { echo "fuzz: no reader \"$reader\"; there are: $(ls tests/fuzz/corpus | tr '\n' ' ')" >&2; exit 2; }
done
[ -z "$only_check" ] || exit 0
share=$((seconds / ${#readers[@]})); [ "$share" -ge 1 ] || share=1
failed=0
for reader in "${readers[@]}"; do
  mkdir -p "build/fuzz/found/$reader" "build/fuzz/crashes"
  log="build/fuzz/$reader.log"
  # Where memory was asked for is not remembered, which is half of the time; the input that is kept shows it again without.
  if ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:malloc_context_size=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
     build/fuzz/sightline_fuzz --reader="$reader" -seed=1 -max_total_time="$share" -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
       -print_final_stats=1 -artifact_prefix="build/fuzz/crashes/$reader-" "build/fuzz/found/$reader" "tests/fuzz/corpus/$reader" >"$log" 2>&1; then
    echo "$reader: $(sed -n 's/.*number_of_executed_units: *//p' "$log") inputs, nothing found"
  else
    echo "$reader: FAILED"; grep -E 'ERROR|runtime error|SUMMARY|Test unit written' "$log" | head -5 || tail -5 "$log"; failed=1
  fi
done
exit $failed
