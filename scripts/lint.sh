#!/usr/bin/env bash
# ./do lint: rooms keep to their includes, files stay small, nothing is left open in the code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python3 scripts/check_rooms.py
long=$(git ls-files '*.cpp' '*.hpp' '*.py' | xargs wc -l | awk '$2 != "total" && $1 > 700 { print $2 ": " $1 " lines, at most 700" }')
[ -z "$long" ] || { echo "$long"; exit 1; }
if git grep -nIE '\b(TODO|FIXME|XXX)\b' -- '*.cpp' '*.hpp' '*.py' '*.sh' ':!scripts/lint.sh'; then exit 1; fi
echo "lint: nothing to complain about"
