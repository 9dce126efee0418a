"""One configuration file for all workflows: every key documented, read by code, and copied alone or with others."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from loopwright.errors import ConfigError
from loopwright.workflows.assistant import AssistantConfig
from loopwright.workflows.iqa import IQAConfig
from loopwright.workflows.rag import RAGConfig

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "configs/pipeline.yaml"
CONFIGURATIONS = (AssistantConfig, RAGConfig, IQAConfig)
DEFAULTS = {configuration: configuration() for configuration in CONFIGURATIONS}
TEXT = FILE.read_text()
SHIPPED: dict[str, Any] = yaml.safe_load(TEXT)


def leaves(data: Mapping[str, Any], *above: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The path and the default of every key that holds no further keys."""
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, *above, key)
        else:
            yield (*above, key), value


LEAVES = dict(leaves(SHIPPED))


def ends(node: ast.expr) -> str:
    """The last name of ``a.b.c``."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def read_in(tree: ast.Module, classes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The (section, key) pairs that a module reads: ``limits.hops``, with local names traced to their sections.

    ``getattr(limits, name)`` reads every key of the section, which is the pair with an empty key.
    """
    called: dict[str, set[str]] = {}
    nodes = [*ast.walk(tree)]
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            pairs = [(node.targets[0], node.value)]
            if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(node.targets[0].elts, node.value.elts, strict=False))
            for target, value in pairs:
                called.setdefault(ends(target), set()).add(ends(value))
        elif isinstance(node, ast.arg) and node.annotation is not None:
            if section := classes.get(getattr(node.annotation, "id", "")):
                called.setdefault(node.arg, set()).add(section)
        elif isinstance(node, ast.ClassDef) and node.name in classes:
            called.setdefault("self", set()).add(classes[node.name])
    for node in nodes:
        key, base = "", None
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            key, base = node.attr, node.value
        elif isinstance(node, ast.Call) and ends(node.func) == "getattr":
            base = node.args[0]
        if base is not None:
            yield from ((section, key) for section in {ends(base), *called.get(ends(base), ())})


def sections_by_class() -> dict[str, str]:
    """Class of a section -> its key, of all configurations."""
    found: dict[str, str] = {}

    def look(model: Any) -> None:
        for name in type(model).model_fields:
            if hasattr(value := getattr(model, name), "model_fields_set"):
                found.update(dict.fromkeys([kind.__name__ for kind in type(value).__mro__], name))
                look(value)

    for configuration in CONFIGURATIONS:
        look(configuration())
    return found


def test_every_key_is_read_by_code():
    classes = sections_by_class()
    reads = {
        pair
        for path in (ROOT / "src/loopwright").rglob("*.py")
        for pair in read_in(ast.parse(path.read_text(encoding="utf-8")), classes)
    }
    # A number for each kind of question is read by the kind's name.
    by_kind = {"transformations", "k"} if ("transformations", "of") in reads and ("k", "of") in reads else set()
    unread = [
        ".".join(path)
        for path in LEAVES
        if len(path) > 1 and path[-2] not in by_kind and not {path[-2:], (path[-2], "")} & reads
    ]
    assert unread == []


@pytest.mark.matrix(20)
@pytest.mark.parametrize("path", [path for path in LEAVES if len(path) > 1], ids=".".join)
def test_a_key_may_be_copied_alone(path):
    alone: Any = LEAVES[path]
    for key in reversed(path):
        alone = {key: alone}
    for configuration in CONFIGURATIONS:
        assert configuration.load(overrides=alone, environment={}) == DEFAULTS[configuration]


