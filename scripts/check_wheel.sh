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
"$uv" pip install --quiet --python env/bin/python -c "$lock" "loopwright[assistant,iqa] @ file://$wheel"
env/bin/loopwright --help >/dev/null
env/bin/loopwright iqa tools >/dev/null
env/bin/loopwright graph show iqa >/dev/null
env/bin/loopwright graph show iqa --format png --out graph.png
env/bin/loopwright check loopwright.workflows.iqa:build_graph >/dev/null
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
(env/bin/loopwright check run.py --format json || test $? = 1) >found.json
env/bin/loopwright check . --format sarif >/dev/null || test $? = 1
env/bin/loopwright checkpoints list sqlite:runs.db >/dev/null
env/bin/loopwright checkpoints show sqlite:runs.db one >/dev/null
env/bin/loopwright checkpoints diff sqlite:runs.db one 1 2 >/dev/null
env/bin/loopwright checkpoints prune sqlite:runs.db --keep 1 --yes >/dev/null
env/bin/loopwright iqa assess "$image" --json >answer.json
env/bin/python -c 'import json; assert json.load(open("answer.json"))["summarizer_result"]["final_answer"]'
env/bin/loopwright assistant ask "Which keynotes are there?" --json >chat.json
env/bin/python -c 'import json; assert json.load(open("chat.json"))["referenced_ids"]'
echo "the wheel works outside the repository"
