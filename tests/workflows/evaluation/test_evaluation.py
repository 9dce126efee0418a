"""Whole evaluations: of the three workflows on what ships with the package, and of one's own graph; and the formulas."""

import asyncio
import json
import math
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

import numpy as np
import pytest
from langgraph.graph import END
from PIL import Image
from pydantic import BaseModel
from shapes import graph, loop
from skimage import data

from loopwright import bounded
from loopwright.errors import InputError
from loopwright.models import ask
from loopwright.retrieval.stores import open_store
from loopwright.testing import always
from loopwright.workflows.api import Citation, Outcome
from loopwright.workflows.assistant.schemas import Table
from loopwright.workflows.assistant.sources.catalogue import current
from loopwright.workflows.assistant.workflow import AssistantWorkflow
from loopwright.workflows.assistant.workflow import Services as AssistantServices
from loopwright.workflows.evaluation import Expected, Question, aevaluate, evaluate, gain_of, mean_figure, scores_of
from loopwright.workflows.evaluation.results import EvaluatedAnswer
from loopwright.workflows.evaluation.scores import answer_scores, ndcg_at
from loopwright.workflows.iqa import IQAConfig
from loopwright.workflows.iqa import Services as IqaServices
from loopwright.workflows.iqa.workflow import IQAWorkflow
from loopwright.workflows.rag.config import RAGConfig
from loopwright.workflows.rag.services import Services
from loopwright.workflows.rag.sources import ingest
from loopwright.workflows.rag.workflow import RagWorkflow
from loopwright.workflows.runtime import to_its_end
from loopwright.workflows.user_graph import UserGraph

CORPUS = [
    {"id": "c1", "title": "Daimler Reitwagen", "text": "The Daimler Reitwagen is a motorcycle. It was built in 1885."},
    {"id": "c2", "title": "Mercedes Simplex", "text": "The Mercedes Simplex is a car that Wilhelm Maybach designed."},
    {"id": "c3", "title": "Wilhelm Maybach", "text": "Wilhelm Maybach was an engineer who was born in Heilbronn."},
    {"id": "c4", "title": "Orchid", "text": "Orchids are flowering plants. They grow on trees in the tropics."},
]
QUESTIONS = [
    {"id": "q1", "question": "When was the Daimler Reitwagen built?", "kind": "plain",
     "expected": {"answers": ["1885", "in 1885"], "citations": ["c1"]}},
    {"id": "q2", "question": "Where was the designer of the Mercedes Simplex born?", "kind": "bridge",
     "expected": {"answers": ["Heilbronn"], "citations": ["c2", "c3"]}},
    {"id": "q3", "question": "Which sonata did the volcano compose for the submarine?",
     "expected": {"answers": [], "citations": [], "status": "abstained"}},
]  # fmt: skip


