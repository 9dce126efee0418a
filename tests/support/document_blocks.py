"""The code blocks of README.md and docs/, followed as a reader would: in order, in one folder, with what they print compared.

``python tests/support/document_blocks.py docs/NAME.md ...`` writes what the commands print today into these documents, except where ``...`` is shown.

- A Python block is run where those before it left off. One that begins with ``# NAME.py`` is written to that file instead, as is
  any block with ``title="NAME"`` behind the language.
- ``console``: what stands behind ``$`` is run by bash; the lines below it are what it prints. ``loopwright serve`` and its like go on
  until the next of them or the end of the document, on a free port.
- ``text`` behind a Python block is what that prints. ``...`` stands for anything, durations and ids for any others.
- ``{excerpt="FILE"}`` behind the language: the block stands in that file, and is not run. ``{needs="PACKAGE"}``: run where that is
  installed. ``{skip="WHY"}``: not run.
"""

import ast
import contextlib
import doctest
import io
import json
import logging
import os
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import yaml
from search_server import closed_port

from loopwright import BoundedGraph, check_certificate
from loopwright.cli import main

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(
    r'^```(?P<language>\w+)(?P<options>(?: \{?\w+="[^"]*"\}?)*)\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL
)
SERVES = re.compile(r"^(?:\w+=\S+ )*loopwright (?:serve|worker|mcp --http)\b")
PORTS = re.compile(r"((?:localhost|127\.0\.0\.1):|--port |--http )(\d{4,5})\b")
LOOSE = (
    (re.compile(r"^(?:\d+ of \d+, .* left|INFO:? .*|WARNING .*|loading .*)\n", re.MULTILINE), ""),  # progress, logs
    (re.compile(r"\d+(?:\.\d+)? (?:ms|s)\b"), "# s"),
    (re.compile(r"\d+(?:\.\d+)? [kM]B\b"), "# kB"),
    (re.compile(r"\b(?:task [0-9a-f]{8}|[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4,12})+)\b"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.\d]*)(?:Z|\+00:00)?"), "TIME"),
)
ENDS_WITHIN = 120


@dataclass(frozen=True)
class Block:
    """One code block of a document."""

    document: Path
    line: int
    language: str
    options: dict[str, str]
    text: str

    @property
    def file(self) -> str | None:
        """The file that it is the text of."""
        named = re.match(r"# ([\w.-]+\.\w+)\n", self.text)
        return self.options.get("title") or (named and named[1])

    @property
    def skip(self) -> str | None:
        """Why it is not run here."""
        package = self.options.get("needs")
        return self.options.get("skip") or (package if package and find_spec(package) is None else None)


def blocks(document: Path) -> list[Block]:
    """The blocks of a document, in their order."""
    text = document.read_text(encoding="utf-8")
    return [
        Block(
            document,
            text.count("\n", 0, found.start()) + 1,
            found["language"],
            dict(re.findall(r'(\w+)="([^"]*)"', found["options"])),
            found["text"],
        )
        for found in FENCE.finditer(text)
    ]


def commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the lines shown below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command += f"\n{more}"
        yield command, shown


def same(shown: str, printed: str) -> bool:
    """Whether what is shown is what was printed, but for what differs from run to run."""
    for pattern, instead in LOOSE:
        shown, printed = pattern.sub(instead, shown), pattern.sub(instead, printed)
    return doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)


