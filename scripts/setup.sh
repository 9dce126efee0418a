# Makes the environment .venv from requirements.lock; sourced by ./run, ./test and .ci/run. Does nothing where it is up to date.
set -euo pipefail

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
  echo "Loopwright needs Python 3.11 or newer as python3; set PYTHON=/path/to/python to use another one." >&2
  exit 2
}
stamp=.venv/.loopwright-setup
wanted=$(cat requirements.lock pyproject.toml | "$python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())')
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
  echo "Preparing .venv (once, about a minute) ..." >&2
  [ -x .venv/bin/python ] || "$python" -m venv .venv
  # uv installs the same pins several times faster than pip; where it cannot be had, pip does.
  if .venv/bin/python -m pip install --quiet --disable-pip-version-check uv >&2; then
    .venv/bin/uv pip install --quiet --python .venv/bin/python -r requirements.lock
    .venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps -e .
  else
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
  fi
  echo "$wanted" >"$stamp"
fi
