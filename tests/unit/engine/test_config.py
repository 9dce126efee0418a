"""Configuration: file < environment < arguments, and every mistake is one line that names its culprit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopwright.config import EngineConfig
from loopwright.errors import ConfigError

ENV = "LOOPWRIGHT_LANGGRAPH__MAX_ITERATIONS"


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.yaml"
    path.write_text("langgraph: {max_iterations: 3, debug_mode: true}\npipeline: {retry: {<<: {max_wait: 2}, <<: {}}}")
    return path


def refused(*args: Any, **kwargs: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        EngineConfig.load(*args, **{"environment": {}, **kwargs})
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_file_is_read_and_what_it_leaves_out_keeps_its_default(file: Path) -> None:
    config = EngineConfig.load(file, environment={})
    assert (config.langgraph.max_iterations, config.langgraph.debug_mode) == (3, True)
    assert (config.pipeline.retry.max_wait, config.pipeline.retry.factor) == (2, 2.0)


def test_the_environment_beats_the_file_and_arguments_beat_both(file: Path) -> None:
    assert EngineConfig.load(file, environment={ENV: "5"}).langgraph.max_iterations == 5
    config = EngineConfig.load(file, {"langgraph.max_iterations": 7}, environment={ENV: "5"})
    assert config.langgraph.max_iterations == 7
    assert config.langgraph.debug_mode is True


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("langraph: {}", "unknown key 'langraph'. Did you mean 'langgraph'?"),
        (
            "pipeline:\n  retry:\n    factr: 3",
            "unknown key 'pipeline.retry.factr'. Did you mean 'pipeline.retry.factor'?",
        ),
        ("1: 2", "unknown key '1'"),
        ("pipeline:\n  max_iterations: 3", "a key of another section: langgraph.max_iterations."),
    ],
)
def test_an_unknown_key_names_the_file_and_the_nearest_known_one(file: Path, text: str, says: str) -> None:
    file.write_text(text)
    message = refused(file)
    assert message.startswith(f"{file}: ") and says in message


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        ({"langgraph.max_iterations": -1}, "langgraph.max_iterations is -1"),
        ({"langgraph.max_iterations": "many"}, "langgraph.max_iterations is 'many'"),
        ({"pipeline.retry": {"max_wait": -2}}, "pipeline.retry.max_wait is -2"),
        ({"langgraph": 3}, "langgraph is 3"),
        ({"allowances": [{"per": "", "tokens": 1}]}, "allowances.0.per is ''"),
        ({"langgraph": 3, "langgraph.max_iterations.x": 4}, "langgraph.max_iterations: input should"),
    ],
)
def test_a_wrong_value_names_its_key_and_value(file: Path, overrides: dict[str, Any], key: str) -> None:
    message = refused(file, overrides)
    assert message.startswith("the arguments: ") and key in message


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"langgraph: [1", "is not valid YAML"),
        (b"\xff\xfe\x00", "is not valid YAML"),
        (b"a: *nowhere", "is not valid YAML"),
        (b"a: @sk-1", 'cannot start any token in "'),
        (b"langgraph: {}\npipeline: {}\nlanggraph: {}", "the key 'langgraph' stands twice"),
        (b"[" * 1000, "is not valid YAML"),
        (b"- a\n- b", "must hold sections such as 'langgraph:', not list"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(file: Path, content: bytes, says: str) -> None:
    file.write_bytes(content)
    assert says in refused(file) and "sk-1" not in refused(file)
    assert refused(environment={ENV: "*sk-1"}) == f"the environment: {ENV} is not valid YAML; put a text in quotes"
