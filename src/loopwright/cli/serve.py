"""``loopwright serve``: every workflow over HTTP, and the page that shows its runs."""

from __future__ import annotations

import codecs
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from loopwright.cli.words import ConfigFile
from loopwright.errors import ConfigError, GraphError, InputError, LoopwrightError, UnknownNameError
from loopwright.workflows import registry

if TYPE_CHECKING:
    from loopwright.workflows.api import Workflow
    from loopwright.workflows.user_graph import UserGraph

Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[WORKFLOW|MODULE:GRAPH|FILE.py[:GRAPH]|langgraph.json]...", show_default=False,
        help="What to serve; by default what a langgraph.json here names, else the workflows that are installed.",
    ),
]  # fmt: skip
Store = Annotated[
    str | None,
    typer.Option(
        "--store", "-s", show_default=False,
        help="Where the one workflow that is served has its documents; by default NAME.store.",
    ),
]  # fmt: skip
Host = Annotated[str, typer.Option(help="The address to listen on; other machines reach it only with a token.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")]
Token = Annotated[
    str | None,
    typer.Option(
        envvar="LOOPWRIGHT_TOKEN", show_envvar=True, show_default=False,
        help="The bearer token that every request must carry, but those for the page's files and for health.",
    ),
]  # fmt: skip
Cors = Annotated[list[str] | None, typer.Option(help="An origin whose pages may use the server.", show_default=False)]
Data = Annotated[Path, typer.Option(help="The folder for runs, checkpoints and uploaded files.", file_okay=False)]
Runs = Annotated[
    str | None,
    typer.Option(
        envvar="LOOPWRIGHT_RUNS", show_envvar=True,
        help="Where runs are kept: sqlite:FILE or postgresql://...; by default runs.db in the data folder.",
    ),
]  # fmt: skip
Lease = Annotated[
    float,
    typer.Option(
        min=1, help="Seconds without a sign of life after which others go on with its runs; the same for all."
    ),
]
Work = Annotated[bool, typer.Option("--work/--no-work", help="Work on runs in this process; without it, workers do.")]
Keep = Annotated[int | None, typer.Option("--keep", min=1, help="Keep so many runs of each workflow.")]
KeepDays = Annotated[float | None, typer.Option(min=0, max=36500, help="Keep runs for so many days.")]
Running = Annotated[int, typer.Option(min=1, help="Runs that go on at the same time; further ones wait their turn.")]
Reads = Annotated[int, typer.Option(min=0, help="Reading requests that a client may send in a minute; 0: any number.")]
Starts = Annotated[int, typer.Option(min=0, help="The same for requests that begin or change something.")]
Reload = Annotated[
    bool, typer.Option("--reload", help="Begin anew whenever a Python file beside what is served changes.")
]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")]

PATIENCE = 15
"""Seconds that a server has to end where a file changed, with ``--reload``."""
LANGGRAPH = "langgraph.json"
"""The file in which projects name their graphs for LangGraph's own server."""
DATA = Path(".loopwright")
"""Where runs are kept by default."""


def serve(
    targets: Targets = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token: Token = None,
    cors: Cors = None,
    data: Data = DATA,
    runs: Runs = None,
    store: Store = None,
    config: ConfigFile = None,
    keep: Keep = None,
    keep_days: KeepDays = None,
    max_running: Running = 100,
    work: Work = True,
    lease: Lease = 6.0,
    reads_per_minute: Reads = 6000,
    starts_per_minute: Starts = 3000,
    reload: Reload = False,
    open: Open = False,
) -> None:
    """Serve workflows and your own graphs over HTTP, with the page that shows their runs, until told to stop."""
    places = require_known(targets or ())
    if reload:
        _serve_anew(places)
    if store and [target in registry.names() for target in targets or ()] != [True]:
        raise InputError("--store is for one workflow: name it, or set NAME.store; --runs says where runs are kept")
    if keep_days is not None and keep_days != keep_days:
        raise InputError("--keep-days takes a number of days, and got nan")
    from loopwright.server.listening import require_token, reserve

    require_token(host, token)
    from loopwright.workflows.sections import WorkflowConfig

    allowances = WorkflowConfig.load(config).allowances
    with ExitStack() as exits:
        address = exits.enter_context(reserve(host, port))  # before anything is loaded, which takes a while
        workflows = opened(exits, targets, config, store)
        loading("the server and its run history")
        from loopwright.server import ServerSettings, Serving
        from loopwright.server import serve as serve_until_told
        from loopwright.tracing import exporting

        def started(url: str) -> None:
            print(f"listening on {url}; stop with Ctrl-C", file=sys.stderr)
            if open and os.environ.get("WATCHFILES_CHANGES", "[]") == "[]":  # after a change it is open already
                typer.launch(url)

        serving = Serving(
            workflows=workflows, runs=runs, keep=keep, keep_days=keep_days, max_running=max_running, works=work,
            settings=ServerSettings(data=data, reads_per_minute=reads_per_minute, starts_per_minute=starts_per_minute),
            lease=lease, allowances=allowances,
        )  # fmt: skip
        exits.enter_context(exporting())
        serve_until_told(serving, host, port, token, cors or (), reserved=address, started=started)


