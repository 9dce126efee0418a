"""``loopwright assistant ask`` and ``chat``."""

from __future__ import annotations

import json
import sys
import uuid
from typing import TYPE_CHECKING, Annotated

import typer

from loopwright.cli.assistant.options import GivenMode, Mode, Now, Store, conference
from loopwright.cli.rag.options import AsJson, ConfigFile, printable
from loopwright.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from loopwright.workflows.assistant.events import ChatEvent, Done, Failed, NodeEnd, PipelineSummary
    from loopwright.workflows.assistant.schemas import UserContext
    from loopwright.workflows.assistant.services import Services

User = Annotated[
    str | None, typer.Option("--user", help="Who asks: the profile of this name is used and kept.", show_default=False)
]


def ask(
    question: Annotated[str, typer.Argument(help="The question.", show_default=False)],
    now: Now = None,
    mode: GivenMode = None,
    user: User = None,
    conversation: Annotated[
        str | None,
        typer.Option(help="Go on with the conversation of this name; see assistant.memory.", show_default=False),
    ] = None,
    store: Store = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question about the conference; without one that was read, about the sample conference."""
    from loopwright.workflows.assistant.pipeline import chat as asked
    from loopwright.workflows.assistant.streaming import brief

    context = _context(now=now, user_id=user, conversation_id=conversation)
    with conference(config, store) as services:
        if as_json:
            result = asked(question, user_context=context, services=services, mode=mode)
            print(json.dumps(brief(result), indent=2, ensure_ascii=False))
            code = 1 if result.status == "failed" else 0
        else:
            code = services.background.call(_told, question, context, services, mode)
    if code:
        raise typer.Exit(code)


def chat(
    now: Now = None, mode: GivenMode = None, user: User = None, store: Store = None, config: ConfigFile = None
) -> None:
    """Ask one question after another; each may refer to those before. End with Ctrl-D."""
    context = _context(now=now, user_id=user, conversation_id=uuid.uuid4().hex)
    with conference(config, store) as services:
        while (question := _read()) not in (None, "exit", "quit", "/exit", "/quit"):
            if question:
                services.background.call(_told, question, context, services, mode)


def _read() -> str | None:
    try:
        return input("> " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return None


def _context(**given: str | None) -> UserContext:
    return {key: value for key, value in given.items() if value is not None}


async def _told(question: str, context: UserContext, services: Services, mode: Mode | None) -> int:
    """Ask, and show what happens as it happens; give the exit code."""
    from loopwright.workflows.assistant.pipeline import astream_chat

    shown = _Shown()
    async for event in astream_chat(question, user_context=context, services=services, mode=mode):
        shown.show(event)
    return shown.code


class _Shown:
    """One run on the terminal: the answer on standard output, the rest on standard error."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console: Console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._midway = False
        self._summary: PipelineSummary | None = None
        self.code = 0

    def show(self, event: ChatEvent) -> None:
        """Show an event.

        Args:
            event: The event.
        """
        from loopwright.workflows.assistant import events as told
        from loopwright.workflows.assistant.constants import GENERATE_RESPONSE

        if isinstance(event, told.Acknowledgment):
            self._aside(event.message)
        elif isinstance(event, told.Thinking):
            self._aside(f"({event.strategy or 'nothing left to try'}) {event.message}")
        elif isinstance(event, told.Chunk):
            self._midway = True
            print(printable(event.text), end="", flush=True)
        elif isinstance(event, told.NodeEnd) and event.node == GENERATE_RESPONSE:
            self._text_ended(event)
        elif isinstance(event, told.PipelineSummary):
            self._summary = event
        elif isinstance(event, told.Done | told.Failed):
            self._ended(event)

    def _text_ended(self, event: NodeEnd) -> None:
        """End the line; where the text is no answer, because its model failed, say so."""
        if self._midway:
            print()
            if "response_text" not in event.output:
                self._aside("(that broke off, and the answer begins anew)")
        self._midway = False

    def _ended(self, event: Done | Failed) -> None:
        from loopwright.workflows.assistant.events import Failed

        if isinstance(event, Failed):
            self.code = 2 if event.error_type == InputError.__name__ else 1
            print(f"loopwright: {' '.join(event.error.split())}", file=sys.stderr)
            return
        stops = event.stop_reason if isinstance(event.stop_reason, list) else [event.stop_reason]
        parts = [event.status.replace("_", " ")]
        parts += [
            f"{stop['loop']} {stop['outcome']} after {stop['spent']} of {stop['limit']}" for stop in stops if stop
        ]
        if summary := self._summary:
            if summary.retry_count:
                times = f" {summary.retry_count} times" if summary.retry_count > 1 else ""
                parts.append(f"searched again{times}")
            if summary.model_calls:
                cost = "" if summary.cost is None else f", ${summary.cost:.4f}"
                parts.append(f"{summary.model_calls} model call(s), {summary.tokens} tokens{cost}")
            parts.append(f"{summary.duration_ms:.0f} ms")
        self._aside("; ".join(parts))

    def _aside(self, text: str) -> None:
        self._console.print(printable(text), style="dim", markup=False)
