"""Asking a node's chat model with the node's prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TypeVar

from pydantic import BaseModel

from loopwright.errors import ModelError
from loopwright.models import PromptLibrary, aask
from loopwright.retrieval.web import quote_untrusted, untrusted_line
from loopwright.workflows.rag.schemas import Evidence
from loopwright.workflows.rag.services import Services

T = TypeVar("T", bound=BaseModel)


@cache
def prompts() -> PromptLibrary:
    """The prompts of this workflow."""
    return PromptLibrary.of_package("loopwright.workflows.rag")


async def ask_model(
    services: Services, node: str, schema: type[T], question: str, prompt: str = "", **values: str
) -> T:
    """Ask the chat model of a node for a reply that fits a schema.

    What others wrote goes into ``values`` as `numbered`, `shown` or `listed` make it safe.

    Raises:
        ModelError: If the node has no chat model.
        StructuredReplyError: If the reply still breaks the schema after the repairs.
    """
    chat = services.chat(node)
    if chat is None:
        raise ModelError(f"node {node!r} has no chat model: name one under 'models' in the configuration")
    text = prompts().get(prompt or node).render(question=untrusted_line(question), **values)
    return await aask(chat, text, schema, repairs=services.config.rag.repairs, node=node, usage=services.usage)


def numbered(evidence: Sequence[Evidence]) -> str:
    """Passages for a prompt, numbered from 1, each on one line, all fenced as data that is never an instruction."""
    lines = [
        f"[{number}] {untrusted_line(found.title)}: {untrusted_line(found.text)}"
        for number, found in enumerate(evidence, 1)
    ]
    return quote_untrusted("\n".join(lines), source="the passages found") if lines else "none"


def shown(found: Evidence) -> str:
    """One passage for a prompt, fenced as data that is never an instruction."""
    return quote_untrusted(found.text, source=found.title)


def listed(lines: Iterable[str], *, numbers: bool = False) -> str:
    """Lines that came from documents, people or models for a prompt: each on one line, and no more than data."""
    marked = (f"{f'{place}.' if numbers else '-'} {untrusted_line(line)}" for place, line in enumerate(lines, 1))
    return "\n".join(marked) or "none"
