"""Configuration: a YAML file, over it the environment, over it arguments.

Every key has an effect, and a key that nobody knows is an error that names the nearest known one. A workflow adds its
own section by subclassing `EngineConfig`.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from types import UnionType
from typing import Any, Self, Union, cast, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, ValidationError, field_validator, model_validator

from loopwright.errors import ConfigError, own_words, unknown_name_message

ENVIRONMENT_PREFIX = "LOOPWRIGHT_"
"""``LOOPWRIGHT_LANGGRAPH__MAX_ITERATIONS=3`` sets ``langgraph.max_iterations``; two underscores stand for the dot."""

DEFAULT_FILE = Path("configs/pipeline.yaml")
"""Read from the working directory where it exists and no other file is named."""


def _section(annotation: Any) -> type[BaseModel] | None:
    """The section that a key holds, or perhaps none; the keys of a mapping to sections are anybody's."""
    for kind in get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _merged(base: Mapping[str, Any], over: Mapping[str, Any], *above: str, is_layer: bool = True) -> dict[str, Any]:
    """A section without a value changes nothing; for a model, none means no model, and a text names one.

    What names a model has nothing of a layer below: a key is for one server, and so are prompts.
    """
    merged = dict(base)
    for key, value in over.items():
        place, before = (*above, key), merged.get(key)
        is_model = place[0] == "models" and len(place) > 1 and {*place[2:]} <= {"fallback"}
        if is_model and key in merged and isinstance(before, str | None):
            before = {"model": before}
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            if is_model and is_layer and "model" in value:
                if before.get("base_url") and "base_url" not in value:
                    raise ConfigError(
                        f"{'.'.join(map(str, place))}: {value['model']!r} would be asked elsewhere than "
                        f"{before.get('model')!r}, which has a base_url: say that here too, null for the provider's own"
                    )
                before = {}
            merged[key] = _merged(before, value, *place, is_layer=is_layer)
        elif is_model or value is not None or not isinstance(before, Mapping):
            merged[key] = value
    return merged


class Frozen(BaseModel):
    """A value: known fields only, never changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Section(Frozen):
    """A part of the configuration: known keys only."""

    @model_validator(mode="before")
    @classmethod
    def _lay_over_defaults(cls, data: Any) -> Any:
        """A mapping that names some of its keys leaves the others at their defaults; an empty one changes nothing.

        In YAML a mapping whose every key is commented out is None.
        """
        if not isinstance(data, Mapping):
            return data
        given = cast("Mapping[str, Any]", data)
        defaults: dict[str, Any] = {}
        for name in given.keys() & cls.model_fields.keys():
            default = cls.model_fields[name].get_default(call_default_factory=True)
            default = default.model_dump() if isinstance(default, BaseModel) else default
            if isinstance(default, Mapping):
                defaults[name] = default
        return _merged(defaults, given)


class LangGraphSection(Section):
    """How graphs run."""

    max_iterations: int = Field(default=10, ge=0)
    """The ceiling of every limit that a caller puts into the state: passes of one loop in one run."""
    recursion_limit: int | None = Field(default=None, ge=1)
    """LangGraph supersteps; None derives it from the certificate. A smaller one wins, and reaching it is an outcome."""
    debug_mode: bool = False
    """Whether every node's input, duration and update go to ``graph_debug.log``."""
    save_graph_visualization: bool = False
    """Whether the graph's diagram goes to ``graph_structure.mmd`` when it is built."""
    graceful_errors: bool = False
    """Whether a node's failure goes into the state's ``error`` instead of being raised."""
    continue_after_error: bool = True
    """With `graceful_errors`: go on with the next node where it can work without the failed one, or else end."""
    log_dir: Path = Path("logs")
    """The folder of ``graph_debug.log`` and ``graph_structure.mmd``."""


class CheckpointSection(Section):
    """Whether and where runs are kept."""

    enable: bool = False
    """Whether every finished node is written to a file, so that a run can be resumed."""
    save_dir: Path = Path("checkpoints")
    """The folder of the files ``{timestamp}_{sample_id}.json``."""


class RetrySection(Section):
    """How long to wait between attempts: ``initial_wait * factor ** (attempt - 1)``, at most ``max_wait``."""

    initial_wait: PositiveFloat = 0.5
    """Seconds before the first retry."""
    factor: float = Field(default=2.0, ge=1)
    """How much longer each further wait is."""
    max_wait: PositiveFloat = 30.0
    """Seconds of the longest wait."""


