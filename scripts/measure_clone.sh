#!/usr/bin/env bash
# Time from `git clone` to the first printed verdict, package installation included. Run it on a bare Debian 12 machine (or
# container) with git: scripts/measure_clone.sh [REPOSITORY]
set -euo pipefail
source=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
start=$(date +%s)
git clone -q "$source" "$folder/sightline"
cloned=$(date +%s)
cd "$folder/sightline"
./do build
built=$(date +%s)
./do certify examples/longformer-base-4096.toml
end=$(date +%s)
echo "clone $((cloned - start)) s, packages and build $((built - cloned)) s, verdict $((end - built)) s, in all $((end - start)) s (goal: 180 s on two cores)"
