"""Every key of the configuration changes something that can be seen; a key without a test here fails the last one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import skimage
from PIL import Image
from pydantic import BaseModel
from stages import START, Stages, configured

from loopwright.errors import ConfigError, ImageError, ModelError, NodeFailed, StructuredReplyError
from loopwright.models import with_fallback
from loopwright.testing import always
from loopwright.workflows.iqa import IQAConfig, Services, build_graph, run_pipeline
from loopwright.workflows.iqa.graph import node_policies
from loopwright.workflows.iqa.sources.images import load_image

PHOTOGRAPHS = Path(skimage.__file__).parent / "data"
COFFEE = PHOTOGRAPHS / "coffee.png"
EFFECTS: dict[str, Callable[..., None]] = {}
"""Key -> the test of its effect."""
IN_ACCEPTANCE = [
    *(f"langgraph.{key}" for key in ("max_iterations", "recursion_limit", "debug_mode", "log_dir")),
    *(f"langgraph.{key}" for key in ("save_graph_visualization", "graceful_errors", "continue_after_error")),
    "pipeline.max_retry_attempts",
    *(f"pipeline.timeout.{stage}" for stage in ("planner", "executor", "summarizer")),
]
"""Their effects are tested in tests/acceptance/test_langgraph_setup.py and test_replanning_logic.py."""


def effect(key: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a test as that of a key."""
    return lambda test: EFFECTS.setdefault(key, test)


def config(key: str, value: Any, **more: Any) -> IQAConfig:
    return configured(**{key.replace(".", "__"): value, **more})


def assess(settings: IQAConfig, *, query: str = "Rate it", image: Path = COFFEE, **options: Any) -> dict[str, Any]:
    return dict(run_pipeline(query, image, config=settings, **options))


def replans(settings: IQAConfig, **state: Any) -> int:
    """How many replans are granted to stages that always ask and vary their plans."""
    return Stages().graph(settings).invoke({**START, **state})["iteration_count"]


def evidence(settings: IQAConfig, tmp_path: Path) -> Any:
    """What is measured on a photograph beside a reference."""
    Image.fromarray(load_image(COFFEE).rgb[::-1]).save(tmp_path / "other.png")
    return assess(settings, reference_path=tmp_path / "other.png")["executor_evidence"]


@effect("pipeline.retry.initial_wait")
@effect("pipeline.retry.factor")
@effect("pipeline.retry.max_wait")
def test_the_waits_between_attempts():
    waits = {"pipeline__max_retry_attempts": 3, "pipeline__retry__initial_wait": 0.2, "pipeline__retry__factor": 4}
    policy = node_policies(configured(**waits, pipeline__retry__max_wait=3))["planner"]
    assert [policy.rules[0].wait(attempt) for attempt in (1, 2, 3)] == pytest.approx([0.2, 0.8, 3.0])


@pytest.mark.parametrize("on", [True, False])
@effect("pipeline.checkpoint.enable")
@effect("pipeline.checkpoint.save_dir")
def test_checkpoints(tmp_path, on):
    assess(config("pipeline.checkpoint.enable", on, pipeline__checkpoint__save_dir=tmp_path / "kept"), sample_id="cup")
    assert len(list(tmp_path.glob("kept/*_cup.json"))) == on


@effect("iqa.max_replan_iterations")
def test_max_replan_iterations():
    assert replans(config("iqa.max_replan_iterations", 3)) == 3
    assert replans(config("iqa.max_replan_iterations", 0)) == 0
    assert replans(configured()) == 2


@pytest.mark.parametrize("limit", [1, pytest.param(3, marks=pytest.mark.slow)])
@effect("iqa.tools.limit")
def test_tool_limit(tmp_path, limit):
    assert len(evidence(config("iqa.tools.limit", limit), tmp_path).selected_tools) == limit


@effect("iqa.tools.timeout")
def test_tool_timeout():
    late = assess(config("iqa.tools.timeout", 1e-4))["executor_evidence"].tool_logs
    assert "no result within 0.0001 s" in late[0].error
    assert assess(configured())["executor_evidence"].tool_logs[0].error is None


@effect("iqa.tools.max_pixels")
def test_max_pixels():
    with pytest.raises(NodeFailed, match="limit of 1,000") as caught:
        assess(config("iqa.tools.max_pixels", 1000))
    assert isinstance(caught.value.__cause__, ImageError)


@pytest.mark.parametrize("repairs", [0, 2])
@effect("iqa.repairs")
def test_repairs(repairs):
    model = always("no JSON at all")
    services = Services(config("iqa.repairs", repairs))
    services.models.assign("summarizer", model)
    with pytest.raises(NodeFailed) as caught:
        run_pipeline("Rate it", COFFEE, services=services)
    assert isinstance(caught.value.__cause__, StructuredReplyError)
    assert len(model.calls) == repairs + 1


@effect("models")
def test_models(monkeypatch):
    """The named provider is asked for, once: a missing key does not come by waiting."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    services = Services.of(config("models", {"planner": "openai:gpt-4.1-mini"}))
    with pytest.raises(NodeFailed, match=r"on attempt 1: ModelError: .*gpt-4\.1-mini") as caught:
        run_pipeline("Rate it", COFFEE, services=services)
    assert isinstance(caught.value.__cause__, ModelError)
    with pytest.raises(ConfigError, match="Did you mean 'planner'"):
        Services.of(config("models", {"planer": "openai:gpt-4.1-mini"}))


def leaves(model: type[BaseModel], prefix: str = "") -> list[str]:
    """The dotted names of all keys."""
    names: list[str] = []
    for name, field in model.model_fields.items():
        kinds = [kind for kind in (field.annotation, *get_args(field.annotation)) if isinstance(kind, type)]
        section = next((kind for kind in kinds if issubclass(kind, BaseModel)), None)
        names += leaves(section, f"{prefix}{name}.") if section else [f"{prefix}{name}"]
    return names


def test_every_key_has_a_test():
    # Allowances are kept by the server: tests/runs/test_hub_runs.py.
    assert sorted([*EFFECTS, *IN_ACCEPTANCE]) == sorted(
        name for name in leaves(IQAConfig) if not name.startswith("allowances.")
    )


def test_the_certificate_counts_the_calls_of_fallback_models():
    alone = build_graph(IQAConfig()).certificate.max_model_calls
    services = Services(IQAConfig())
    services.models.assign("planner", with_fallback(always("a"), always("b"), always("c")))
    # One plan and at most ten more, with four attempts of three calls each, two of them repairs; and the same for each
    # model more.
    assert build_graph(services=services).certificate.max_model_calls == alone + 2 * 11 * 4 * 3
