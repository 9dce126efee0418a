#!/usr/bin/env bash
# Makes an environment with pyiqa and a CPU build of PyTorch outside the checkout, for the tests of the extra iqa-deep.
# pyiqa is under PolyForm Noncommercial 1.0.0: run this only where that is all right. Usage: scripts/setup_deep.sh
set -euo pipefail
cd "$(dirname "$0")/.."

# torchvision 0.28 is the one for this PyTorch. A CPU build of PyTorch is taken from where pip is told to look.
wanted=("torch==2.13.0" "torchvision==0.28.0" "pyiqa==0.1.16")

uv=$PWD/.venv/bin/uv
[ -x "$uv" ] || { echo "$uv is not here (run ./test first)" >&2; exit 1; }
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}" UV_FIND_LINKS="${UV_FIND_LINKS:-${PIP_FIND_LINKS:-}}"
place=${XDG_CACHE_HOME:-$HOME/.cache}/loopwright/deep
if [ "$(cat "$place/wanted.txt" 2>/dev/null)" != "${wanted[*]}" ]; then
  "$uv" venv --quiet --clear --python .venv/bin/python "$place"
  "$uv" pip install --quiet --python "$place/bin/python" "${wanted[@]}" --editable '.[iqa]'
  if ! "$place/bin/python" -c 'import torchvision' 2>/dev/null; then
    # torchvision's wheel is built for another PyTorch, so its compiled operators cannot be loaded; no metric calls them.
    site=$("$place/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    cp scripts/declare_torchvision_operators.py "$site/"
    echo "import declare_torchvision_operators" >"$site/declare_torchvision_operators.pth"
    "$place/bin/python" -c 'import torchvision'
  fi
  echo "${wanted[*]}" >"$place/wanted.txt"
fi
"$uv" pip install --quiet --python "$place/bin/python" --no-deps --editable .
echo "$place/bin/python"
