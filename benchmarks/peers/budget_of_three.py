"""Runs one agent against a model that asks for a tool nine times: ``budget_of_three.py WHAT URL BUDGET``.

WHAT is the name of a runner of agent-budget-semantics, or one of `OURS`. Answers with one line of JSON.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

SCENARIO = {"name": "a model that asks nine times", "tool_definitions": [{"name": "get_weather"}]}


def ours(wrapped: Callable[[Any, int], Any]) -> Callable[[str, int], dict[str, Any]]:
    """An agent of LangChain's, bounded in one of our ways."""

    def run(url: str, budget: int) -> dict[str, Any]:
        from langchain_openai import ChatOpenAI

        ran = 0

        def get_weather(city: str) -> str:
            """Get the weather of a city."""
            nonlocal ran
            ran += 1
            return "sunny; look at the next city too"

        model = ChatOpenAI(model="mock-budget-llm", base_url=f"{url}/v1", api_key="mock-key", disable_streaming=True)
        app = wrapped((model, [get_weather]), budget)
        final = app.invoke(
            {"messages": [("user", "How is the weather in various cities?")]}, {"configurable": {"thread_id": "1"}}
        )
        stop = final["stop_reason"]
        said = final["messages"][-1].text.splitlines()[0]
        return {"tools": ran, "ended": f"{stop['outcome']}: {stop['spent']:g} of {stop['limit']:g}; answers: {said}"}

    return run


def _bounded(agent: Any, budget: int) -> Any:
    from langchain.agents import create_agent

    from loopwright import bounded
    from loopwright.fallbacks import say_what_is_missing

    return bounded(create_agent(*agent), limit=budget, fallback=say_what_is_missing())


def _middleware(agent: Any, budget: int) -> Any:
    from langchain.agents import create_agent

    from loopwright.langchain import LoopMiddleware

    return create_agent(*agent, middleware=[LoopMiddleware(limit=budget)])


def _calls(agent: Any, budget: int) -> Any:
    from langchain.agents import create_agent

    from loopwright import Budget, bounded
    from loopwright.fallbacks import say_what_is_missing

    return bounded(
        create_agent(*agent), limit=50, fallback=say_what_is_missing(), budget=Budget(model_calls=budget, reserve=0)
    )


OURS = {"bounded": ours(_bounded), "middleware": ours(_middleware), "model-calls": ours(_calls)}


def theirs(name: str, url: str, budget: int) -> dict[str, Any]:
    """A framework, by the runner that agent-budget-semantics has for it."""
    result = asyncio.run(importlib.import_module(f"runners.runner_{name}").run(SCENARIO, url, budget))
    ended = result.stopped_by if not result.error else f"{result.stopped_by}: {result.error}"
    return {"tools": result.actual_tool_calls, "ended": " ".join(ended.split())[:120], "parameter": result.budget_param}


if __name__ == "__main__":
    what, url, budget = sys.argv[1], sys.argv[2], int(sys.argv[3])
    told = OURS[what](url, budget) if what in OURS else theirs(what, url, budget)
    print(json.dumps(told))
