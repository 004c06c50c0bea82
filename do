#!/usr/bin/env bash
# The one command of the project: installs what is missing, builds, runs. `./do help` lists what it can do.
set -euo pipefail
from=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")"

say() { printf '%s\n' "$*" >&2; }
die() { say "do: $*"; exit 2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else die "installing packages needs root or sudo: $*"; fi
}

# Installs the packages that the named lists in scripts/packages/ hold and this machine lacks.
need() {
  local list package missing=()
  for list in "$@"; do
    while read -r package; do
      case "$package" in ''|'#'*) continue ;; esac
      dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
    done < "scripts/packages/$list.txt"
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "installing: ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/tmp/sightline-apt.log 2>&1 ||
    { as_root apt-get update -qq >/dev/null && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/tmp/sightline-apt.log 2>&1; } ||
    { tail -n 5 /tmp/sightline-apt.log >&2; die "apt-get could not install: ${missing[*]}"; }
}

# configure PRESET [cmake options]: only when something could have changed.
configure() {
  local preset=$1; shift
  cmake --preset "$preset" "$@" >"build/$preset.configure.log" 2>&1 || { cat "build/$preset.configure.log" >&2; die "configuring $preset failed"; }
}

compile() { cmake --build --preset "$1" "${@:2}" >"build/$1.build.log" 2>&1 || { grep -E 'error|FAILED' -A3 "build/$1.build.log" | head -60 >&2; die "building $1 failed (build/$1.build.log)"; }; }

build_command() {
  need build
  mkdir -p build
  [ -f build/release/build.ninja ] || configure release
  compile release --target sightline_command
}

build_training() {
  need build train
  mkdir -p build
  configure release -DSIGHTLINE_TRAIN=ON
  compile release --target sightline_command sightline_train_command
}

# The command itself, where it was called from: that is what the names of files mean.
sightline() {
  local root=$PWD
  cd "$from"
  exec "$root/build/release/sightline" "$@"
}

command=${1:-help}
[ $# -gt 0 ] && shift
case "$command" in
  setup)    need build test train; say "everything is installed" ;;
  build)    build_command; say "build/release/sightline" ;;
  certify|design|diff|check|import|explain|pattern|kernel|falsify|rules|target) build_command; sightline "$command" "$@" ;;
  rate|approximate) # some of it is training
    case " $* " in *" mlp "*|*"=mlp "*|*" --verify "*) build_training ;; *) build_command ;; esac
    sightline "$command" "$@" ;;
  train|predict|evaluate|compare) build_training; sightline "$command" "$@" ;;
  example)
    name=${1:-}
    [ $# -gt 0 ] && shift
    [ -f "examples/$name/run.py" ] || die "there is no example \"$name\" ($(cd examples && ls -d */run.py | sed 's,/run.py,,' | paste -sd' '))"
    build_training; exec python3 "examples/$name/run.py" "$@" ;;
  experiment)
    name=${1:-}
    [ $# -gt 0 ] && shift
    case "$name" in # in the order of docs/experiments; the last ones train
      rates) script=rates/run.py ;;
      sumformer-growth) script=sumformer/growth.py ;;
      sumformer-attention) script=sumformer/attention.py ;;
      rates-trained) script=rates/trained.py ;;
      digits-heads) script=rates/digits_heads.py ;;
      rnn|graph|gravity|sumformer|open-questions)
        case "$name" in rnn) script=rates/rnn.py ;; open-questions) script=open/run.py ;; *) script=$name/run.py ;; esac ;;
      *) die "there is no experiment \"$name\" (rates, sumformer-growth, sumformer-attention, sumformer, rates-trained, rnn, digits-heads, graph, gravity, open-questions)" ;;
    esac
    need test
    case "$name" in rates|sumformer-growth|sumformer-attention) build_command ;; *) build_training ;; esac
    exec python3 "experiments/$script" build/release/sightline "$@" ;;
  test)     need build test train; mkdir -p build; exec scripts/test.sh "$@" ;;
  fuzz)
    case " $* " in *" --help "*|*" -h "*) exec scripts/fuzz.sh --help ;; esac
    scripts/fuzz.sh --check "$@" || exit $?
    need build fuzz; mkdir -p build; configure fuzz; compile fuzz --target sightline_fuzz; exec scripts/fuzz.sh "$@" ;;
  bench)
    name=${1:-certify}
    [ $# -gt 0 ] && shift
    if [ "$name" = floors ]; then need test; build_training; exec python3 experiments/floors/run.py "$@"; fi
    case "$name" in rates|sumformer-growth) exec ./do experiment "$name" "$@" ;; esac
    if [ "$name" = certificates ]; then build_command; exec python3 benchmarks/certificates.py build/release/sightline "$@"; fi
    if [ "$name" = random-patterns ]; then build_command; exec python3 benchmarks/experiments/random_patterns.py build/release/sightline "$@"; fi
    case "$name" in certify|growth|design|approximate|mixer) ;; *) die "there is no benchmark \"$name\" (approximate, certificates, certify, design, floors, growth, mixer, random-patterns, rates, sumformer-growth)" ;; esac
    need build bench; mkdir -p build/bench
    configure release -DSIGHTLINE_BENCHMARKS=ON
    compile release --target sightline_command "bench_$name"
    if [ "$name" = mixer ]; then exec python3 benchmarks/mixer.py "$@"; fi  # asks bench_mixer, and PyTorch beside it
    exec "build/release/benchmarks/bench_$name" "$@" ;;
  lint)     need lint; exec scripts/lint.sh "$@" ;;
  format)   need lint; git ls-files '*.cpp' '*.hpp' | xargs clang-format-14 -i ;;
  help|--help|-h)
    cat <<'TEXT'