def _serve_anew(places: Sequence[Path]) -> NoReturn:
    """Run the same command in a process of its own, and again whenever a file changes.

    What is under way then ends with its superstep, and goes on in the next process.
    """
    from watchfiles import PythonFilter, run_process

    folders = {place.resolve().parent if place.is_file() else Path.cwd() for place in places or [Path(LANGGRAPH)]}
    command = [sys.executable, "-m", "loopwright", *(word for word in sys.argv[1:] if word != "--reload")]
    run_process(
        *folders, target=shlex.join(command), target_type="command", watch_filter=PythonFilter(),
        callback=lambda _: print("a file changed: beginning anew ...", file=sys.stderr, flush=True),
        sigint_timeout=PATIENCE,
    )  # fmt: skip
    raise typer.Exit()


def loading(what: str) -> None:
    """Say on standard error what is being loaded."""
    print(f"loading {what} ...", file=sys.stderr, flush=True)


def opened(
    exits: ExitStack,
    targets: Sequence[str] | None,
    config: Path | None,
    store: str | None = None,
    *,
    any_number: bool = False,
) -> list[Workflow[Any]]:
    """Open workflows, which ``exits`` closes, by names, modules and files.

    Without any, they are what a ``langgraph.json`` here names, else what is installed. The store is where the one
    workflow has its documents. With ``any_number`` none will do, and what the first run waits for is made only then.
    """
    found: list[Workflow[Any]] = []
    everything = not targets and not Path(LANGGRAPH).is_file()
    for target in registry.names() if everything else targets or [LANGGRAPH]:
        loading(target)
        if target in registry.names():
            kind = None
            try:
                kind = registry.load(target)
                workflow = kind.open(config, {f"{target.replace('-', '_')}.store": store} if store else None)
                exits.callback(workflow.close)
                if not any_number:
                    workflow.warm_up()
            except Exception as error:
                ours = isinstance(error, LoopwrightError)
                told = str(error) if ours else f"{type(error).__name__}: {error}"
                # A package that is broken takes no other down; a configuration that is wrong, or a store away, does.
                if everything and not (kind and ours and not isinstance(error, GraphError)):
                    print(f"loopwright: {target} is left out: {' '.join(told.split())}", file=sys.stderr)
                    continue
                if ours or isinstance(error, ModuleNotFoundError):
                    raise
                raise ConfigError(f"workflow {target!r} cannot be opened: {told}") from error
            found.append(workflow)
        else:
            found += own_graphs(target, {workflow.name for workflow in found})
    if not (found or any_number):
        raise InputError("no workflow is installed, and no graph was named: give MODULE:GRAPH or FILE.py")
    return found


def require_known(targets: Sequence[str]) -> list[Path]:
    """Refuse what can be seen to be wrong without loading anything; give the places of the files and modules."""
    from loopwright.check.targets import split_target

    places = [Path(split_target(registry.place_of(target))[0]) for target in targets]
    for place in places:
        if place.suffix == ".py" and not place.is_file():
            raise GraphError(f"there is no file {place}")
    return places


def own_graphs(target: str, taken: set[str]) -> Iterator[UserGraph]:
    """The graphs of a module, file or ``langgraph.json``, each under a name that no other has."""
    from loopwright.check.loading import load_graphs
    from loopwright.workflows.user_graph import UserGraph

    if is_configured(target):
        yield from _configured(target, taken)
        return
    for named, graph in load_graphs(target).items():
        place, _colon, variable = named.rpartition(":")
        stem = Path(place).stem if place.endswith(".py") else place.rpartition(".")[2]
        words = re.sub(r"[^a-z0-9]+", "-", f"{stem} {variable}".lower()).strip("-") or "graph"
        name = next(each for each in (words, *(f"{words}-{n}" for n in range(2, len(taken) + 3))) if each not in taken)
        taken.add(name)
        yield UserGraph(name, graph, place=named)


