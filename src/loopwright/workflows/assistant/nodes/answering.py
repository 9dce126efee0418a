"""Writing the answer, telling it piece by piece so that the pieces together are the answer, and judging it."""

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage

from loopwright.engine.events.schema import TextStreamed, emit
from loopwright.errors import ModelError
from loopwright.models.conversation import awritten
from loopwright.retrieval.web import untrusted_line
from loopwright.workflows.assistant.answer.evaluating import EvaluationReply, evaluate_answer, evaluation_of
from loopwright.workflows.assistant.answer.listing import chosen, list_answer
from loopwright.workflows.assistant.answer.references import offered, referenced, shown_hits, without_strangers
from loopwright.workflows.assistant.constants import EVALUATE, GENERATE_RESPONSE
from loopwright.workflows.assistant.schemas import Draft, Evaluation, Found, Operation
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState, asked_of, question_of

COMPUTED: tuple[Operation, ...] = ("count", "most", "clash", "compare", "until")
"""What is computed from the records, which no model is to guess."""
_PIECE = 120
"""Characters of one piece of a text that was not written piece by piece."""
# What may become a mark: a bracket that is open, or was closed last, where a parenthesis may make a link of it; with
# the blanks before it, which go with it, and a backslash, which makes it none.
_UNCERTAIN = re.compile(r"[ \t\n\r\\]*(?:[\[【][^\]】\n]{0,400}[\]】]?)?\Z")


async def generate_response(state: AssistantState, services: Services) -> dict[str, Any]:
    """Write the answer from what was found, and say what was not.

    Reads ``question``, ``query_results`` and ``thinking_updates``; gives ``response_text``, ``referenced_ids`` (each
    was put before the writer and is cited), ``status``, and the answer as a message.

    Raises:
        ModelError: If the model writes nothing.
    """
    chat, shown = services.chat(GENERATE_RESPONSE), _offered(state, services)
    if chat is None or asked_of(state).operation in COMPUTED or not shown:
        return written_by_rules(state, services)
    prompt = services.prompts().get(GENERATE_RESPONSE)
    text = prompt.render(
        question=untrusted_line(question_of(state)),
        records=shown_hits(shown),
        notes="\n".join(f"- {untrusted_line(note)}" for note in asked_of(state).notes) or "none",
    )
    ids = [each.record.id for each in shown]
    telling = Telling(ids)
    await awritten(chat, text, node=GENERATE_RESPONSE, tell=telling.add)
    answer = telling.end()
    if not answer:
        raise ModelError("the chat model wrote no answer")
    cited = referenced(answer, ids)
    used = [each for each in shown if each.record.id in cited]
    status, _told = chosen(asked_of(state), used, (), services.config.assistant.search.score_threshold)
    return _answered(Draft(text=answer, referenced_ids=cited, status=status))


def written_by_rules(state: AssistantState, services: Services) -> dict[str, Any]:
    """The same without a model: a list that explains each hit."""
    draft = list_answer(state, services.search.catalogue, services.config.assistant.search)
    for start in range(0, len(draft.text), _PIECE):
        tell(draft.text[start : start + _PIECE])
    return _answered(draft)


async def evaluate(state: AssistantState, services: Services) -> dict[str, Any]:
    """Judge the answer: does it meet the question, how sure is it, do the cited records bear it out?

    Reads ``question``, ``response_text``, ``referenced_ids`` and ``query_results``; gives ``evaluation``, with scores.
    """
    if services.chat(EVALUATE) is None:
        return judged_by_rules(state, services)
    reply = await services.reply(
        EVALUATE,
        EvaluationReply,
        question=question_of(state),
        records=shown_hits(_offered(state, services)),
        answer=untrusted_line(state.get("response_text") or ""),
    )
    return _judged(evaluation_of(reply, _by_rules(state)))


def judged_by_rules(state: AssistantState, services: Services) -> dict[str, Any]:
    """The same without a model."""
    return _judged(_by_rules(state))


def _by_rules(state: AssistantState) -> Evaluation:
    draft = Draft(text=state.get("response_text") or "", referenced_ids=tuple(state.get("referenced_ids") or ()))
    return evaluate_answer(asked_of(state), draft, state.get("query_results") or {})


def _judged(evaluation: Evaluation) -> dict[str, Any]:
    return {"evaluation": evaluation, **evaluation.model_dump(exclude={"issues"})}


def _answered(draft: Draft) -> dict[str, Any]:
    return {
        "response_text": draft.text,
        "referenced_ids": list(draft.referenced_ids),
        "status": draft.status,
        "messages": [AIMessage(draft.text)],
    }


def _offered(state: AssistantState, services: Services) -> list[Found]:
    found: dict[str, list[Found]] = state.get("query_results") or {}
    return offered(found, services.config.assistant.search.limit)


class Telling:
    """An answer on its way from a chat model to the person, without marks to records that were not offered.

    What may be a part of a mark is kept back until the mark is whole.
    """

    def __init__(self, offered_ids: Sequence[str]) -> None:
        self._ids = offered_ids
        self._kept = ""
        self._told = ""

    def add(self, piece: str) -> None:
        """Tell what a further piece of the model's text makes certain."""
        self._kept += piece
        uncertain = _UNCERTAIN.search(self._kept)
        end = uncertain.start() if uncertain else len(self._kept)
        certain, self._kept = self._kept[:end], self._kept[end:]
        self._tell(certain)

    def end(self) -> str:
        """Tell the rest, and give back everything that was told: the answer."""
        self._tell(self._kept.rstrip())
        return self._told

    def _tell(self, text: str) -> None:
        text = without_strangers(text, self._ids)
        if not self._told:
            text = text.lstrip()
        self._told += text
        tell(text)


def tell(text: str) -> None:
    """Tell a piece of the answer."""
    if text:
        emit(TextStreamed(node=GENERATE_RESPONSE, text=text).model_dump(mode="json"))