class PipelineSection(Section):
    """How nodes run."""

    max_retry_attempts: int = Field(default=3, ge=0)
    """Retries of a node after a transient error: attempts minus one."""
    retry: RetrySection = RetrySection()
    """The waits between attempts."""
    checkpoint: CheckpointSection = CheckpointSection()
    """Whether and where runs are kept."""


class Allowance(Section):
    """What all runs together may spend that have something in common; kept with the run history, exact across hosts.

    A call of a model is refused, and its run ends with what it has, where less is left than the call may take: its
    prompt and the longest reply that it asks for. What it did not take is given back when it ends.
    """

    per: str = Field(min_length=1)
    """``day`` (UTC), ``thread`` (a run with its further turns and forks), or a key of the runs' input, such as
    ``user`` or ``user_context.user_id``; runs whose input has no such key have one allowance together."""
    model_calls: int | None = Field(default=None, ge=0)
    """Calls of chat models, the failed ones too."""
    tokens: int | None = Field(default=None, ge=0)
    """Tokens in and out."""
    usd: float | None = Field(default=None, ge=0)
    """Dollars; needs prices (``loopwright[prices]``), and a model without one is refused."""
    reply_tokens: int = Field(default=4096, ge=0)
    """The longest reply of a call that does not say how long its reply may be."""

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.model_calls is None and self.tokens is None and self.usd is None:
            raise ValueError("an allowance needs at least one limit: model_calls, tokens or usd")
        return self


class EngineConfig(Section):
    """The engine's configuration; workflows add their sections to it.

    Raises:
        ConfigError: From `load`, if a key is unknown or a value is wrong.
    """

    langgraph: LangGraphSection = LangGraphSection()
    """How graphs run."""
    pipeline: PipelineSection = PipelineSection()
    """How nodes run."""
    allowances: tuple[Allowance, ...] = ()
    """What runs of `serve` and `worker` may spend together; these read it, and the same on every host."""

    @field_validator("allowances")
    @classmethod
    def _each_once(cls, allowances: tuple[Allowance, ...]) -> tuple[Allowance, ...]:
        kinds = [allowance.per for allowance in allowances]
        if twice := {kind for kind in kinds if kinds.count(kind) > 1}:
            raise ValueError(f"allowances per {', '.join(sorted(twice))} come twice: give all limits in one")
        return allowances

    @classmethod
    def foreign_keys(cls, met: Collection[str] = ()) -> frozenset[str]:
        """Dotted keys that others read from the same file; ``met`` are the sections that this class has not."""
        return frozenset()

    @classmethod
    def load(
        cls,
        path: str | Path | None = None,
        overrides: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        own: str = "",
    ) -> Self:
        """Read the configuration: file < environment < overrides.

        Args:
            path: A YAML file; by default ``configs/pipeline.yaml`` under the working directory, if there is one.
            overrides: Values by dotted key (``{"langgraph.max_iterations": 3}``) or as nested mappings.
            environment: By default the process's.
            own: A section that is passed over in no case.

        Raises:
            ConfigError: If the file cannot be read, a key is unknown, or a value is wrong.
        """
        data: dict[str, Any] = {}
        variables = os.environ if environment is None else environment
        file = Path(path) if path else DEFAULT_FILE if DEFAULT_FILE.is_file() else None
        origin = str(file or "the configuration")
        layers = {
            origin: _read_yaml(file) if file else {},
            "the environment": _from_environment(variables),
            "the arguments": _nested(overrides or {}),
        }
        known = list(_keys(cls))
        for key in (*known, "models.default"):
            near, right = (f"{ENVIRONMENT_PREFIX}{key.replace('.', dot)}".upper() for dot in ("_", "__"))
            if variables.get(near) and right not in variables:
                raise ConfigError(f"the environment: {near} sets nothing: it is {right}, with two underscores")
        met = {section for layer in layers.values() for section in layer}.difference(known)
        foreign = cls.foreign_keys(met).difference(known, [own.replace("-", "_")])
        for source, given in layers.items():
            data = _merged(data, _own(given, source, [*known, *foreign], foreign))
        try:
            return cls.model_validate(data, context=layers)
        except ValidationError as error:
            key = error.errors()[0]["loc"]
            culprit = next((source for source in reversed(layers) if _holds(layers[source], key)), origin)
            raise ConfigError(f"{culprit}: {first_problem(error)}") from error


