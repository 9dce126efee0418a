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
  # uv installs the same pins several times faster than pip; where it cannot be had or cannot connect, pip does.
  export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}"
  pip=(.venv/bin/python -m pip --disable-pip-version-check)
  if ! { "${pip[@]}" install --quiet uv && .venv/bin/uv pip install --quiet --python .venv/bin/python -r requirements.lock; }; then
    echo "uv did not work here; installing with pip, which takes longer ..." >&2
    "${pip[@]}" install --quiet -r requirements.lock
  fi
  "${pip[@]}" install --quiet --no-deps -e .
  echo "$wanted" >"$stamp"
fi

# Compiled modules are kept in .venv, also where the environment forbids keeping them beside their sources: to compile
# anew is a third of the start of each of the many processes of the tests, and two thirds of collecting the tests.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$PWD/.venv/pycache
# What was compiled for folders of earlier tests is of no more use.
rm -rf "$PYTHONPYCACHEPREFIX${TMPDIR:-/tmp}"/pytest-of-*
