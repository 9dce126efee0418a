"""The command line: one file per command group. LangGraph is imported when a command needs it, not before."""

import errno
import io
import logging
import os
import sys
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from loopwright import __version__
from loopwright.cli import check, evaluate, graph, mcp, models, run, serve, worker
from loopwright.cli.words import one_line
from loopwright.errors import LoopwrightError
from loopwright.workflows import registry


class Commands(TyperGroup):
    """Our commands, and the words that installed workflows have of their own, imported when they are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, in order."""
        return sorted({*super().list_commands(ctx), *registry.command_names()})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name; no workflow takes one of ours."""
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in registry.command_names():
            return run.command(cmd_name, partial(registry.commands, cmd_name))
        return found


app = typer.Typer(
    name="loopwright",
    cls=Commands,
    help="Agent graphs that correct themselves, and always stop.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("check")(check.check)
app.command("evaluate")(evaluate.evaluate)
app.add_typer(graph.app, name="graph")
app.command("mcp")(mcp.mcp)
app.add_typer(models.app, name="models")
app.add_typer(
    typer.Typer(cls=run.Workflows, help="Run a workflow or graph; its options are its input.", no_args_is_help=True),
    name="run",
)
app.command("serve")(serve.serve)
app.command("worker")(worker.worker)


_EXTRAS = {
    "mcp": "mcp", "mcp_types": "mcp", "numpy": "onnx", "onnxruntime": "onnx", "tokenizers": "onnx",
    "procrastinate": "postgres", "psycopg": "postgres",
    "fastapi": "server", "uvicorn": "server", "starlette": "server", "sqlalchemy": "server",
    "limits": "server", "prometheus_client": "server", "multipart": "server", "python_multipart": "server",
    "watchfiles": "server",
}  # fmt: skip
"""Package -> the extra of this one that installs it; what a workflow needs is in the extra that is called as it is."""


class Terse(logging.Formatter):
    """One line for each record: tracebacks are for the debug log."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the level and the message."""
        return f"{record.levelname} {' '.join(record.getMessage().split())}"


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"loopwright {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Say the version and end.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what happens to standard error.")] = False,
) -> None:
    """Set up logging: always to standard error, so that standard output is the result alone."""
    terminal = logging.StreamHandler(sys.stderr)
    terminal.setFormatter(Terse())
    # Each handler has its own level, so that a debug log on file does not fill the terminal.
    terminal.setLevel(logging.INFO if verbose else logging.WARNING)
    logging.basicConfig(handlers=[terminal], level=logging.WARNING, force=True)
    logging.getLogger("loopwright").setLevel(logging.INFO)


def main() -> None:
    """Run the command line: a mistake of the user's is one line on standard error and exit code 2."""
    for stream, errors in ((sys.stdout, "backslashreplace"), (sys.stdin, "replace")):
        if isinstance(stream, io.TextIOWrapper):  # elsewhere than in UTF-8, not every character can be written or read
            stream.reconfigure(errors=errors)
    try:
        try:
            app()
        finally:
            with suppress(BrokenPipeError):
                print(end="", flush=True)  # at its end, Python would tell of a full disk in its own way
    except LoopwrightError as error:
        print(f"loopwright: {one_line(error)}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python tries once more with what is left
        print(f"loopwright: nothing more can be written: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        called = next((word for word in sys.argv[1:] if word in registry.names()), None)
        extra = _EXTRAS.get(missing)
        if extra is None and called is None:
            raise
        told = registry.missing(called, error) if called and (extra is None or missing == "numpy") else None
        told = told or f"{error.name} is not installed: pip install 'loopwright[{extra}]'"
        print(f"loopwright: {told}", file=sys.stderr)
        sys.exit(2)