def first_problem(error: ValidationError) -> str:
    """The first problem of a pydantic error in one line: the key, the value and what is wrong with it."""
    first = error.errors()[0]
    key, given = ".".join(str(part) for part in first["loc"]), first.get("input")
    # A whole section can hold an API key, and a key's place or a model's can hold another.
    hidden = isinstance(given, (Mapping, list, tuple)) or "key" in key or key.startswith("models.")
    said = own_words(first["msg"])
    word = said.partition(" ")[0]  # "OPENAI_BASE_URL must be", "PostgreSQL is"
    return f"{key}{'' if hidden else f' is {given!r}'}: {word.lower() if word.istitle() else word}{said[len(word) :]}"


@cache
def shipped(package: str, file: str) -> Any:
    """A YAML table that lies in a package, as it stands; it is read once, and nobody changes it."""
    text = (resources.files(package) / file).read_text(encoding="utf-8")
    # libyaml is ten times as fast where PyYAML has it, and ends the process at what is nested too deeply: not for files
    # of anybody else's.
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


class _EachKeyOnce(yaml.SafeLoader):
    """Of a key that stands twice, PyYAML drops the first without a word."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        node: Any = super().compose_mapping_node(anchor)
        keys = Counter((key.tag, key.value) for key, _value in node.value if isinstance(key, yaml.ScalarNode))
        if twice := [key for (tag, key), times in keys.items() if times > 1 and not tag.endswith(":merge")]:
            problem = f"the key {twice[0]!r} stands twice: give all of it in one"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return node


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        with path.open(encoding="utf-8") as file:
            data = yaml.load(file, _EachKeyOnce)  # of a file, its errors quote no line: that may hold an API key
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror or error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: not UTF-8, or a date that is none
        raise ConfigError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path} must hold sections such as 'langgraph:', not {type(data).__name__}")
    return cast("dict[str, Any]", data)


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    dotted: dict[str, Any] = {}
    for name, text in environment.items():
        if name.startswith(ENVIRONMENT_PREFIX) and "__" in name:
            key = name.removeprefix(ENVIRONMENT_PREFIX).lower().replace("__", ".")
            try:
                dotted[key] = yaml.safe_load(text) if text.strip() else None
            except (yaml.YAMLError, ValueError):  # what these say can show the value, which may be an API key
                raise ConfigError(f"the environment: {name} is not valid YAML; put a text in quotes") from None
    return _nested(dotted)


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Sections out of dotted keys, each before its own keys; of two that set the same value the later one counts."""
    nested: dict[str, Any] = {}
    for key, value in sorted(values.items(), key=lambda each: each[0].count(".")):
        for section in reversed(key.split(".")):
            value = {section: value}
        nested = _merged(nested, value, is_layer=False)
    return nested


def _holds(data: Any, key: Sequence[int | str]) -> bool:
    if not key or isinstance(data, (list, tuple)):  # a list is all of one layer
        return True
    return isinstance(data, Mapping) and key[0] in data and _holds(data[key[0]], key[1:])


def _keys(model: type[BaseModel], prefix: str = "", *above: type[BaseModel]) -> Iterator[str]:
    """Every dotted key, those of sections too; a section within one of its own kind would have no end."""
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        if (section := _section(field.annotation)) and section not in above:
            yield from _keys(section, f"{prefix}{name}.", *above, section)


def _own(
    data: Mapping[str, Any], source: str, known: Sequence[str], foreign: Collection[str], prefix: str = ""
) -> dict[str, Any]:
    """What a layer says without what others read; a key that nobody knows is refused."""
    siblings = [name for name in known if name.startswith(prefix) and "." not in name.removeprefix(prefix)]
    own: dict[str, Any] = {}
    for key, value in data.items():
        name = f"{prefix}{key}"
        if name in foreign:
            continue
        if name not in siblings:
            message = unknown_name_message("key", name, siblings)
            elsewhere = [other for other in known if other.rpartition(".")[2] == key]
            hint = f" {key!r} is a key of another section: {', '.join(elsewhere)}." if elsewhere else ""
            raise ConfigError(f"{source}: {message}{hint}")
        if isinstance(value, Mapping) and any(other.startswith(f"{name}.") for other in known):
            value = _own(cast("Mapping[str, Any]", value), source, known, foreign, f"{name}.")
        own[key] = value
    return own
