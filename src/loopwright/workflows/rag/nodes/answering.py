"""Writing the answer and grading it."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.errors import GraphBubbleUp
from pydantic import BaseModel

from loopwright.engine.events.schema import TextStreamed, emit
from loopwright.models.conversation import awritten
from loopwright.retrieval.records import Evidence
from loopwright.retrieval.web import untrusted_line
from loopwright.workflows.rag.answer.citations import cite, marked
from loopwright.workflows.rag.answer.reader import ANSWERED, extract_answer
from loopwright.workflows.rag.answer.verdict import grade_answer, relevance
from loopwright.workflows.rag.nodes.searching import listed, numbered
from loopwright.workflows.rag.schemas import Answer, AnswerGrade, Sentence, Status
from loopwright.workflows.rag.services import Services
from loopwright.workflows.rag.state import GraphState, asked_of, gathered

logger = logging.getLogger("loopwright.rag")

NODE = "answer_generation"
_AGAIN = 0.85
_SHORT = 96
"""Tokens of a small model's answer."""


async def answer_generation(state: GraphState, services: Services) -> dict[str, Any]:
    """Write the answer from the relevant passages, each sentence with its citations, or say that they do not answer it.

    Another attempt is told which sentences of the last one nothing bears out.

    Reads ``standalone``, ``documents``, ``earlier_documents``, ``complexity``, ``web_note``, and for another
    attempt ``generation`` and ``answer_grade``; writes ``generation``; its citations are verified to stand in their
    sources.
    """
    evidence = gathered(state)
    grade: AnswerGrade | None = state.get("answer_grade")
    unsupported = grade.unsupported if grade and not grade.supported else ()
    chat = services.chat(NODE)
    if chat is None or services.is_small(NODE) or not evidence:
        answer = await asyncio.to_thread(_quoted, state, evidence, services)
        if chat is not None and answer.confidence >= ANSWERED:
            answer = await _with_short_answer(chat, state, answer, services)
        earlier = state.get("generation")
        if earlier is not None and earlier.confidence > answer.confidence:
            # Another search may lead away from what was found before.
            answer = earlier
        if answer.abstained and (note := state.get("web_note")):
            answer = answer.model_copy(update={"text": f"{answer.text} {note}"})
        _tell(answer.text)
    else:
        answer = cite(await _written(chat, state, evidence, unsupported, services), evidence)
        if not answer.sentences and (answer.left_out or not answer.text):
            # A claim that nothing bears out, or an empty reply, is not shown; the passages that fit best are.
            quoted = await asyncio.to_thread(_quoted, state, evidence, services)
            shown = {"left_out": answer.left_out, "removed_citations": answer.removed_citations}
            answer = quoted.model_copy(update={**shown, "abstained": answer.abstained and quoted.abstained})
    return {"generation": answer, "answer_grade": None, "status": None}


def _quoted(state: GraphState, evidence: Sequence[Evidence], services: Services) -> Answer:
    """The passages that answer best; of a reranker, the best passage's logit says how sure that is."""
    if not any(each.origin == "graph" for each in evidence):
        return extract_answer(asked_of(state), evidence)
    question, lexicon, reranker = asked_of(state), services.retriever.lexicon, services.reranker
    logits = None if reranker is None else relevance(reranker, question, evidence, lexicon)
    # Every further search is another chance to look right.
    trust = _AGAIN if state.get("retry_count") else 1.0
    return extract_answer(question, evidence, lexicon=lexicon, logits=logits, trust=trust)


async def _with_short_answer(chat: BaseChatModel, state: GraphState, answer: Answer, services: Services) -> Answer:
    """A small model's sentence before quotes that are sure to answer, where they bear it out; else the quotes alone."""
    quoted = [
        Evidence(id=str(each.number), text=each.quote, title=each.title, heading=each.heading)
        for each in answer.citations
    ]
    try:
        # The quotes come in time, whether or not the model is ready by then.
        async with asyncio.timeout(services.config.rag.timeout.model / 2):
            written = cite(await _written(chat, state, quoted, (), services, short=True), quoted)
    except GraphBubbleUp:
        raise
    except Exception as error:
        logger.warning("the quotes stand alone, without a short answer: %s: %s", type(error).__name__, error)
        return answer
    if not written.sentences:
        return answer
    first = written.sentences[0]
    numbers = tuple(int(each.evidence_id) for each in written.citations if each.number in first.citations)
    said = Sentence(text=first.text, citations=numbers)
    text = f"{marked(said)}\n\n{answer.text}"
    return answer.model_copy(update={"short": first.text, "sentences": (said, *answer.sentences), "text": text})


async def _written(
    chat: BaseChatModel,
    state: GraphState,
    evidence: Sequence[Evidence],
    unsupported: Sequence[str],
    services: Services,
    *,
    short: bool = False,
) -> str:
    """A chat model's draft, told piece by piece as it comes, but for a short one that stands beside quotes."""
    question, passages = untrusted_line(asked_of(state)), numbered(evidence)
    text = services.prompts().get(NODE).render(question=question, passages=passages, unsupported=listed(unsupported))
    options: dict[str, Any] = {"max_tokens": _SHORT} if short else {}
    tell = None if short else _tell
    return await awritten(chat, text, node=NODE, tell=tell, **options)


def _tell(text: str) -> None:
    if text:
        emit(TextStreamed(node=NODE, text=text).model_dump(mode="json"))


class Verdicts(BaseModel):
    """A chat model's verdicts on an answer."""

    unsupported: list[int] = []
    """The numbers of the sentences that the passages do not bear out."""
    useful: bool
    """Whether the answer answers the question."""
    reason: str = ""
    """What is missing or wrong, in one sentence."""


async def generation_grading(state: GraphState, services: Services) -> dict[str, Any]:
    """Judge the answer: do its sources bear it out, and does it answer the question?

    Reads ``standalone``, ``generation``, ``documents`` and ``earlier_documents``; writes ``answer_grade``, and
    ``status`` as it would be if the run ended here.
    """
    question, evidence = asked_of(state), gathered(state)
    answer = state.get("generation") or Answer(text="", abstained=True)
    if services.chat("generation_grading") and not answer.abstained:
        grade = await _grade_by_model(question, answer, evidence, services)
    else:
        grade = grade_answer(answer)
    logger.info("the answer is supported: %s, useful: %s. %s", grade.supported, grade.useful, grade.reason)
    status: Status = "answered" if grade.supported and grade.useful else "best_effort"
    return {"answer_grade": grade, "status": "abstained" if answer.abstained else status}


async def _grade_by_model(
    question: str, answer: Answer, evidence: Sequence[Evidence], services: Services
) -> AnswerGrade:
    """A chat model judges what the sentences say; quotes are borne out, and what was left out is not, in any case."""
    sentences = listed((sentence.text for sentence in answer.sentences), numbers=True)
    reply = await services.reply(
        "generation_grading", Verdicts, question, passages=numbered(evidence), sentences=sentences
    )
    judged = (sentence.text for number, sentence in enumerate(answer.sentences, 1) if number in reply.unsupported)
    unsupported = (*judged, *answer.left_out)
    supported = not unsupported and bool(answer.sentences)
    return AnswerGrade(supported=supported, useful=reply.useful, unsupported=unsupported, reason=reply.reason)
