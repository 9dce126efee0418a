"""``loopwright run NAME``: any installed workflow, or a graph of one's own, once; its options are what it takes."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, redirect_stdout, suppress
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from loopwright.cli.serve import as_it_is, own_graph
from loopwright.cli.words import AsJson, ConfigFile, visible
from loopwright.engine.events.reasons import stops_said
from loopwright.errors import ConfigError, InputError, LoopwrightError
from loopwright.workflows import registry

if TYPE_CHECKING:
    from pydantic import BaseModel

    from loopwright.workflows.api import Outcome, Run, Workflow

Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A value over the file's, as langgraph.max_iterations=3."),
]
_RunId = Annotated[str | None, typer.Option("--run-id", help="Names the run's checkpoint; see pipeline.checkpoint.")]
_OWN: dict[str, tuple[Any, Any]] = {
    "config": (ConfigFile, None),
    "overrides": (Settings, None),
    "run_id": (_RunId, None),
    "resume": (Annotated[bool, typer.Option("--resume", help="Go on from the run's checkpoint.")], False),
    "force": (Annotated[bool, typer.Option("--force", help="Resume also if another version's graph began it.")], False),
    "as_json": (AsJson, False),
}
"""The parameters that every workflow's command has: name -> kind and default."""
_NUMBERS: dict[Any, str] = {int: "INTEGER", float: "NUMBER"}
_FLAGS = {"--help", *(get_args(kind)[1].default for kind, _ in _OWN.values())}


class Workflows(TyperGroup):
    """The installed workflows as commands, each imported when it or a list of all is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the workflows."""
        return [*registry.names()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a workflow; where that cannot be imported, or there is none, one that says why."""
        return command(cmd_name, partial(command_of, cmd_name))


def command(name: str, make: Callable[[], typer.Typer]) -> Any:
    """The command that a workflow's package makes; where it cannot, one that says why: the others are there."""
    try:
        return typer.main.get_command(make())
    except Exception as error:
        refused = error if isinstance(error, LoopwrightError) else None
        refused = refused or ConfigError(f"workflow {name!r} has no command: {type(error).__name__}: {error}")

    def refuse() -> None:
        raise refused

    said, anything = " ".join(str(refused).split()), {"ignore_unknown_options": True, "allow_extra_args": True}
    return TyperCommand(name, callback=refuse, short_help=said, context_settings=anything, add_help_option=False)


def command_of(name: str) -> typer.Typer:
    """The command of a workflow, or of a graph by its place: an option for each field of its input."""
    is_place = name not in registry.names() and (":" in name or name.endswith(".py"))
    with redirect_stdout(sys.stderr):
        own = own_graph(name) if is_place else None
    workflow = own or registry.load(name)
    fields = {f"field_{number}": field for number, field in enumerate(_options(workflow.Input))}

    def run(**values: Any) -> None:
        kept = {key: values.pop(key) for key in _OWN}
        given = _given(workflow.Input, [(*fields[key][:2], value) for key, value in values.items()])
        raise typer.Exit(_run(partial(as_it_is, own) if own else workflow.open, workflow.Input, given, **kept))

    parameters = {key: (kind, default) for key, (_place, _json, kind, default) in fields.items()} | _OWN
    options = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for key, (kind, default) in parameters.items()
    ]
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]  # Typer reads the options off it
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, help=workflow.description or workflow.title, short_help=workflow.title or name)(run)
    return app


