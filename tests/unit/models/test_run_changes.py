"""One run's other models and prompts: seen in its own context, in no other, and by name alone."""

from __future__ import annotations

import asyncio

import pytest

from loopwright.models import ModelRegistry, Prompt, PromptLibrary
from loopwright.models.changes import model_changes, prompt_changes, prompt_in_use
from loopwright.testing import always


@pytest.fixture(autouse=True)
def own_context():
    """Leave no changes behind for other tests."""
    tokens = model_changes.set(None), prompt_changes.set(None), prompt_in_use.set(None)
    yield
    model_changes.reset(tokens[0])
    prompt_changes.reset(tokens[1])
    prompt_in_use.reset(tokens[2])


@pytest.fixture
def library():
    return PromptLibrary([Prompt("plan", 1, "one"), Prompt("plan", 2, "two"), Prompt("judge", 1, "judge")])


async def test_runs_at_the_same_time_do_not_see_each_other(library):
    registry = ModelRegistry({"default": None})
    models = {name: always(name) for name in "abc"}
    gate = asyncio.Barrier(3)

    async def a_run(name):
        model_changes.set({"planner": models[name]})
        prompt_changes.set({"plan": Prompt("plan", 0, f"draft of {name}")})
        await gate.wait()
        chosen = await asyncio.to_thread(registry.chat, "planner")
        text = library.get("plan").text
        await gate.wait()
        return chosen is models[name], text, prompt_in_use.get().text

    done = await asyncio.gather(*map(a_run, "abc"))
    assert done == [(True, f"draft of {name}", f"draft of {name}") for name in "abc"]
    assert registry.chat("planner") is None
    assert library.get("plan").version == 2