def test_a_changed_key_leaves_those_beside_it_as_they_were(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("rag:\n  limits:\n    transformations: {one_hop: 1}\n  retrieval:\n    k: {multi_hop: 9}\n  web:\n")
    rag = RAGConfig.load(file, environment={}).rag
    assert rag.limits.transformations.model_dump() == {"one_hop": 1, "multi_hop": None, "comparison": None}
    assert rag.retrieval.k.model_dump() == {"one_hop": 5, "multi_hop": 9, "comparison": 8}
    assert RAGConfig.model_validate({"rag": {"limits": {"transformations": {"one_hop": 1}}}}).rag.limits == rag.limits


@pytest.mark.parametrize(
    ("models", "over", "read"),
    [
        ("{default: {model: 'openai:a', timeout: 5}}", {"models.default": None}, {"default": None}),
        (
            "{default: {model: 'openai:a', fallback: {model: 'openai:b'}, options: {x: y}}}",
            {"models.default.fallback": None, "models.default.options.x": {}},
            {"default": {"model": "openai:a", "fallback": None, "options": {"x": {}}}},
        ),
        ("{default: 'openai:a'}", {"models.default.timeout": 5}, {"default": {"model": "openai:a", "timeout": 5}}),
        (
            "{default: {model: 'openai:a', base_url: 'http://h', api_key: k, options: {x: y}}}",
            {"models.default.timeout": 5, "models.default": "openai:b", "models.default.base_url": None},
            {"default": {"model": "openai:b", "timeout": 5, "base_url": None}},
        ),
    ],
)
def test_a_model_is_switched_off_and_named_over_the_file(tmp_path, models, over, read):
    file = tmp_path / "mine.yaml"
    file.write_text(f"models: {models}\n")
    assert IQAConfig.load(file, over, environment={}).models == read
    file.write_text("models: {default: {model: 'openai:a', base_url: 'http://h'}}")
    with pytest.raises(ConfigError, match=r"models.default: 'openai:b' would be asked elsewhere than 'openai:a'"):
        IQAConfig.load(file, environment={"LOOPWRIGHT_MODELS__DEFAULT__MODEL": "openai:b"})
    for wrong, told in (("openal:a", r"unknown provider 'openal'\. Did you mean 'openai'"), ("sk-1", "should")):
        file.write_text(f"models: {{default: {wrong}}}")
        with pytest.raises(ConfigError, match=rf"mine\.yaml: models\.default: model: {told}"):
            IQAConfig.load(file, environment={"LOOPWRIGHT_MODELS__PLANNER": "openai:b"})


def test_one_file_serves_all_workflows_and_misspelt_sections_are_told():
    for configuration in CONFIGURATIONS:
        assert configuration.load(FILE, environment={}) == configuration()
        with pytest.raises(ConfigError, match=r"unknown key 'asistant'\. Did you mean 'assistant'"):
            configuration.load(overrides={"asistant": {}}, environment={})
    with pytest.raises(
        ConfigError, match=r"unknown key 'rag\.limits\.transformations\.onehop'. Did you mean '.*one_hop'"
    ):
        RAGConfig.load(overrides={"rag.limits.transformations.onehop": 1}, environment={})
    with pytest.raises(ConfigError, match=r"'not_supported' is a key of another section: rag\.limits\.not_supported"):
        RAGConfig.load(overrides={"rag.not_supported": 1}, environment={})
    with pytest.raises(ConfigError, match="LOOPWRIGHT_RAG_STORE sets nothing: it is LOOPWRIGHT_RAG__STORE"):
        RAGConfig.load(environment={"LOOPWRIGHT_RAG_STORE": "x.db", "LOOPWRIGHT_TOKEN": "x", "LOOPWRIGHT_MODELS": "x"})
    RAGConfig.load(environment={"LOOPWRIGHT_RAG_STORE": "", "LOOPWRIGHT_RAG_PARSER": "x", "LOOPWRIGHT_RAG__STORE": "y"})
    with pytest.raises(ConfigError, match=r"^the environment: models: unknown node 'planer'"):
        RAGConfig.load(environment={"LOOPWRIGHT_MODELS__PLANER__API_KEY": "sk-1"})


def test_every_key_is_documented_with_its_default():
    known = [configuration().model_dump(mode="json") for configuration in CONFIGURATIONS]
    # iqa comes last: the timeouts of its stages stand in the engine's section.
    assert {k: v for config in known for k, v in config.items()} == SHIPPED
    for line in TEXT.splitlines():
        key = line.split("#")[0].strip()
        assert not key or key.endswith(":") or "#" in line or key.split(":")[0] in (
            "initial_wait", "factor", "max_wait", "planner", "executor", "summarizer", "log_dir", "models",
            "one_hop", "multi_hop", "comparison", "retrieval", "memory", "search", "web", "model",
        ), f"{key!r} has no comment"  # fmt: skip
