#!/usr/bin/env bash
# Makes an environment with Ray outside the checkout, for the tests of `iqa batch --engine ray`: what Ray brings shall
# not be there for the other tests. Usage: scripts/setup_ray.sh
set -euo pipefail
cd "$(dirname "$0")/.."

uv=$PWD/.venv/bin/uv
[ -x "$uv" ] || { echo "$uv is not here (run ./test first)" >&2; exit 1; }
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}" UV_FIND_LINKS="${UV_FIND_LINKS:-${PIP_FIND_LINKS:-}}"
place=${XDG_CACHE_HOME:-$HOME/.cache}/loopwright/ray
[ -x "$place/bin/python" ] || "$uv" venv --quiet --python .venv/bin/python "$place"
"$uv" pip install --quiet --python "$place/bin/python" --constraint requirements.lock ray==2.60.0 --editable '.[ray]'
echo "$place/bin/python"
