#!/usr/bin/env bash
# Runs the engine's tests against every supported LangGraph, each in an environment of its own outside the checkout.
# Usage: scripts/test_versions.sh [VERSION ...]; without versions, those below. Prints one line for each, and what failed.
set -euo pipefail
cd "$(dirname "$0")/.."

# Oldest, previous, newest. The one place that names them; tests/versions compares it with pyproject.toml and the pins.
supported=(1.2.18 1.2.22 1.2.24)
tests=(tests/unit/engine tests/property tests/contract tests/cli tests/versions)

[ $# -eq 0 ] || supported=("$@")
uv=$PWD/.venv/bin/uv
if [ ! -x "$uv" ]; then
  echo "LangGraph versions: none was tested, .venv/bin/uv is not here (run ./test first)" >&2
  exit 1
fi
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/loopwright/versions
mkdir -p "$cache"

# Our pins, but for LangGraph and LangChain: those fit one version of LangGraph, so the resolver chooses.
wanted=$(sed -E 's/^((langgraph|langchain)[a-z-]*)==[^ ]+/\1/' requirements.lock)

# Makes a version's environment, or takes the one that is there if it was made from the same pins.
prepare() {
  local version=$1 place=$2
  [ -x "$place/bin/python" ] && [ "$(cat "$place/wanted.txt" 2>/dev/null)" = "$wanted" ] || {
    "$uv" venv --quiet --clear --python .venv/bin/python "$place" || return
    "$uv" pip install --quiet --python "$place/bin/python" "langgraph==$version" -r - <<<"$wanted" || return
  }
  "$uv" pip install --quiet --python "$place/bin/python" --no-deps --editable . || return
  echo "$wanted" >"$place/wanted.txt"
}

failed=0
for version in "${supported[@]}"; do
  place=$cache/langgraph-$version log=$cache/langgraph-$version.log
  if ! prepare "$version" "$place" >"$log" 2>&1; then
    echo "LangGraph $version: NOT TESTED, it could not be installed: $(grep -v '^ *$' "$log" | tail -1)"
    failed=1
    continue
  fi
  found=$("$place/bin/python" -c 'from importlib.metadata import version; print(version("langgraph"))')
  status=0
  "$place/bin/python" -m pytest -q -m "not slow" -n auto --dist loadfile "${tests[@]}" >"$log" 2>&1 || status=$?
  echo "LangGraph $found: $(tail -1 "$log")"
  if [ $status -ne 0 ]; then
    failed=1
    grep -E '^(FAILED|ERROR) ' "$log" | sed 's/^/  /' || tail -20 "$log" | sed 's/^/  /'
    echo "  the whole output is in $log"
  fi
done
exit $failed
