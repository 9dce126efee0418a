#!/usr/bin/env bash
# Installs a wheel into an empty environment outside the repository, and runs the commands that a user would try first.
set -euo pipefail
wheel=$(realpath "$1")
uv=$(realpath .venv/bin/uv)
lock=$(realpath requirements.lock)
site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
place=$(mktemp -d)
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX="${PYTHONPYCACHEPREFIX:-$PWD/.venv/pycache}"
# What was compiled of a package for .venv holds for the same files here; what was not would be compiled again for each.
compiled=$PYTHONPYCACHEPREFIX$place/env/lib/$(basename "$(dirname "$site")")
mkdir -p "$compiled" "$PYTHONPYCACHEPREFIX$site"
ln -s "$PYTHONPYCACHEPREFIX$site" "$compiled/site-packages"
trap 'rm -rf "$place" "$PYTHONPYCACHEPREFIX$place"' EXIT
cd "$place"
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}"
"$uv" venv --quiet env
"$uv" pip install --quiet --python env/bin/python -c "$lock" "loopwright[assistant,diagram,iqa,server] @ file://$wheel"
env/bin/loopwright graph show iqa --format png --out graph.png
cat >run.py <<'PYTHON'
from langgraph.graph import START, MessagesState, StateGraph
from loopwright import bounded, open_checkpointer

graph = StateGraph(MessagesState)
graph.add_node("again", lambda state: {"messages": [("ai", "no")]})
graph.add_edge(START, "again")
graph.add_edge("again", "again")
with open_checkpointer("sqlite:runs.db") as saver:
    bounded(graph, limit=2, checkpointer=saver).invoke({}, {"configurable": {"thread_id": "one"}})
PYTHON
env/bin/python run.py
sed -n '1,/add_edge("again"/p' run.py >loose.py
echo "app = graph.compile()" >>loose.py
# As a stranger does, with nothing installed; the wheel's folder stands for the index on which it will be.
uvx=("$uv" tool run --isolated --quiet --find-links "$(dirname "$wheel")" --constraints "$lock")
("${uvx[@]}" loopwright check loose.py || test $? = 1) | grep "^unbounded loose.py" >/dev/null
env/bin/loopwright iqa assess "$site/skimage/data/coffee.png" | grep "path: planner > executor > summarizer" >/dev/null
env/bin/loopwright assistant ask "Which keynotes are there?" --json | grep '"sessions:' >/dev/null

env/bin/loopwright serve --port 0 --data served >served.log 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true; rm -rf "$place" "$PYTHONPYCACHEPREFIX$place"' EXIT
cat >ask.py <<'PYTHON'
import json
import re
import sys
import time
import urllib.request
from pathlib import Path

deadline = time.monotonic() + 120


def until(found, missing):
    while not (value := found()):
        if time.monotonic() > deadline:
            sys.exit(f"{missing}; the server's log:\n{Path('served.log').read_text()}")
        time.sleep(0.2)
    return value


def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return reply.read().decode()


listening = until(lambda: re.search(r"listening on (\S+);", Path("served.log").read_text()), "the server does not start")
address = listening[1]
assets = re.findall(r'(?:src|href)="\./(assets/[^"]+)"', ask("/"))
assert assets, "the wheel holds no page: build it before the wheel"
assert all(ask(f"/{asset}") for asset in assets)
assert {"assistant", "iqa"} <= {each["name"] for each in json.loads(ask("/workflows"))}
run = json.loads(ask("/runs", {"workflow": "assistant", "input": {"message": "Which keynotes are there?"}}))
ended = until(lambda: (now := json.loads(ask(f"/runs/{run['id']}")))["status"] not in ("queued", "running") and now, "the run does not end")
assert ended["status"] == "finished" and ended["outcome"]["answer"], ended
PYTHON
env/bin/python ask.py
kill $server
wait $server || test $? = 143

echo "the wheel works outside the repository"
