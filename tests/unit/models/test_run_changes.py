"""One run's other models and prompts: seen in its own context, in no other, and by name alone."""

from __future__ import annotations

import asyncio

import pytest

from loopwright.errors import ConfigError, ModelError
from loopwright.models import ModelRegistry, Prompt, PromptLibrary, allow_model_requests
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


def test_a_changed_default_serves_only_nodes_without_an_entry():
    own, default, changed = always("own"), always("default"), always("changed", model_name="changed")
    registry = ModelRegistry({"planner": own, "default": default})
    model_changes.set({"default": changed})
    assert registry.chat("planner") is own
    assert registry.chat("summarizer") is changed
    assert registry.describe() == {"planner": "scripted", "default": "changed"}


def test_a_name_in_the_configuration_means_the_configured_model():
    ready = always("ready", model_name="house-model")
    local = {"model": "openai:qwen", "base_url": "http://127.0.0.1:9/v1", "api_key": "k"}
    registry = ModelRegistry({"a": {"model": "ollama:small", "fallback": [local]}, "b": ready, "c": None})
    model_changes.set({"c": "openai:qwen", "a": "house-model"})
    assert registry.chat("a") is ready
    assert registry.models_of("c") == ("openai:qwen",)
    with allow_model_requests():
        model = registry.chat("c")
        assert registry.chat("c") is model
    assert str(model.openai_api_base) == "http://127.0.0.1:9/v1"


def test_a_changed_model_is_made_once_for_all_runs_that_ask_for_it():
    registry = ModelRegistry({"default": None})
    spec = {"model": "openai:qwen", "base_url": "http://127.0.0.1:9/v1", "api_key": "k"}
    with allow_model_requests():
        model_changes.set({"planner": dict(spec)})
        first = registry.chat("planner")
        model_changes.set({"grader": dict(spec)})
        assert registry.chat("grader") is first
        model_changes.set({"grader": {**spec, "temperature": 0.7}})
        assert registry.chat("grader") is not first


def test_wrong_changes_are_told():
    registry = ModelRegistry({"default": None})
    model_changes.set({"planner": "no-provider"})
    with pytest.raises(ConfigError, match="provider:name"):
        registry.chat("planner")
    model_changes.set({"planner": "nobody:model"})
    with allow_model_requests(), pytest.raises(ModelError):
        registry.chat("planner")


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