def _options(model: type[BaseModel], *above: str, within: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of each field its place, whether it is JSON, kind and default; those of a section are ``--SECTION-FIELD``.

    A section within one of its own kind would have no end. A field that is called as one of our options is
    ``--input-FIELD``.
    """
    from pydantic import BaseModel, RootModel

    for name, field in model.model_fields.items():
        alias, kind = field.validation_alias or field.alias, _without_none(field.annotation)
        words = (*above, alias if isinstance(alias, str) else name)
        section = isinstance(kind, type) and issubclass(kind, BaseModel) and not issubclass(kind, RootModel)
        if section and kind not in (*within, model):
            yield from _options(kind, *words, within=(*within, model))
            continue
        flag = re.sub(r"\W|_", "-", "-".join(words))
        flag = f"input-{flag}" if f"--{flag}" in _FLAGS else flag
        told, needed = field.description or field.title or "", field.is_required() and not above
        origin, parts = get_origin(kind) or kind, get_args(kind)
        taken: Any = str
        metavar: str | None = _metavar(kind)
        is_json = metavar == "JSON"
        if kind is bool:
            taken, metavar = bool, None
        elif origin is tuple and parts and parts[-1] is not Ellipsis:
            taken, metavar = tuple[(str,) * len(parts)], None  # type: ignore[misc]  # as many as it says
        elif origin in (list, tuple, set, frozenset):
            taken, metavar = list[str], _metavar(_without_none(parts[0])) if parts else metavar
        said = f"--{flag}/--no-{flag}" if kind is bool else f"--{flag}"
        option = typer.Option(said, help=told, metavar=metavar, show_default=False)
        default = inspect.Parameter.empty if needed else None
        yield words, is_json, Annotated[taken if needed else taken | None, option], default


def _metavar(kind: Any) -> str:
    """What is said of an option's value: its choices, or its kind."""
    from pydantic import BaseModel, RootModel

    origin, choices = get_origin(kind) or kind, get_args(kind)
    if isinstance(origin, type) and issubclass(origin, Enum):
        choices = [each.value for each in origin]
    elif isinstance(origin, type) and issubclass(origin, BaseModel) and not issubclass(origin, RootModel):
        return "JSON"
    elif str(origin) != "typing.Literal":
        # A mapping or what its author left open cannot be said in words but as JSON.
        return "JSON" if origin in (dict, Any) else _NUMBERS.get(origin, "TEXT")
    return f"[{'|'.join(map(str, choices))}]"


def _without_none(kind: Any) -> Any:
    """The kind of an optional field, and of an annotated one."""
    parts = [part for part in get_args(kind) if part is not type(None)]
    if len(parts) == 1 and type(None) in get_args(kind):
        return _without_none(parts[0])
    return _without_none(parts[0]) if hasattr(kind, "__metadata__") else kind


def _given(model: type[BaseModel], values: Iterable[tuple[Any, ...]]) -> dict[str, Any]:
    """The input out of the options: of each its place, whether it is JSON, and what was given."""
    from loopwright.workflows.texts import read_texts

    given: dict[str, Any] = {}
    for (*above, last), is_json, value in values:
        if value is None or value in ((), []):
            continue
        inside = given
        for section in above:
            inside = inside.setdefault(section, {})
        inside[last] = [*value] if isinstance(value, tuple | list) else value
        if is_json and isinstance(value, str):
            with suppress(ValueError):
                inside[last] = json.loads(value)
    return read_texts(model, given)


def _run(
    opening: Callable[[Path | None, dict[str, Any]], Workflow[Any]],
    taken: type[BaseModel],
    given: dict[str, Any],
    config: Path | None,
    overrides: list[str] | None,
    as_json: bool,
    **kept: Any,
) -> int:
    """Run it; give the exit code."""
    from loopwright.workflows.api import upload_fields

    named = [given[name] for name in upload_fields(taken) if name in given]
    # Path raises for what is too long a name, and a folder is no file.
    uploads = {text: Path(text) for text in named if os.path.exists(text) and not os.path.isdir(text)}
    # What the workflow's own code prints is no part of the answer.
    with redirect_stdout(sys.stderr), closing(opening(config, settings_of(overrides))) as opened:
        run = opened.run(given, uploads, kept["run_id"] or uuid.uuid4().hex)
        result, outcome = asyncio.run(_followed(opened, run, as_json, **kept))
    _print(opened, run, result, outcome, as_json)
    return int(outcome.error is not None or outcome.status == "failed")


def settings_of(given: list[str] | None) -> dict[str, Any]:
    """The values of ``--set``, ``KEY=VALUE`` each with the value as YAML, by dotted key.

    Raises:
        InputError: If one says no value.
    """
    import yaml

    settings: dict[str, Any] = {}
    for setting in given or ():
        key, mark, text = setting.partition("=")
        if not mark:
            raise InputError(f"--set {key} says no value: give KEY=VALUE")
        try:
            settings[key] = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that does not exist
            raise InputError(f"--set {setting} is not valid YAML: {' '.join(str(error).split())}") from error
    return settings


async def _followed(workflow: Workflow[Any], run: Run, as_json: bool, **options: Any) -> tuple[Any, Outcome]:
    from loopwright.engine import RunResult

    result: Any = None  # the last that it gives
    async for event in workflow.follow(run, **options):
        if isinstance(event, RunResult):
            result = event
        elif not as_json:
            for told in run.told(event):
                print(visible(told.message), file=sys.stderr)
    return result, (await run.ended(result))[0]


def _print(workflow: Workflow[Any], run: Run, result: Any, outcome: Outcome, as_json: bool) -> None:
    from loopwright.workflows.api import plain_json

    stop, usage = result.state.get("stop_reason"), run.usage.total()
    if as_json:
        told = {
            "workflow": workflow.name, **outcome.model_dump(), "stop_reason": stop, "path": result.path,
            "seconds": result.seconds, "model_calls": usage.calls, "tokens": usage.total_tokens,
            "cost": run.usage.cost(),
        }  # fmt: skip
        print(json.dumps(plain_json(told), indent=2, ensure_ascii=False))
        return
    if outcome.answer:
        print(visible(outcome.answer))
    for citation in outcome.citations:
        quote = f': "{" ".join(citation.quote.split())}"' if citation.quote else ""
        print(visible(f"  [{citation.mark}] {citation.title}{quote}"))
    parts = [*filter(None, [outcome.status.replace("_", " ")]), *stops_said(stop), f"{result.seconds:.2f} s"]
    print("  " + "; ".join(parts), file=sys.stderr)
    if outcome.error:
        print(f"loopwright: {' '.join(outcome.error.split())}", file=sys.stderr)
