#!/usr/bin/env bash
# Installs a wheel into an empty environment outside the repository, and runs the commands that a user would try first.
set -euo pipefail
wheel=$(realpath "$1")
uv=$(realpath .venv/bin/uv)
lock=$(realpath requirements.lock)
image=$(.venv/bin/python -c 'import skimage, pathlib; print(pathlib.Path(skimage.__file__).parent / "data" / "coffee.png")')
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
"$uv" venv --quiet env
"$uv" pip install --quiet --python env/bin/python -c "$lock" "loopwright[iqa] @ file://$wheel"
env/bin/loopwright --help >/dev/null
env/bin/loopwright iqa tools >/dev/null
env/bin/loopwright graph show iqa >/dev/null
env/bin/loopwright graph show iqa --format png --out graph.png
env/bin/loopwright check loopwright.workflows.iqa:build_graph >/dev/null
env/bin/loopwright iqa assess "$image" --json >answer.json
env/bin/python -c 'import json; assert json.load(open("answer.json"))["summarizer_result"]["final_answer"]'
echo "the wheel works outside the repository"