def write(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def rag(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RagWorkflow]:
    with open_store("memory") as store:
        ingest([write(tmp_path_factory.mktemp("corpus") / "corpus.jsonl", *CORPUS)], store)
        with Services.of(RAGConfig(), store) as services:
            yield RagWorkflow(services)


def test_answers_and_citations_are_compared_with_what_is_known_and_each_loop_with_none(rag, tmp_path):
    told: list[tuple[int, int]] = []
    questions = write(tmp_path / "q.jsonl", *QUESTIONS)
    found = evaluate(rag, questions, without_loops=True, on_progress=lambda *step: told.append(step))
    first, second, last = found.outcomes
    assert (first.scores["recall@10"], first.scores["citation_precision"]) == (1, 1)
    assert second.scores["gathered_recall"] == 1
    # A question without an answer counts where its status is judged, and not where its passages would be.
    assert (last.status, [last.scores[name] for name in ("em", "status", "recall@10")]) == ("abstained", [1, 1, None])
    assert found.figures["recall@10"].n == 2 and found.figures["em"].n == 3 and found.figures["status"].n == 1
    assert set(found.by_kind) == {"plain", "bridge", ""} and found.by_kind["plain"]["em"].n == 1
    assert set(found.loops) == {"transform", "regenerate"}
    again = sum(gain.questions for gain in found.loops.values())
    assert told[0] == (0, 3) and told[-1] == (3 + again, 3 + again)
    transform = found.loops["transform"]
    assert last.passes["transform"] >= 1 and transform.questions >= 1
    assert transform.gains["passes"].value > 0, "without the loop there were fewer passes"
    assert found.loops["regenerate"].gains["em"].value == 0


def test_the_json_has_the_figures_by_name_and_the_table_shows_them(rag, tmp_path):
    found = pickle.loads(pickle.dumps(evaluate))(rag, write(tmp_path / "q.jsonl", *QUESTIONS), limit=2)
    shown = json.loads(found.as_json())
    assert shown.keys() >= {"em", "f1", "citation_precision", "citation_recall", "abstained", "seconds", "questions"}
    assert shown["intervals"]["f1"].keys() == {"low", "high", "n"} and shown["loops"] == {}
    assert "outcomes" not in shown and shown["questions"] == 2
    lines = found.table().splitlines()
    assert {line.split()[0] for line in lines if line} >= {"em", "citation_precision", "seconds", "by"}
    assert "100.0 [100.0, 100.0]" in found.table()


def test_the_conference_assistant_is_asked_about_records(tmp_path):
    hosted = AssistantWorkflow.sample()
    try:
        records = list(current(hosted.services.store).of_table(Table.SESSIONS))[:3]
        rows = [
            {"id": each.id, "message": f"Tell me about {each.title}", "expected": {"citations": [each.id]}}
            for each in records
        ]
        nothing = {"id": "none", "message": "Is anything said about zyxomma qwertzuiop vexillophobia?",
                   "expected": {"citations": [], "tables": ["sessions"], "status": "nothing_found"}}  # fmt: skip
        found = evaluate(hosted, write(tmp_path / "q.jsonl", *rows, nothing), without_loops=True)
        assert found.figures["recall@10"].value == 1 and found.figures["status"].value == 1
        assert [asked.cited[:1] for asked in found.outcomes[:3]] == [(each.id,) for each in records]
        assert found.loops["reflect"].passes > 0
    finally:
        hosted.close()


def test_pictures_lie_beside_the_questions(tmp_path):
    Image.fromarray(np.ascontiguousarray(data.coffee()[:96, :128])).save(tmp_path / "cup.png")
    (tmp_path / "before.png").write_bytes((tmp_path / "cup.png").read_bytes())
    row = {
        "id": "a",
        "query": "How good is it?",
        "image": "cup.png",
        "reference": "before.png",
        "expected": {"score": 5},
    }
    hosted = IQAWorkflow(IqaServices.of(IQAConfig()))
    found = evaluate(hosted, write(tmp_path / "q.jsonl", row))
    assert (found.outcomes[0].status, found.figures["within_half"].value) == ("answered", 1)


def test_what_can_never_be_cited_is_told_before_anything_runs(rag, tmp_path):
    with pytest.raises(InputError, match="question 'q1' expects the citation 'c77', which rag does not have"):
        evaluate(rag, write(tmp_path / "q.jsonl", {**QUESTIONS[0], "expected": {"citations": ["c1", "c77"]}}))


class Count(TypedDict, total=False):
    topic: str
    text: str


def counting() -> UserGraph:
    """Writes one letter more in each pass, and wants three."""

    def add(state: Count) -> Count:
        if error := {"trouble": ValueError("no letters are left"), "exit": SystemExit(3)}.get(state["topic"]):
            raise error
        return {"text": state.get("text", "") + "x"}

    more = {"add": lambda state: "add" if len(state["text"]) < 3 else END}
    made = graph("START-add add?add add?END", Count, more, add=add)
    return UserGraph("count", bounded(made, loop("more", "add", "add", 5)))


def test_a_workflow_scores_by_what_it_knows_itself(tmp_path):
    class Long(UserGraph):
        """Knows how long its answer is to be."""

        expected = ("letters",)

        def score(self, expected: Expected, outcome: Outcome) -> dict[str, float | None]:
            number = len(outcome.answer)
            longer = number / expected.own["letters"] if expected.own["letters"] else math.nan
            return {"long_enough": float(longer >= 1), "letters": float(number), "longer": longer, "contains": None}

    rows = [
        {"id": f"q{letters}", "topic": "t", "expected": {"answers": ["x"], "letters": letters}} for letters in (2, 9)
    ]
    rows.append({"id": "q0", "topic": "t", "expected": {"letters": 0}})
    found = evaluate(Long("count", counting().graph(None)), write(tmp_path / "q.jsonl", *rows))
    assert found.figures["long_enough"].value == 0.5
    table = found.table().splitlines()
    assert ["letters", "3", "[3,", "3]", "n", "2"] in [line.split() for line in table], "what goes beyond 1 is no share"
    assert "-: 3" in table and table[-1].endswith(": longer: Input should be a finite number (got nan)")
    assert found.figures["contains"].n == 0, "its own score takes the place of what is found without knowing it"


def test_a_run_that_fails_is_named_and_counts_as_no_answer(tmp_path):
    rows = [{"id": "t", "topic": "t"}, *({"id": each, "input": {"topic": each}} for each in ("trouble", "exit"))]
    rows = [{**row, "expected": {"answers": ["xxx"]}} for row in rows]
    found = evaluate(counting(), write(tmp_path / "q.jsonl", *rows))
    assert [asked.status == "failed" for asked in found.outcomes] == [False, True, True]
    assert found.figures["em"].value == 1 / 3
    assert "trouble failed: ValueError: no letters are left\nexit failed: SystemExit: 3" in found.table()


def test_what_the_handler_of_a_signal_raises_ends_it_all():
    async def waiting():
        asyncio.get_running_loop().call_soon(sys.exit, 7)
        await asyncio.sleep(60)

    with pytest.raises(SystemExit):
        to_its_end(waiting())


async def test_a_run_is_judged_by_the_answer_and_the_costs_that_it_has_anywhere():
    class Noted(Count, total=False):
        answer: str
        note: str

    class Right(BaseModel):
        why: str

    nodes = {
        "ask": lambda state: {"answer": always("Paris").invoke(state["topic"]).text},
        "check": lambda state: {"note": ask(always({"why": "known"}), "Is it right?", Right).why},
        "count": counting().graph(None),
        "log": lambda state: {"note": "by rule 7"},
    }
    hosted = UserGraph("noted", graph("START-ask ask-check check-count count-log log-END", Noted, **nodes))
    run = hosted.run({"topic": "France"}, {}, "r")
    *_, result = [event async for event in hosted.follow(run)]
    outcome, _ = await run.ended(result)
    (asked,) = (await aevaluate(hosted, [Question(id="q", input={"topic": "France"})])).outcomes
    assert asked.answer == outcome.answer == "Paris", "what a model said, though text was written after it"
    assert asked.model_calls == run.usage.total().calls == 2, "each is counted once, whoever made it"
    assert asked.passes == {"count/more": 2}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("[1, {]", "line 2 is no question: it is no JSON: Expecting property name enclosed in double quotes: cha"),
        ({"topic": "t"}, "id: Field required"),
        ({"id": "q9", "topics": "t"}, "Did you mean 'topic'?"),
        ({"id": "q9", "input": {"topics": "t"}}, "Did you mean 'topic'?"),
        ({"id": "q9", "input": "t"}, "input: Input should be a valid dictionary"),
        ({"id": "q9", "topic": "t", "expected": {"answer": ["x"]}}, "Did you mean 'answers'?"),
        ({"id": "q1", "topic": "t"}, "id 'q1' too"),
        ("[" * 100_000, "line 2 is no question"),
    ],
)
def test_a_broken_line_is_named_with_its_file(tmp_path, row, words):
    questions = write(tmp_path / "q.jsonl", {"id": "q1", "topic": "t\u2028t"}, row)
    with pytest.raises(InputError) as raised:
        evaluate(counting(), questions)
    assert f"{questions}, line 2" in str(raised.value) and words in str(raised.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "no questions"), (b"\n \n", "no questions"), (b"\xff", "cannot be read: no UTF-8"), (None, "cannot")],
)
def test_a_file_without_questions_is_named(tmp_path, content, words):
    if content is not None:
        (tmp_path / "q.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=words):
        evaluate(counting(), tmp_path / "q.jsonl")


@pytest.mark.parametrize(
    ("predicted", "accepted", "f1"),
    [
        ("Brooklyn Dodgers", ["Los Angeles Dodgers", "Robins"], 0.4),
        ("one one", ["one"], 2 / 3),
        ("the", ["a"], 0.0),  # Nothing else is left of either.
        ("yes it is", ["yes"], 0.0),
        ("no", ["no way"], 0.0),
        ("yes", ["Yes"], 1.0),
        ("", ["Dodgers"], 0.0),
        ("Dodgers", [], 0.0),
        ("", [], 1.0),
    ],
)
def test_f1_is_of_the_words_shared_with_the_nearest_accepted_answer(predicted, accepted, f1):
    assert answer_scores(predicted, accepted)["f1"] == pytest.approx(f1)


def test_ndcg_discounts_by_the_logarithm_of_the_place():
    # Places 2 and 3 of three, against a perfect 1 and 2.
    expected = (1 / math.log2(3) + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    assert ndcg_at(["x", "a", "b"], ["a", "b"], 10) == pytest.approx(expected)


def test_a_mean_has_an_interval_that_is_the_same_each_time_and_narrows_with_more_questions():
    few, many = mean_figure([0.0, 1.0] * 10), mean_figure([0.0, 1.0] * 200)
    assert few == mean_figure([0.0, 1.0] * 10)
    assert few.value == many.value == 0.5 and few.low < many.low < 0.5 < many.high < few.high
    # The normal approximation of the standard error of a mean of 400 values of deviation 1/2 is 0.025.
    assert many.high - many.low == pytest.approx(4 * 0.025, abs=0.01)
    assert mean_figure([None, 1.0, None]).model_dump() == {"value": 1.0, "low": 1.0, "high": 1.0, "n": 1}
    assert mean_figure([None]).model_dump() == {"value": None, "low": None, "high": None, "n": 0}


def test_an_outcome_is_scored_by_what_is_expected_and_by_nothing_else():
    outcome = Outcome(answer="It was built in **1885**.", status="answered", citations=(Citation(mark="1", title="A"),))
    assert scores_of(Expected(), outcome) == {}
    found = scores_of(Expected(answers=[1885], citations=["A", "B"], status=["answered"]), outcome)
    assert (found["em"], found["contains"], found["status"]) == (0, 1, 1)
    assert (found["citation_precision"], found["recall@10"]) == (1, 0.5)
    nothing = scores_of(Expected(answers=[], citations=[]), Outcome())
    assert (nothing["em"], nothing["contains"], nothing["recall@10"]) == (1, 1, None)
    failed = scores_of(Expected(answers=[], status=["answered"]), Outcome(status="failed"))
    assert set(failed.values()) == {0.0}, "a run that failed did not find out that there is no answer"


def test_what_is_cited_of_tables_that_nobody_judged_takes_no_place():
    score = AssistantWorkflow(AssistantServices()).score
    marks = (*(f"speakers:{number}" for number in range(10)), "sessions:1")
    outcome = Outcome(citations=tuple(Citation(mark=mark, title=mark) for mark in marks))
    assert score(Expected(citations=["sessions:1"]), outcome)["recall@10"] == 1.0
    both = Expected.model_validate({"citations": ["sessions:1"], "tables": ["sessions", "speakers"]})
    assert score(both, outcome)["recall@10"] == 0.0
    assert score(Expected(), outcome) == {}


def test_a_pictures_score_is_near_peoples_or_not():
    iqa_score = IQAWorkflow(IqaServices()).score
    outcome = Outcome(details={"summarizer_result": {"final_answer": "B", "quality_score": 2.4}})
    assert iqa_score(Expected.model_validate({"score": 2.8, "answers": ["B"]}), outcome)["within_half"] == 1
    assert iqa_score(Expected.model_validate({"score": 3.0, "answers": ["A"]}), outcome)["within_half"] == 0
    assert iqa_score(Expected.model_validate({"score": 3.0}), Outcome(status="failed")) == {"within_half": 0}


def test_what_a_loop_brings_is_paired_and_counts_the_questions_that_it_did_not_go_round_for():
    def asked(id: str, em: float, passes: int, seconds: float) -> EvaluatedAnswer:
        return EvaluatedAnswer(id=id, kind="", input={}, status="answered", answer="", cited=(), scores={"em": em, "f1": None},
                     passes={"again": passes}, model_calls=passes, seconds=seconds)  # fmt: skip

    outcomes = [asked("a", 1.0, 2, 3.0), asked("b", 1.0, 0, 1.0), asked("c", 0.0, 1, 2.0), asked("d", 0.0, 0, 1.0)]
    gain = gain_of("again", outcomes, [asked("a", 0.0, 0, 1.0), asked("c", 0.0, 0, 1.0)])
    assert (gain.passes, gain.questions) == (3, 2)
    assert gain.gains["em"].value == 0.25 and gain.gains["em"].n == 4 and gain.gains["f1"].n == 0
    assert (gain.gains["seconds"].value, gain.gains["model_calls"].value) == (0.75, 0.75)
