#!/usr/bin/env bash
# What is to be published, tried out: the sdist builds the same wheel, every extra resolves, and the wheel works on each Python
# that can be had. Prints a line for each; exit code 1 where something does not hold.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$PWD/.venv/bin/uv
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
PATH=$PATH$(printf ':%s' "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin) # where uv does not look by itself
failed=0

scripts/build_devtools
"$uv" build --quiet --wheel --out-dir "$place/direct"
"$uv" build --quiet --out-dir "$place/dist" # the sdist, and from it the wheel
wheel=$(echo "$place"/dist/*.whl)
.venv/bin/python - "$place"/direct/*.whl "$wheel" <<'PYTHON' || failed=1
import sys, zipfile

held = [{each.filename: each.CRC for each in zipfile.ZipFile(path).infolist()} for path in sys.argv[1:]]
different = sorted(name for name in held[0].keys() | held[1].keys() if held[0].get(name) != held[1].get(name))
page = "loopwright/server/static/index.html"
print(f"sdist: {'another wheel: ' + ', '.join(different[:5]) if different else 'the same wheel'}, {len(held[1])} files")
sys.exit(bool(different) or page not in held[1])
PYTHON

extras=$(sed -n '/^\[project.optional-dependencies\]/,/^\[/s/^\([a-z-]*\) = .*/\1/p' pyproject.toml)
for python in 3.11 3.14; do
  for extra in $extras; do
    echo "loopwright[$extra] @ file://$wheel" >"$place/wanted.txt"
    if ! "$uv" pip compile --quiet --only-binary :all: --python-version $python "$place/wanted.txt" >/dev/null 2>"$place/log"; then
      echo "extra $extra on Python $python does not resolve: $(tail -1 "$place/log")"
      failed=1
    fi
  done
  echo "extras on Python $python: $(wc -w <<<"$extras") tried, with built packages alone"
done

# With nothing installed; the wheel's folder stands for the index on which it will be.
uvx=("$uv" tool run --isolated --quiet --find-links "$place/dist" --constraints requirements.lock --from "loopwright[iqa]")
if "${uvx[@]}" loopwright iqa assess src/loopwright/workflows/iqa/data/sample/harbour.png >"$place/log" 2>&1; then
  echo "uvx: works"
else
  echo "uvx: does not work: $(tail -3 "$place/log")"
  failed=1
fi

cp examples/agent.py "$place/agent.py"
for python in 3.11 3.12 3.13 3.14; do
  if ! "$uv" python find --quiet $python >/dev/null 2>&1 && ! "$uv" python install --quiet $python 2>/dev/null; then
    echo "Python $python: not tested, it cannot be had here"
    continue
  fi
  status=0
  (
    cd "$place"
    env="$place/env-$python"
    "$uv" venv --quiet --python $python "$env"
    "$uv" pip install --quiet --python "$env/bin/python" "loopwright[assistant,iqa,mcp,otel,rag,server] @ file://$wheel"
    "$env/bin/python" agent.py
    ("$env/bin/loopwright" check agent.py || test $? = 1)
    rm -rf notes knowledge.db
    "$env/bin/loopwright" rag sample notes
    "$env/bin/loopwright" rag ingest notes
    "$env/bin/loopwright" rag ask "Who designed the Stillwater Bridge?" | grep "Odile Varga"
    "$env/bin/loopwright" assistant ask "Which keynotes are there?" | grep "sessions:1007"
  ) >"$place/log" 2>&1 || status=$?
  if [ $status = 0 ]; then
    echo "Python $python: works"
  else
    echo "Python $python: does not work: $(tail -3 "$place/log")"
    failed=1
  fi
done
exit $failed
