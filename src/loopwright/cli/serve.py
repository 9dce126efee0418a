"""``loopwright serve``: every workflow over HTTP, and the page that shows its runs."""

from __future__ import annotations

import json
import re
import socket
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopwright.cli.words import ConfigFile
from loopwright.errors import GraphError, InputError, LoopwrightError
from loopwright.workflows import registry

if TYPE_CHECKING:
    from loopwright.workflows.api import Workflow

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
        help="Where runs are kept: sqlite:FILE or postgresql://...; by default runs.db in the data folder.",
        show_default=False,
    ),
]
Work = Annotated[bool, typer.Option("--work/--no-work", help="Work on runs in this process; without it, workers do.")]
Keep = Annotated[
    int | None, typer.Option("--keep", min=1, help="Keep so many runs of each workflow.", show_default=False)
]
KeepDays = Annotated[float | None, typer.Option(min=0, help="Keep runs for so many days.", show_default=False)]
Running = Annotated[int, typer.Option(min=1, help="Runs that go on at the same time; further ones wait their turn.")]
Reads = Annotated[int, typer.Option(min=0, help="Reading requests that a client may send in a minute; 0: any number.")]
Starts = Annotated[int, typer.Option(min=0, help="The same for requests that begin or change something.")]
Demos = Annotated[bool, typer.Option("--demo/--no-demo", help="Show recorded runs where there are none yet.")]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")]

LANGGRAPH = "langgraph.json"
"""The file in which projects name their graphs for LangGraph's own server."""
DATA = Path(".loopwright")
"""Where runs are kept by default."""


@dataclass
class Opened:
    """What is served, opened so far."""

    exits: ExitStack
    """Closes it."""
    address: socket.socket | None = None
    """Where it is served, if it is."""
    workflows: list[Workflow[Any]] = field(default_factory=list["Workflow[Any]"])
    """The workflows."""


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
    reads_per_minute: Reads = 6000,
    starts_per_minute: Starts = 3000,
    demo: Demos = True,
    open: Open = False,
) -> None:
    """Serve workflows and your own graphs over HTTP, with the page that shows their runs, until told to stop."""
    require_known(targets or ())
    if store and [target in registry.names() for target in targets or ()] != [True]:
        raise InputError("--store is for one workflow: name it, or set NAME.store; --runs says where runs are kept")
    with reserved(host, port, token) as served:
        add(served, targets, config, store)
        run(
            served, host, port, token, cors or (), data=data, runs=runs, keep=keep, keep_days=keep_days, work=work,
            running=max_running, rates=(reads_per_minute, starts_per_minute), demo=demo, open=open,
        )  # fmt: skip


@contextmanager
def reserved(host: str, port: int, token: str | None) -> Generator[Opened]:
    """Have the address before anything is loaded, which takes a while; see `serve` for the arguments.

    Args:
        host: The address.
        port: The port.
        token: The bearer token, if any.

    Raises:
        ConfigError: If it cannot be had, or must not be had without a token.
    """
    from loopwright.server.listening import require_token, reserve

    require_token(host, token)
    with ExitStack() as exits:
        yield Opened(exits, exits.enter_context(reserve(host, port)))


def loading(what: str) -> None:
    """Say on standard error what is being loaded.

    Args:
        what: It in words.
    """
    print(f"loading {what} ...", file=sys.stderr, flush=True)


def run(
    served: Opened,
    host: str,
    port: int,
    token: str | None,
    cors: Sequence[str],
    *,
    data: Path = DATA,
    runs: str | None = None,
    keep: int | None = None,
    keep_days: float | None = None,
    work: bool = True,
    running: int,
    rates: tuple[int, int],
    demo: bool = True,
    open: bool = False,
) -> None:
    """Serve what was opened, until told to stop; see `serve` for the arguments.

    Args:
        served: The workflows.
        host: The address.
        port: The port.
        token: The bearer token, if any.
        cors: The origins whose pages may use the server.
        data: The folder for what is kept.
        runs: The address of the run history.
        keep: Runs of each workflow that are kept.
        keep_days: Days for which runs are kept.
        work: Whether this process works on runs.
        running: Runs that go on at the same time.
        rates: Requests that a client may send in a minute: reading ones, and others.
        demo: Whether recorded runs are shown.
        open: Whether to open the page in the browser.
    """
    loading("the server and its run history")
    from loopwright.server import ServerSettings, Serving
    from loopwright.server import serve as serve_until_told
    from loopwright.server.retention import Retention

    def started(address: str) -> None:
        print(f"listening on {address}; stop with Ctrl-C", file=sys.stderr)
        if open:
            typer.launch(address)

    serving = Serving(
        workflows=served.workflows,
        settings=ServerSettings(data=data, reads_per_minute=rates[0], starts_per_minute=rates[1]),
        runs=runs,
        retention=Retention(keep, keep_days),
        max_running=running,
        works=work,
        demos=demo,
    )
    from loopwright.tracing import exporting

    with exporting():
        serve_until_told(serving, host, port, token, cors, reserved=served.address, started=started)


