"""The decisions that have wish and bound in one agree with the wish behind its gate, on every state."""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from knowledge import BRIDGES, passage_of

from loopwright.engine.loop import Spend, StateLimit, decide
from loopwright.workflows.assistant import AssistantConfig
from loopwright.workflows.assistant.graph import loops_of as loops_of_assistant
from loopwright.workflows.assistant.graph import should_retry
from loopwright.workflows.assistant.routes import wish_after_check
from loopwright.workflows.rag import RAGConfig, decide_to_generate, grade_generation_vs_context_and_question
from loopwright.workflows.rag.graph import loops_of
from loopwright.workflows.rag.routes import wish_after_answer, wish_after_grading
from loopwright.workflows.rag.schemas import AnswerGrade

TRANSFORM, REGENERATE, HOPS = loops_of(RAGConfig())
SOURCES = {"grading": "nodes_and_edges_grading", "answer": "generation_grading"}

states = st.fixed_dictionaries(
    {"question": st.just("?"), "retry_count": st.integers(0, 12), "regeneration_count": st.integers(0, 4)},
    optional={
        "retry_limit": st.integers(0, 10),
        "max_retry_count": st.none() | st.integers(0, 10),
        "documents": st.lists(st.just(passage_of(BRIDGES[0])), max_size=1),
        "answer_grade": st.builds(AnswerGrade, supported=st.booleans(), useful=st.booleans()),
        "query": st.just("?"),
    },
)


def behind_the_gate(loop, state, spent, source):
    """Where the gate leads when so many passes were granted: into the loop's target or to its fallback."""
    limit = min(loop.limit.asked(state), loop.ceiling) if isinstance(loop.limit, StateLimit) else loop.limit
    ledger = {loop.name: Spend(spent=min(spent, limit), limit=limit, refused=0)}
    granted = decide(loop, state, state, ledger, asked=[source]).decision == "granted"
    return loop.target if granted else loop.exhausted if isinstance(loop.exhausted, str) else loop.exhausted[source]


@given(states)
def test_after_grading(state):
    wish = wish_after_grading(state)
    if wish == "query_transformation":
        wish = behind_the_gate(TRANSFORM, state, state["retry_count"], SOURCES["grading"])
    assert decide_to_generate(state) == wish


@given(states)
def test_after_the_answer(state):
    wish = wish_after_answer(state)
    decided = grade_generation_vs_context_and_question(state)
    if wish == "not_useful":
        after = behind_the_gate(TRANSFORM, state, state["retry_count"], SOURCES["answer"])
        assert decided == {"query_transformation": "not_useful", "__end__": "useful"}[after]
    elif wish == "not_supported":
        after = behind_the_gate(REGENERATE, state, state["regeneration_count"], SOURCES["answer"])
        assert decided == {"answer_generation": "not_supported", "__end__": "useful"}[after]
    else:
        assert decided == "useful"


@given(st.booleans(), st.integers(0, 5), st.integers(1, 4), st.booleans())
def test_after_the_check(wanted, spent, limit, reflecting):
    config = AssistantConfig.load(None, {"assistant": {"reflection_enabled": reflecting, "max_retry_count": limit}}, {})
    (loop,) = loops_of_assistant(config)
    said = "nothing was found" if wanted else None
    state = {"retry_wanted": said, "retry_count": spent, "needs_retry": wanted and spent < limit}
    wish = wish_after_check(state)
    if wish == "retry":
        wish = behind_the_gate(loop, state, spent, "check_results")
    with patch("loopwright.workflows.assistant.graph.settings") as settings:
        settings.reflection_enabled = reflecting
        assert should_retry(state) == wish
