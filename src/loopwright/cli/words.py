"""How things are said on the command line, and the options that many commands share."""

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from loopwright.errors import LoopwrightError, NodeFailed

ConfigFile = Annotated[Path | None, typer.Option("--config", "-c", help="A YAML file.", readable=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def one_line(error: LoopwrightError) -> str:
    """An error's message in one line; of an error of ours within a node, its own message."""
    cause = error.__cause__ if isinstance(error, NodeFailed) else None
    return " ".join(str(cause if isinstance(cause, LoopwrightError) else error).split())


def visible(text: str) -> str:
    """A text of a document's for the terminal, without control and direction characters."""
    from loopwright.retrieval.web.quoting import DECEPTIVE

    return DECEPTIVE.sub("", text.replace("\r", ""))


def typed() -> Iterator[str]:
    """What a person types, line by line, until Ctrl-D or a word that ends a chat; empty lines are nothing."""
    while True:
        try:
            line = input("> " if sys.stdin.isatty() else "").strip()
        except EOFError:
            return
        if line in ("exit", "quit", "/exit", "/quit"):
            return
        if line:
            yield line


@contextmanager
def shown_count(what: str, wanted: bool) -> Generator[Callable[..., None]]:
    """Draw how many of something, in the plural, are done, in other words where given; nothing unless it is wanted."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True, quiet=not wanted), disable=not wanted) as bar:
        task = bar.add_task(what, total=None)

        def draw(done: int, total: int, told: str = what) -> None:
            bar.update(task, completed=done, total=total, description=told)

        yield draw