def add(
    served: Opened,
    targets: Sequence[str] | None,
    config: Path | None,
    store: str | None = None,
    *,
    warm: bool = True,
) -> None:
    """Open workflows.

    Args:
        served: Takes them.
        targets: Names, modules and files; None for what is installed.
        config: The configuration.
        store: Where the one workflow has its documents.
        warm: Whether what the first run would wait for is made now.
    """
    for target in targets or _installed():
        if targets:
            loading(target)
        _add(served, target, config, store, warm)


def require_known(targets: Sequence[str]) -> None:
    """Refuse what can be seen to be wrong without loading anything."""
    for target in targets:
        place = registry.place_of(target).partition(":")[0]
        if place.endswith(".py") and not Path(place).is_file():
            raise GraphError(f"there is no file {place}")


def _installed() -> Iterator[str]:
    """What a ``langgraph.json`` here names, else the workflows whose packages are installed, each when asked for."""
    if Path(LANGGRAPH).is_file():
        loading(LANGGRAPH)
        yield LANGGRAPH
        return
    found = False
    for name in registry.names():
        loading(name)
        try:
            registry.load(name)
        except LoopwrightError as error:
            print(f"loopwright: {name} is left out: {' '.join(str(error).split())}", file=sys.stderr)
        else:
            found = True
            yield name
    if not found:
        raise InputError("no workflow is installed, and no graph was named: give MODULE:GRAPH or FILE.py")


def _add(served: Opened, target: str, config: Path | None, store: str | None, warm: bool) -> None:
    if Path(target).name == LANGGRAPH:
        return _add_configured(served, Path(target))
    if target not in registry.names():
        return _add_own(served, target)
    workflow = registry.load(target).open(config, {f"{target}.store": store} if store else None)
    served.exits.callback(workflow.close)
    if warm:
        workflow.warm_up()
    served.workflows.append(workflow)


def _add_own(served: Opened, target: str) -> None:
    from loopwright.check.loading import load_graphs
    from loopwright.workflows.user_graph import UserGraph

    for named, graph in load_graphs(target).items():
        place, _colon, variable = named.partition(":")
        stem = Path(place).stem if place.endswith(".py") else place.rpartition(".")[2]
        taken = {hosted.name for hosted in served.workflows}
        words = re.sub(r"[^a-z0-9]+", "-", f"{stem} {variable}".lower()).strip("-")
        name = next(each for each in _numbered(words or "graph") if each not in taken)
        served.workflows.append(UserGraph(name, graph))


def _add_configured(served: Opened, file: Path) -> None:
    """Load the graphs that a ``langgraph.json`` names, each under its own name there."""
    from loopwright.check.loading import load_graphs
    from loopwright.workflows.user_graph import UserGraph

    try:
        graphs: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["graphs"]
        places = {name: each if isinstance(each, str) else str(each["path"]) for name, each in graphs.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise GraphError(f"{file} names no graphs: {type(error).__name__}: {error}") from error
    folder = file.resolve().parent
    sys.path.insert(0, str(folder))  # where its dependency "." is
    for name, place in places.items():
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name) or name in registry.names():
            raise GraphError(f"{file}: {name!r} cannot name a graph: letters, digits, - and _, and no workflow of ours")
        path, _colon, variable = place.partition(":")
        target = f"{folder / path}:{variable}" if path.endswith(".py") else place
        (graph,) = load_graphs(target).values()
        served.workflows.append(UserGraph(name, graph))


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        yield f"{name}-{number}"