def is_configured(target: str) -> bool:
    """Whether it is a ``langgraph.json``, or ``langgraph.json:NAME`` for one of its graphs."""
    from loopwright.check.targets import split_target

    return Path(split_target(target)[0]).name == LANGGRAPH


def own_graph(target: str) -> UserGraph:
    """The one graph of a module, file or ``langgraph.json``."""
    require_known([target])
    found = [*own_graphs(target, set())]
    if len(found) > 1:
        known = (f"{target}:{each.title}" if is_configured(target) else each.place for each in found)
        raise InputError(f"{target} holds several graphs: give one of {', '.join(known)}")
    return found[0]


def as_it_is(graph: UserGraph, config: Path | None, overrides: Mapping[str, Any]) -> UserGraph:
    """A graph of the user's own, which no configuration changes; an `InputError` where one is given."""
    if config or overrides:
        raise InputError(f"--config and --set are of {', '.join(registry.names())}; a graph of your own reads neither")
    return graph


def _configured(target: str, taken: set[str]) -> Iterator[UserGraph]:
    """Load the graphs that a ``langgraph.json`` names, as they are called there, with its dependencies and ``env``.

    One that cannot be loaded is told of and takes no other down.
    """
    from loopwright.check.loading import load_graphs
    from loopwright.check.project import package_root
    from loopwright.check.targets import split_target
    from loopwright.workflows.user_graph import UserGraph

    said, wanted = split_target(target)
    file, folder = Path(said), Path(said).resolve().parent
    try:
        declared: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        places = {
            name: each if isinstance(each, str) else str(each["path"]) for name, each in declared["graphs"].items()
        }
        given = declared.get("env") or {}
        if isinstance(given, str):  # the file that it names need not be there
            given = _variables(folder / given) if (folder / given).is_file() else {}
        own = [Path(folder, each) for each in declared.get("dependencies") or ()]  # or names of packages
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise GraphError(f"{file} names no graphs: {type(error).__name__}: {error}") from error
    if wanted and wanted not in places:
        raise UnknownNameError(f"graph of {file}", wanted, places)
    for name, value in given.items():
        os.environ.setdefault(name, str(value))
    for each in filter(Path.is_dir, [*own, folder]):
        sys.path[:0] = [str(package_root(each / "any.py")), str(each / "src")]
    refused: list[GraphError] = []
    for named, place in places.items() if not wanted else [(wanted, places[wanted])]:
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", named).strip("-")
        if not name or name in {*taken, *registry.names()}:
            raise GraphError(f"{file}: {named!r} cannot name a graph: give it letters or digits, and a name of its own")
        taken.add(name)
        path, _colon, variable = place.partition(":")
        source = f"{folder / path}:{variable}" if path.endswith(".py") else place
        try:
            found = load_graphs(source)
            if len(found) > 1:
                raise GraphError(f"it could be {' or '.join(found)}: name one of them behind a colon")
            yield from (UserGraph(name, graph, place=source, title=named) for graph in found.values())
        except GraphError as error:
            refused.append(GraphError(f"{file}: {named!r} cannot be loaded: {' '.join(str(error).split())}"))
    if refused and (wanted or len(refused) == len(places)):
        raise refused[0]
    for error in refused:
        print(f"loopwright: {error}; it is left out", file=sys.stderr)


def _variables(file: Path) -> dict[str, str]:
    """What a file of variables says, ``NAME=VALUE`` each, quoted ones over several lines too; as python-dotenv does."""
    value = r"""(?:"((?:\\"|[^"])*)"|'((?:\\'|[^'])*)'|([^\s"'#].*?)?)"""
    line = rf"^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*{value}[ \t]*(?:(?<=[ \t])#.*)?$"
    found = re.findall(line, file.read_text(encoding="utf-8-sig"), re.MULTILINE)
    marked = partial(re.sub, r"""\\[\\'"abfnrtv]""", lambda mark: codecs.decode(mark[0], "unicode-escape"))
    return {name: marked(double) or re.sub(r"\\([\\'])", r"\1", single) or bare for name, double, single, bare in found}
