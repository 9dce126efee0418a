"""``loopwright serve``: every workflow over HTTP, and the page that shows its runs."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopwright.cli.assistant.options import Store, conference
from loopwright.cli.rag.options import ConfigFile
from loopwright.errors import GraphError, InputError, UnknownNameError

if TYPE_CHECKING:
    from loopwright.workflows.assistant.services import Services as AssistantServices
    from loopwright.workflows.hosting import Hosted
    from loopwright.workflows.rag.services import Services as RagServices

OURS = ("assistant", "iqa", "rag")
"""The workflows that ship, by the name that the command line takes."""
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
Keep = Annotated[
    int | None, typer.Option("--keep", min=1, help="Keep so many runs of each workflow.", show_default=False)
]
KeepDays = Annotated[float | None, typer.Option(min=0, help="Keep runs for so many days.", show_default=False)]
Reads = Annotated[int, typer.Option(min=0, help="Reading requests that a client may send in a minute; 0: any number.")]
Starts = Annotated[int, typer.Option(min=0, help="The same for requests that begin or change something.")]
Demos = Annotated[bool, typer.Option("--demo/--no-demo", help="Show recorded runs where there are none yet.")]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")]

DATA = Path(".loopwright")
"""Where runs are kept by default."""


@dataclass
class Opened:
    """What is served, opened so far."""

    exits: ExitStack
    """Closes it."""
    address: socket.socket
    """Where it is served."""
    workflows: list[Hosted] = field(default_factory=list["Hosted"])
    """The workflows."""
    assistant: AssistantServices | None = None
    """The services of the assistant, if it is served."""
    rag: RagServices | None = None
    """The services of the questions about documents, if they are served."""


def serve(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[assistant|iqa|rag|MODULE:GRAPH|FILE.py[:GRAPH]]...", show_default=False,
            help="What to serve; by default the workflows whose packages are installed.",
        ),
    ] = None,
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
    reads_per_minute: Reads = 6000,
    starts_per_minute: Starts = 3000,
    demo: Demos = True,
    open: Open = False,
) -> None:  # fmt: skip
    """Serve workflows and your own graphs over HTTP, with the page that shows their runs, until told to stop."""
    _require_known(targets or ())
    with reserved(host, port, token) as served:
        for target in targets or _installed():
            if targets:
                loading(target)
            _add(served, target, config, store)
        run(
            served, host, port, token, cors or (), data=data, runs=runs, keep=keep, keep_days=keep_days,
            rates=(reads_per_minute, starts_per_minute), demo=demo, open=open,
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
        demos=demo,
        assistant=served.assistant,
        rag=served.rag,
    )
    serve_until_told(serving, host, port, token, cors, reserved=served.address, started=started)


def add_assistant(served: Opened, config: Path | None, store: str | None) -> None:
    """Open the assistant, and what is derived from its conference.

    Args:
        served: Gets it.
        config: The configuration that was named.
        store: The store that was named.
    """
    from loopwright.workflows.assistant.hosted import AssistantHosted
    from loopwright.workflows.assistant.pipeline import warm_up

    services = served.exits.enter_context(conference(config, store))
    warm_up(services)
    served.assistant = services
    served.workflows.append(AssistantHosted(services))


def _require_known(targets: Sequence[str]) -> None:
    """Refuse what can be seen to be wrong without loading anything."""
    for target in targets:
        place = target.partition(":")[0]
        if target not in OURS and not any(mark in target for mark in (":", ".", "/")):
            raise UnknownNameError("workflow", target, OURS)
        if place.endswith(".py") and not Path(place).is_file():
            raise GraphError(f"there is no file {place}")


def _installed() -> Iterator[str]:
    """Those of our workflows whose packages are installed, each when it is asked for."""
    from importlib import import_module

    found = False
    for name in OURS:
        loading(name)
        try:
            import_module(f"loopwright.workflows.{name}.hosted")
        except ModuleNotFoundError as error:
            missing = f"{error.name} is not installed: pip install 'loopwright[{name}]'"
            print(f"loopwright: {name} is left out: {missing}", file=sys.stderr)
        else:
            found = True
            yield name
    if not found:
        raise InputError("no workflow is installed, and no graph was named: give MODULE:GRAPH or FILE.py")


def _add(served: Opened, target: str, config: Path | None, store: str | None) -> None:
    if target == "assistant":
        add_assistant(served, config, store)
    elif target == "iqa":
        from loopwright.workflows.iqa import IQAConfig, Services
        from loopwright.workflows.iqa.hosted import IqaHosted

        served.workflows.append(IqaHosted(Services.of(IQAConfig.load(config))))
    elif target == "rag":
        _add_rag(served, config)
    else:
        _add_own(served, target)


def _add_rag(served: Opened, config: Path | None) -> None:
    from loopwright.workflows.rag import RAGConfig
    from loopwright.workflows.rag.hosted import RagHosted
    from loopwright.workflows.rag.sample import sample_store
    from loopwright.workflows.rag.services import Services

    settings = RAGConfig.load(config)
    usual = settings.rag.store == type(settings.rag).model_fields["store"].default
    sample = None
    if usual and not Path(settings.rag.store.partition(":")[2]).exists():
        told = "this is the sample, and what is added to it is gone at the end; `loopwright rag ingest` reads yours"
        print(f"no documents were read yet: {told}", file=sys.stderr)
        sample = served.exits.enter_context(sample_store())
    served.rag = served.exits.enter_context(Services.of(settings, sample))
    served.workflows.append(RagHosted(served.rag))


def _add_own(served: Opened, target: str) -> None:
    from loopwright.cli.loading import load_graphs
    from loopwright.workflows.own_graph import OwnGraph

    for named, graph in load_graphs(target).items():
        place, _colon, variable = named.partition(":")
        stem = Path(place).stem if place.endswith(".py") else place.rpartition(".")[2]
        taken = {hosted.name for hosted in served.workflows}
        words = re.sub(r"[^a-z0-9]+", "-", f"{stem} {variable}".lower()).strip("-")
        name = next(each for each in _numbered(words or "graph") if each not in taken)
        served.workflows.append(OwnGraph(name, graph))


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        yield f"{name}-{number}"
