"""What the four files of the tutorial print: what happens today, what is known before a run, and the run."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from langgraph.errors import GraphRecursionError

from loopwright import BoundedGraph


def show_parts(parts: Mapping[str, Callable[[], None]]) -> None:
    """Run the part that the command line names; all of them without a name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="?", choices=[*parts])
    chosen = parser.parse_args().part
    for part in [chosen] if chosen else parts:
        parts[part]()


def show_today(app: Any, given: dict[str, Any], steps: int = 50) -> None:
    """Run a plain LangGraph graph, and show what its user gets."""
    runs: Counter[str] = Counter()
    try:
        for update in app.stream(given, {"recursion_limit": steps}, stream_mode="updates"):
            runs.update(update.keys())
    except GraphRecursionError as error:
        print(f"{type(error).__name__} after {steps} supersteps, no answer; {_listed(runs)}")


def show_certificate(app: BoundedGraph) -> None:
    """Show what is known before a run."""
    worst = app.certificate
    calls = "" if worst.max_model_calls is None else f", {worst.max_model_calls} model calls"
    print(f"before: at most {worst.max_supersteps} supersteps{calls}; {_listed(worst.max_runs_by_node)}")


def show_run(app: BoundedGraph, given: dict[str, Any], answer: Callable[[dict[str, Any]], str]) -> None:
    """Run a bounded graph; show how often each node ran, what stopped it, and the answer."""
    runs: Counter[str] = Counter()
    final: dict[str, Any] = {}
    for mode, chunk in app.stream(given, stream_mode=["updates", "values"]):
        if mode == "updates":
            runs.update(chunk.keys())
        else:
            final = chunk
    print(f"ran:    {_listed(runs)}")
    if stop := final.get("stop_reason"):
        rule = f" ({stop['rule']})" if "rule" in stop else ""
        print(f"stop:   {stop['loop']} {stop['outcome']}{rule}, {stop['spent']} of {stop['limit']}")
    print(f"answer: {answer(final)}")


def _listed(runs: Mapping[str, int | None]) -> str:
    """How often each node ran, without the gates."""
    written = {node: "?" if number is None else number for node, number in runs.items() if not node.startswith("loop.")}
    return ", ".join(f"{node} {number}" for node, number in written.items())