@dataclass
class Reader:
    """Somebody who follows a document from top to bottom.

    Attributes:
        folder: Where; it holds what a checkout holds of examples.
        told: What is made of an output that is not the one that is shown: block, what is shown, what was printed.
        here: Whether commands of Loopwright and Python are called in this process.
    """

    folder: Path
    told: Callable[[Block, str, str], None]
    here: bool = False
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "document"})
    servers: list[subprocess.Popen[str]] = field(default_factory=list)
    ports: dict[str, str] = field(default_factory=dict)
    printed: str | None = None

    def follow(self, document: Path) -> None:
        """Do what the document says; AssertionError if a command fails, or does not end."""
        for folder in ("examples", "configs"):
            shutil.copytree(ROOT / folder, self.folder / folder, ignore=shutil.ignore_patterns("__pycache__"))
        before, modules = Path.cwd(), set(sys.modules)
        os.chdir(self.folder)
        sys.path.insert(0, str(self.folder))
        try:
            for block in blocks(document):
                self.do(block)
        finally:
            sys.path.remove(str(self.folder))
            os.chdir(before)
            for name in set(sys.modules) - modules:
                if str(self.folder) in str(getattr(sys.modules[name], "__file__", "")):
                    del sys.modules[name]
            for server in self.servers:
                os.killpg(server.pid, signal.SIGTERM)
            for server in self.servers:
                server.wait(30)

    def do(self, block: Block) -> None:
        """Do what one block says."""
        printed, self.printed = self.printed, None
        if block.skip:
            return
        if block.language in DATA:
            DATA[block.language](block.text)
        if source := block.options.get("excerpt"):
            text = (ROOT / source).read_text(encoding="utf-8")
            assert block.text in text or textwrap.indent(block.text, "    ") in text, f"{place(block)}: not in {source}"
            return
        if block.file:
            Path(block.file).write_text(self.on_free_ports(block.text), encoding="utf-8")
        elif block.language == "python":
            self.printed = self.run_python(block)
        elif block.language == "console":
            for command, shown in commands(block.text):
                self.compare(block, shown, self.run(block, command))
        elif block.language == "text" and printed is not None:
            self.compare(block, block.text, printed)

    def compare(self, block: Block, shown: str, printed: str) -> None:
        """Tell where what was printed is not what is shown. Where nothing is shown, anything may be printed."""
        if shown.strip() and not same(shown, self.as_written(printed)):
            lines = self.as_written(printed).strip("\n").splitlines()
            self.told(block, shown, "".join(f"{line.rstrip()}\n" for line in lines))

    def run_python(self, block: Block) -> str:
        """Run a Python block after those before it; where it prints nothing, its last value is shown as in a notebook."""
        printed = io.StringIO()
        body = ast.parse("\n" * block.line + block.text, str(block.document))
        last = ast.Expression(body.body.pop().value) if isinstance(body.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(printed):
            exec(compile(body, str(block.document), "exec", dont_inherit=True), self.names)
            value = eval(compile(last, str(block.document), "eval", dont_inherit=True), self.names) if last else None
        for graph in (each for each in self.names.values() if isinstance(each, BoundedGraph)):
            assert check_certificate(graph, graph.certificate) == [], place(block)
        shows = getattr(value, "_repr_mimebundle_", None)
        return printed.getvalue() or (shows()["text/plain"] if shows else "")

    def run(self, block: Block, command: str) -> str:
        """Run a command; one that serves, until it listens."""
        command = self.on_free_ports(command)
        if command.startswith("cd "):
            os.chdir(command.split()[1])
            return ""
        kept = re.match(r"([A-Z]+)=\$\(", command)
        kept_in = self.folder / ".variables"
        keep = f"\nstatus=$?; declare -p {kept[1]} >>{kept_in}; exit $status" if kept else ""
        words = ["bash", "-c", f"[ ! -f {kept_in} ] || source {kept_in}\n{command}{keep}"]
        if SERVES.match(command):
            if "serve" in command and "--port" not in command:
                words[2] = re.sub(r" *(#|$)", rf" --port {self.port('8000')} \1", command, count=1)
            words[2] = f"exec {words[2]}" if words[2].startswith("loopwright") else words[2]
            return self.serve(block, words)
        alone = re.match(r"(loopwright|python \S+\.py\b)[^|&;<>$`]*$", command)
        if self.here and alone:
            done = self.called(command)
        else:
            # What one program prints and logs comes in order then, as at a terminal.
            ordered = {"PYTHONUNBUFFERED": "1"} if alone else {}
            done = subprocess.run(
                words, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                timeout=ENDS_WITHIN, check=False, env=environment(self.folder) | ordered,
            )  # fmt: skip
        # `loopwright check` ends with 1 where it found something.
        right = (0, 1) if command.startswith("loopwright check") else (0,)
        assert done.returncode in right and "Traceback" not in done.stdout, f"{place(block)}: {command}\n{done.stdout}"
        return done.stdout

    def called(self, command: str) -> subprocess.CompletedProcess[str]:
        """Call a program in this process, which has imported already what takes most of a command's time."""
        words, told = shlex.split(command, comments=True), io.StringIO()
        file = words.pop(1) if words[0] == "python" else ""
        with (
            mock.patch.dict(os.environ, environment(self.folder), clear=True), mock.patch.object(sys, "argv", words),
            mock.patch.object(sys, "path", [str(Path(file).resolve().parent), *sys.path]),
            mock.patch.object(logging.root, "handlers", []),
            contextlib.redirect_stdout(told), contextlib.redirect_stderr(told),
        ):  # fmt: skip
            try:
                runpy.run_path(file, run_name="__main__") if file else main()
                code: Any = 0
            except SystemExit as stop:
                code = stop.code or 0
        return subprocess.CompletedProcess(words, code, told.getvalue())

    def serve(self, block: Block, words: list[str]) -> str:
        """Start a program that goes on to the end of the document."""
        for server in self.servers:  # One after the other, on the same port.
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(30)
        said = self.folder / f"served-{block.line}.txt"
        with said.open("w") as file:
            started = subprocess.Popen(
                words, text=True, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                env=environment(self.folder), start_new_session=True,
            )  # fmt: skip
            self.servers = [started]
        deadline = time.monotonic() + ENDS_WITHIN
        while not re.search(r"listening on|running on|works for", said.read_text()):
            ended = self.servers[0].poll()
            assert ended is None and time.monotonic() < deadline, f"{place(block)}: {words[2]}\n{said.read_text()}"
            time.sleep(0.1)
        return said.read_text()

    def on_free_ports(self, text: str) -> str:
        """With free ports in the place of those of addresses and options."""
        return PORTS.sub(lambda found: found[1] + self.port(found[2]), text)

    def port(self, written: str) -> str:
        """The free port that stands for one of the document."""
        if written not in self.ports:
            self.ports[written] = str(closed_port())
        return self.ports[written]

    def as_written(self, printed: str) -> str:
        """With the document's ports and folder."""
        for written, used in self.ports.items():
            printed = printed.replace(used, written)
        return printed.replace(f"{self.folder}/", "")


DATA: dict[str, Callable[[str], object]] = {
    "json": lambda text: [json.loads(line) for line in text.splitlines()] if "}\n{" in text else json.loads(text),
    "yaml": yaml.safe_load,
    "toml": tomllib.loads,
}
"""How what is no program is read at least."""


def environment(folder: Path) -> dict[str, str]:
    """What a program runs in: an empty home, no colours, wide lines."""
    # Unbuffered, a line is two writes, between which another program's may come.
    left_out = {"LOOPWRIGHT_TOKEN", "PYTEST_ADDOPTS", "FORCE_COLOR", "PYTHONUNBUFFERED"}
    kept = {key: value for key, value in os.environ.items() if key not in left_out}
    return kept | {
        "HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "home/.cache"), "BROWSER": "true", "COLUMNS": "120",
        "NO_COLOR": "1", "TERM": "dumb", "PATH": f"{Path(sys.executable).parent}:{kept['PATH']}",
    }  # fmt: skip


def place(block: Block) -> str:
    """Where a block stands."""
    return f"{block.document.relative_to(ROOT)}:{block.line}"


def update(document: Path, folder: Path) -> None:
    """Write what is printed today into a document."""
    changes: list[tuple[str, str]] = []
    Reader(folder, lambda block, shown, printed: changes.append((shown, printed))).follow(document)
    text = document.read_text(encoding="utf-8")
    for shown, printed in changes:
        print(f"--- {document.name} shows\n{shown}--- printed\n{printed}")
        if "..." not in shown:
            text = text.replace(shown, printed, 1)
    document.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    import tempfile

    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as made:
            update(Path(name).resolve(), Path(made))
