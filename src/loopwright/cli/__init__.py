"""The command line: one file per command group. LangGraph is imported when a command needs it, not before."""

from __future__ import annotations

import logging
import os
import sys
from typing import Annotated

import typer

from loopwright.cli import assistant, check, checkpoints, graph, iqa, models, rag, runs, serve
from loopwright.cli.words import one_line
from loopwright.errors import LoopwrightError

app = typer.Typer(
    name="loopwright",
    help="Agent graphs that correct themselves, and always stop.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(assistant.app, name="assistant")
app.command("check")(check.check)
app.add_typer(checkpoints.app, name="checkpoints")
app.add_typer(graph.app, name="graph")
app.add_typer(iqa.app, name="iqa")
app.add_typer(models.app, name="models")
app.add_typer(rag.app, name="rag")
app.add_typer(runs.app, name="runs")
app.command("serve")(serve.serve)


_EXTRAS = {
    "cv2": "iqa", "PIL": "iqa", "jinja2": "rag", "numpy": "rag", "scipy": "rag", "Stemmer": "rag", "bs4": "rag",
    "lxml": "rag", "docx": "rag", "pypdf": "rag", "markdown_it": "rag", "httpx": "rag", "ddgs": "web",
    "onnxruntime": "onnx", "tokenizers": "onnx", "huggingface_hub": "onnx", "pg8000": "postgres",
    "icalendar": "assistant", "fastapi": "server", "uvicorn": "server", "starlette": "server",
    "sqlalchemy": "server", "limits": "server", "prometheus_client": "server", "multipart": "server",
    "python_multipart": "server",
}  # fmt: skip
"""Package -> the extra of this one that installs it."""
_WORKFLOWS = ("iqa", "rag", "assistant")
"""The extras that bear the name of a command."""


class Terse(logging.Formatter):
    """One line for each record: tracebacks are for the debug log."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the level and the message."""
        return f"{record.levelname} {' '.join(record.getMessage().split())}"


@app.callback()
def options(
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
    try:
        app()
    except LoopwrightError as error:
        print(f"loopwright: {one_line(error)}", file=sys.stderr)
        sys.exit(2)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        # What several workflows have is missing for the one that was called.
        called = next((word for word in sys.argv[1:] if word in _WORKFLOWS), extra)
        extra = called if extra in _WORKFLOWS else extra
        print(f"loopwright: {error.name} is not installed: pip install 'loopwright[{extra}]'", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("loopwright: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader (head, say) went away; Python would complain again when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
