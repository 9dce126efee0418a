"""What a budget of three means: the question of agent-budget-semantics, asked of us as of the others.

    python benchmarks/agent_budgets.py [--write]

A mock model asks for a tool nine times and then answers; its ledger says what was really asked of it. The server and
the runners of the other frameworks are those of agent-budget-semantics (MIT), each in an environment of its own with
the versions that it pins (made once, in the user's cache folder); ours is ``benchmarks/peers/budget_of_three.py``.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from common import arguments, finish, machine
from peers import WORKERS, Package, Unmeasured, environment, last_line

TITLE = "What a budget of three means"
BUDGET = 3
SUITE = Package("agent-budget-semantics", "0.5.0", "-", "MIT")
_WITH = f"{SUITE.name}=={SUITE.version}"
PEERS = {
    "openai_agents": Package("openai-agents", "0.22.0", "-", "MIT", (_WITH,)),
    "langgraph": Package("langgraph", "1.2.11", "-", "MIT", (_WITH, "langgraph-prebuilt", "langchain-openai")),
    "llamaindex": Package("llama-index-core", "0.14.24", "-", "MIT", (_WITH, "llama-index-llms-openai==0.7.10")),
    "semantic_kernel": Package("semantic-kernel", "1.44.1", "-", "MIT", (_WITH,)),
    "autogen": Package("autogen-agentchat", "0.4.7", "-", "MIT", (_WITH, "autogen-ext[openai]==0.4.7")),
    "agno": Package("agno", "1.2.5", "-", "MPL-2.0", (_WITH, "openai")),
    "crewai": Package("crewai", "1.15.16", "-", "MIT", (_WITH,)),
}
"""Runner -> what it needs, at the versions that the suite pins."""
OURS = {
    "bounded": "bounded(limit=3)",
    "middleware": "LoopMiddleware(limit=3)",
    "model-calls": "Budget(model_calls=3, reserve=0)",
}
"""Variant -> its parameter."""

CITIES = ["Seattle", "Portland", "San Francisco", "Los Angeles", "Denver", "Chicago", "New York", "Boston", "Miami"]


def script() -> list[dict[str, Any]]:
    """Nine requests for a tool, each with another argument, and an answer."""
    asks = [
        {"content": None, "prompt_tokens": 100 + 50 * place, "completion_tokens": 25, "finish_reason": "tool_calls",
         "tool_calls": [{"id": f"call_{place}", "type": "function",
                         "function": {"name": "get_weather", "arguments": json.dumps({"city": city})}}]}
        for place, city in enumerate(CITIES)
    ]  # fmt: skip
    return [*asks, {"content": "It is sunny.", "prompt_tokens": 550, "completion_tokens": 30, "finish_reason": "stop"}]


@contextmanager
def mock_model() -> Iterator[str]:
    """The suite's server, with our script, on a port of its own.

    Raises:
        Unmeasured: If it does not answer.
    """
    python = environment(SUITE)
    (server,) = python.parents[1].glob("lib/python*/site-packages/mock-llm/server.py")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump({"name": "nine", "script": script()}, file)
        file.flush()
        process = subprocess.Popen(
            [str(python), str(server), f"--port={port}", f"--script={file.name}"], stdout=subprocess.DEVNULL
        )
        url = f"http://127.0.0.1:{port}"
        try:
            for _ in range(100):
                try:
                    fetched(f"{url}/health")
                    break
                except urllib.error.URLError:
                    time.sleep(0.1)
            else:
                raise Unmeasured("the mock model does not answer")
            yield url
        finally:
            process.kill()
            process.wait()


def fetched(url: str) -> Any:
    """An answer of the server's."""
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)


def row(what: str) -> str:
    """One variant against a fresh server.

    Raises:
        Unmeasured: If it could not be run.
    """
    package = PEERS.get(what)
    python = str(environment(package)) if package else sys.executable
    quiet = {"LANGSMITH_TRACING": "false", "CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true",
             "OPENAI_API_KEY": "mock-key", "OPENAI_AGENTS_DISABLE_TRACING": "1"}  # fmt: skip
    with mock_model() as url:
        done = subprocess.run(
            [python, str(WORKERS / "budget_of_three.py"), what, url, str(BUDGET)],
            capture_output=True, text=True, timeout=300, check=False, env=os.environ | quiet, cwd=tempfile.gettempdir(),
        )  # fmt: skip
        if done.returncode:
            raise Unmeasured(last_line(done.stderr))
        told = json.loads(last_line_of(done.stdout))
        ledger = fetched(f"{url}/ledger")["entries"]
    if not ledger:
        raise Unmeasured(told["ended"])
    name, number = (package.name, package.version) if package else ("loopwright", version("loopwright"))
    parameter = f"{told['parameter']}={BUDGET}" if package else OURS[what]
    tokens = sum(entry["total_tokens"] for entry in ledger)
    return f"| {name} {number} | `{parameter}` | {len(ledger)} | {told['tools']} | {tokens:,} | {told['ended']} |"


def last_line_of(text: str) -> str:
    """The worker's answer, whatever its framework printed before."""
    return text.strip().splitlines()[-1]


def report() -> str:
    """Ask each once (it is no measurement of time), and show the answers as Markdown."""
    rows = ["| framework | parameter | model calls | tools run | tokens | how it ends |", "|---|---|---|---|---|---|"]
    missing: list[str] = []
    for what in [*OURS, *PEERS]:
        try:
            rows.append(row(what))
        except (Unmeasured, subprocess.TimeoutExpired) as reason:
            missing.append(f"- not measured: {what}: {reason}")
    about = (
        "The mock model asks for a tool nine times and then answers. Model calls and tokens are those of its ledger; "
        f"how the others end is what their runners in {SUITE.name} {SUITE.version} say. The mock ignores "
        "`tool_choice`, by which agno asks a model to stop, so agno's limit does not hold here. The others' versions "
        "are those that the suite pins, some of them old (AutoGen 0.4.7, agno 1.2.5): newer ones may behave otherwise. "
        f"`reserve=0` gives all three calls to the agent; by default one of them is kept for the fallback. {machine()}."
    )
    return "\n".join([*rows, "", *missing, *([""] if missing else []), about])


if __name__ == "__main__":
    finish(TITLE, report(), arguments(__doc__).parse_args().write)