./do certify FILE...   say what an architecture can and cannot express (options: ./do certify --help)
./do check CERT...      confirm a certificate (certify --save), claim by claim, without search
./do design --symmetry GROUP   the cheapest attention with exactly that symmetry
./do diff A B          do two architectures or masks express the same?
./do import CONFIG     turn a Hugging Face config.json into an architecture file
./do explain FILE --token I   who sees a token, whom it sees, and when
./do pattern FILE      draw who reads whom in one layer
./do kernel EXPR       decide condition (13) for an attention kernel
./do falsify expr:KERNEL|lib:FILE.so   try one mixing layer on pairs that are hard to tell apart
./do target FILE --samples N --out F.npz   samples of the target that stays out of reach
./do approximate TARGET   fit a polynomial Sumformer to an expression, a shared library or data
./do rate expr:SCORE   singular values of an attention score, and the head dimension it needs
./do train FILE --data D --out RUN   train a network with an architecture (installs LibTorch)
./do predict RUN --data D --out P.npz | ./do evaluate RUN --data D   what it says about data, and how good that is
./do compare TARGET --budget FLOPS   attention and Sumformers of the same cost side by side
./do rules             what the answers rest on: every rule, its premises, its proof, its cases
./do test [--all] [--sanitize] [NAME...]   run the tests; --all adds the slow sweeps
./do fuzz [--seconds N] [READER...]   run every reader on damaged input under the sanitizers
./do bench certify [--quick] [--only TEXT] | growth | design [--quick]   measure, beside nauty, bliss and GAP; writes build/bench/NAME.json
./do bench certificates [--only TEXT] [--sizes 10,12,..] [--docs]   time, memory and size of certificates up to 2^20 tokens
./do bench approximate [--quick]   a polynomial Sumformer beside LAPACK
./do bench mixer [--quick] [--only TEXT]   token mixers beside PyTorch, the FMA peak and the memory bandwidth
./do bench rates | sumformer-growth [--quick]   what truncated scores and growing Sumformers cost (docs/experiments)
./do experiment sumformer | sumformer-attention | rates-trained | rnn | digits-heads | graph | gravity | open-questions [--quick]   what training finds (docs/experiments)
./do bench random-patterns   the experiment in docs/experiments
./do bench floors [--quick]  the floors of the theory seen in training (docs/experiments/floors.md)
./do example digits|ring     real tasks, start to end (docs/examples.md)
./do build | setup | lint | format
TEXT
    ;;
  *) die "unknown command \"$command\" (./do help lists them)" ;;
esac
