"""The workflows that are installed: each is one class, named by an entry point of the group ``loopwright.workflows``.

A package declares its own in one line of its ``pyproject.toml``, as ours are declared::

    [project.entry-points."loopwright.workflows"]
    haiku = "haiku:Haiku"

The name is what the command line, addresses and the configuration's section call it. Command words of its own
(``loopwright haiku ...``) are a Typer application under the same name in the group ``loopwright.commands``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from loopwright.workflows.api import Workflow

GROUP = "loopwright.workflows"
"""The group of entry points that name the class of a workflow."""
COMMANDS = "loopwright.commands"
"""The group of entry points that name a workflow's own command words."""


@cache
def _declared(group: str) -> dict[str, dict[str, EntryPoint]]:
    """Name -> place -> entry point. In a checkout its pyproject.toml counts: what was installed of it is older."""
    entries = [*entry_points(group=group)]
    project = Path(__file__).parents[3] / "pyproject.toml"
    if project.is_file():
        declared: dict[str, Any] = tomllib.loads(project.read_text(encoding="utf-8")).get("project", {})
        if declared.get("name") == "loopwright":
            own: dict[str, str] = declared.get("entry-points", {}).get(group, {})
            entries = [each for each in entries if each.dist and each.dist.name != "loopwright"]
            entries += [EntryPoint(name, value, group) for name, value in own.items()]
    found: dict[str, dict[str, EntryPoint]] = {}
    for entry in entries:
        found.setdefault(entry.name, {})[entry.value] = entry
    return dict(sorted(found.items()))


def names() -> tuple[str, ...]:
    """The names of all installed workflows, in order; none is imported."""
    return tuple(_declared(GROUP))


def command_names() -> tuple[str, ...]:
    """The workflows that have command words of their own."""
    return tuple(_declared(COMMANDS))


def load(name: str) -> type[Workflow]:
    """Import a workflow.

    Raises:
        UnknownNameError: If there is none of this name.
        ConfigError: If it cannot be imported, two packages declare it, or the entry point names no workflow.
    """
    from loopwright.workflows.api import Workflow

    found = _loaded(GROUP, name)
    if not (isinstance(found, type) and issubclass(found, Workflow)):
        raise ConfigError(f"the entry point {name!r} of {GROUP} names {found!r}, not a subclass of Workflow")
    found.name = found.name or name
    if found.name == name:
        return found
    # A class keeps a name of its own, and one that has two here the first of them.
    return type(found.__name__, (found,), {"name": name, "__module__": found.__module__})


def place_of(target: str) -> str:
    """Where the class of a workflow stands, as ``module:class``; ``MODULE:GRAPH`` and a path stay as they are.

    Raises:
        UnknownNameError: If it is a word that names no workflow.
        ConfigError: If two packages declare it.
    """
    return target if any(mark in target for mark in (":", ".", "/")) else _entry(GROUP, target).value


def commands(name: str) -> Any:
    """Import a workflow's own command words."""
    return _loaded(COMMANDS, name)


def _entry(group: str, name: str) -> EntryPoint:
    if name not in _declared(group):
        raise UnknownNameError("workflow", name, _declared(group))
    entry, *others = _declared(group)[name].values()
    if others:
        raise ConfigError(f"{name!r} is declared by {' and '.join(_declared(group)[name])}: remove one")
    return entry


def _loaded(group: str, name: str) -> Any:
    entry = _entry(group, name)
    try:
        return entry.load()
    except ModuleNotFoundError as error:
        raise ConfigError(f"workflow {name!r}: {missing(name, error)}") from error
    except (Exception, SystemExit) as error:  # what a package does when it is imported is its own
        told = f"workflow {name!r} cannot be loaded from {entry.value}: {type(error).__name__}: {error}"
        raise ConfigError(told) from error


def missing(name: str, error: ModuleNotFoundError) -> str:
    """How to install what a workflow, or its command words, need."""
    dist = next(iter((_declared(GROUP).get(name) or _declared(COMMANDS)[name]).values())).dist
    package = dist.name if dist else "loopwright"
    extras = dist.metadata.get_all("Provides-Extra") or () if dist else (name,)
    needed = f"{package}[{name}]" if name in extras else error.name
    return f"{error.name} is not installed: pip install '{needed}'"


def of_all(read: Callable[[type[Workflow]], Iterable[str]]) -> tuple[str, ...] | None:
    """What is read off all installed workflows, each once; None if one of them cannot be imported."""
    try:
        return tuple(dict.fromkeys(each for name in names() for each in read(load(name))))
    except ConfigError:
        return None
