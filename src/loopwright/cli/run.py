"""``loopwright run NAME``: any installed workflow, or a graph of one's own, once; its options are what it takes."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from loopwright.cli.serve import LANGGRAPH, as_it_is, own_graph
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
_NUMBERS = {"integer": "INTEGER", "number": "NUMBER"}
_JSON = "JSON"
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
    from loopwright.workflows.api import schema_of

    is_place = name not in registry.names() and (":" in name or name.endswith((".py", LANGGRAPH)))
    with redirect_stdout(sys.stderr):
        own = own_graph(name) if is_place else None
    workflow = own or registry.load(name)
    taken = schema_of(workflow.Input)
    itself = taken.get("$ref", "").rpartition("/")[2]
    fields = {f"field_{number}": field for number, field in enumerate(_options(taken, taken, within=(itself,)))}

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


def _options(schema: dict[str, Any], inside: dict[str, Any], *above: str, within: tuple[str, ...]) -> Iterator[Any]:
    """Of each field its place, whether it is JSON, kind and default; those of a section are ``--SECTION-FIELD``.

    A section within one of its own kind would have no end. A field that is called as one of our options is
    ``--input-FIELD``.
    """
    for name, field in inside["properties"].items():
        words, (kind, place) = (*above, name), _meant(schema, field)
        if "properties" in kind and place not in within:
            yield from _options(schema, kind, *words, within=(*within, place))
            continue
        flag = re.sub(r"\W|_", "-", "-".join(words))
        flag = f"input-{flag}" if f"--{flag}" in _FLAGS else flag
        needed = name in inside.get("required", ()) and not above
        taken, metavar = _taken(schema, kind)
        said = f"--{flag}/--no-{flag}" if taken is bool else f"--{flag}"
        told = field.get("description") or field.get("title", "")
        option = typer.Option(said, help=told, metavar=metavar, show_default=False)
        default = inspect.Parameter.empty if needed else None
        yield words, metavar == _JSON, Annotated[taken if needed else taken | None, option], default


def _taken(schema: dict[str, Any], kind: dict[str, Any]) -> tuple[Any, str | None]:
    """What an option takes, and what is said of its value: its choices, or its kind."""
    if kind.get("type") == "boolean":
        return bool, None
    if "prefixItems" in kind:
        return tuple[(str,) * len(kind["prefixItems"])], None  # type: ignore[misc]  # as many as it says
    if kind.get("type") == "array":
        return list[str], _taken(schema, _meant(schema, kind.get("items", {}))[0])[1]
    if choices := kind.get("enum") or ([kind["const"]] if "const" in kind else []):
        return str, f"[{'|'.join(map(str, choices))}]"
    # A mapping or what its author left open cannot be said in words but as JSON.
    is_open = kind.get("type") == "object" or not {"type", "anyOf", "oneOf"} & kind.keys()
    return str, _JSON if is_open else _NUMBERS.get(str(kind.get("type")), "TEXT")


def _meant(schema: dict[str, Any], field: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """What an optional field may be, or what a field refers to; and the name of that, if it has one."""
    kinds = [each for each in field.get("anyOf", ()) if each.get("type") != "null"]
    field = kinds[0] if len(kinds) == 1 else field
    name = field.get("$ref", "").rpartition("/")[2]
    return (schema["$defs"][name] if name else field), name


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
    from loopwright.workflows.runtime import to_its_end

    named = [given[name] for name in upload_fields(taken) if name in given]
    # Path raises for what is too long a name, and a folder is no file.
    uploads = {text: Path(text) for text in named if os.path.exists(text) and not os.path.isdir(text)}
    # What the workflow's own code prints is no part of the answer.
    with redirect_stdout(sys.stderr), closing(opening(config, settings_of(overrides))) as opened:
        run = opened.run(given, uploads, kept["run_id"] or uuid.uuid4().hex)
        result, outcome = to_its_end(_followed(opened, run, as_json, **kept))
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
