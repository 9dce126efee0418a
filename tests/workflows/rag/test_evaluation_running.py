"""Whole evaluations on small corpora, with the embedded workflow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chat_server import serving

from loopwright.errors import InputError
from loopwright.models.embedded import KNOWN, find
from loopwright.retrieval.stores import open_store
from loopwright.workflows.rag.config import RAGConfig
from loopwright.workflows.rag.evaluation import aevaluate, evaluate

CORPUS = [
    {"id": "c1", "title": "Daimler Reitwagen", "text": "The Daimler Reitwagen is a motorcycle. It was built in 1885."},
    {"id": "c2", "title": "Mercedes Simplex", "text": "The Mercedes Simplex is a car that Wilhelm Maybach designed."},
    {"id": "c3", "title": "Wilhelm Maybach", "text": "Wilhelm Maybach was an engineer who was born in Heilbronn."},
    {"id": "c4", "title": "Orchid", "text": "Orchids are flowering plants. They grow on trees in the tropics."},
]
QUESTIONS = [
    {"id": "q1", "question": "When was the Daimler Reitwagen built?", "answers": ["1885", "in 1885"], "gold": ["c1"], "type": "plain", "hops": 1},
    {"id": "q2", "question": "Where was the designer of the Mercedes Simplex born?", "answers": ["Heilbronn"], "gold": ["c2", "c3"], "type": "bridge", "hops": 2},
    {"id": "q3", "question": "Which sonata did the volcano compose for the submarine?", "answers": [], "gold": []},
]  # fmt: skip
WANTED = {
    "recall@2", "recall@5", "recall@10", "all_gold@5", "em", "f1", "citation_precision", "citation_recall",
    "faithfulness", "abstained", "seconds",
}  # fmt: skip


def write(path: Path, rows: list) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def corpus(tmp_path) -> Path:
    return write(tmp_path / "corpus.jsonl", CORPUS)


def test_an_evaluation_compares_passages_answers_and_citations_with_what_is_known(tmp_path, corpus):
    told: list[tuple[int, int]] = []
    found = evaluate(
        write(tmp_path / "q.jsonl", QUESTIONS), corpus, config=RAGConfig(), on_progress=lambda *step: told.append(step)
    )
    by_id = {outcome.id: outcome for outcome in found.outcomes}
    assert list(by_id) == ["q1", "q2", "q3"] and found.questions == 3 and found.passages == 4
    first, second, last = found.outcomes
    assert (first.em, first.recall, first.citation_precision, first.faithfulness) == (1, {2: 1, 5: 1, 10: 1}, 1, 1)
    assert second.gathered == 1 and second.recall[5] == 1
    # A question without gold passages counts where its answer is judged, and not where its passages would be.
    assert last.recall == {} and last.gathered is None and last.status == "abstained" and last.em == 1
    assert found.figures["recall@5"].n == 2 and found.figures["em"].n == 3
    assert set(found.by_hops) == {"1", "2"} and set(found.by_type) == {"bridge", "plain"}
    assert set(found.loops) == {"transform", "regenerate", "hops"} and found.failed == 0
    again = sum(gain.questions for gain in found.loops.values())
    assert told[0] == (0, 3) and told[-1] == (3 + again, 3 + again)


def test_its_json_has_the_figures_by_name_and_its_table_shows_them(tmp_path, corpus):
    found = evaluate(write(tmp_path / "q.jsonl", QUESTIONS), corpus, config=RAGConfig(), loops=False)
    shown = json.loads(found.as_json())
    assert shown.keys() >= WANTED and all(0 <= shown[name] <= 1 for name in WANTED - {"seconds"})
    assert shown["abstained"] == pytest.approx(found.figures["abstained"].value)
    assert shown["intervals"]["f1"].keys() == {"low", "high", "n"}
    assert shown["loops"] == {} and found.loops == {}
    assert "outcomes" not in shown
    table = found.table()
    assert "recall@5" in table and "100.0 [100.0, 100.0]" in table and "hops" in table


def test_without_a_loop_it_makes_no_pass(tmp_path, corpus):
    """What nobody can answer goes round in query transformations; without them it does not, and answers no worse."""
    rows = [{"id": "q", "question": "Who painted the Mona Lisa of Atlantis?", "answers": [], "gold": []}]
    found = evaluate(write(tmp_path / "q.jsonl", rows), corpus, config=RAGConfig())
    (outcome,) = found.outcomes
    gain = found.loops["transform"]
    assert outcome.passes["transform"] == gain.passes >= 1 and gain.questions == 1
    assert sum(found.retries.values()) >= gain.passes
    assert gain.f1.value == gain.em.value == 0 and gain.recall.n == 0
    assert found.loops["hops"].questions == 0 and found.loops["hops"].seconds == 0


def test_a_run_that_fails_is_named_and_counts_as_no_answer(tmp_path, corpus):
    with serving() as server:
        server.replies.extend([400] * 20)
        writer = {"model": "openai:any", "base_url": server.url, "api_key": "not-needed"}
        config = RAGConfig.model_validate({"models": {"answer_generation": writer}})
        found = evaluate(write(tmp_path / "q.jsonl", QUESTIONS[:2]), corpus, config=config, loops=False)
    assert found.failed == 2 and [outcome.status for outcome in found.outcomes] == ["failed", "failed"]
    assert found.figures["em"].value == 0 and found.figures["abstained"].value == 0
    # The retriever was asked apart from the run.
    assert found.figures["recall@5"].value == 1
    assert "answer_generation" in found.outcomes[0].error
    assert "q1 failed: node 'answer_generation'" in found.table()


def test_a_limit_takes_the_first_questions(tmp_path, corpus):
    found = evaluate(
        write(tmp_path / "q.jsonl", [*QUESTIONS, "broken"]), corpus, config=RAGConfig(), limit=1, loops=False
    )
    assert [outcome.id for outcome in found.outcomes] == ["q1"]


def test_configured_weights_make_the_vectors_and_are_asked(tmp_path, corpus):
    retrieval = {"embedding": "bge-small-en-v1.5", "reranker": "ms-marco-MiniLM-L-12-v2"}
    for name in retrieval.values():
        if find(KNOWN[name]) is None:
            pytest.skip(f"the files of {name} are not here")
    config = RAGConfig.model_validate({"rag": {"retrieval": retrieval}})
    # The question shares no word with its passage.
    asked = {"id": "q", "question": "Which blossoms thrive in hot countries?", "answers": ["orchids"], "gold": ["c4"]}
    questions = write(tmp_path / "q.jsonl", [asked])
    with open_store(f"sqlite:{tmp_path / 'k.db'}") as store:
        found = evaluate(questions, corpus, config=config, loops=False, store=store)
        assert store.stats().vectors == 4
    without = evaluate(questions, corpus, config=RAGConfig(), loops=False)
    assert (found.figures["recall@2"].value, without.figures["recall@2"].value) == (1, 0)


async def test_a_given_store_is_filled_and_left_open(tmp_path, corpus):
    questions = write(tmp_path / "q.jsonl", QUESTIONS[:1])
    with open_store(f"sqlite:{tmp_path / 'own.db'}") as store:
        found = await aevaluate(questions, corpus, config=RAGConfig(), loops=False, store=store)
        assert store.stats().documents == 4
    assert found.figures["em"].value == 1


def test_neither_the_configured_store_nor_checkpoints_are_written(tmp_path, corpus, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = RAGConfig.model_validate(
        {"rag": {"store": "sqlite:mine.db"}, "pipeline": {"checkpoint": {"enable": True, "save_dir": "kept"}}}
    )
    evaluate(write(tmp_path / "q.jsonl", QUESTIONS[:1]), corpus, config=config, loops=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.jsonl", "q.jsonl"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{broken", "line 2 is no question: Expecting property name"),
        ('["q9"]', "line 2 is no question: the line"),
        ({"id": "q9", "question": "Who?", "gold": ["c1"]}, "answers: Field required"),
        ({"id": "q9", "question": " ", "answers": ["a"], "gold": ["c1"]}, "question: "),
        ({"id": "q9", "question": "Who?", "answers": "a", "gold": ["c1"]}, "answers: "),
        ({"id": "q9", "question": "Who?", "answers": ["a"], "gold": ["c1"], "hops": 0}, "hops: "),
        ({"id": "q1", "question": "Who?", "answers": ["a"], "gold": ["c1"]}, "id 'q1' too"),
        ({"id": "q9", "question": "Who?", "answers": ["a"], "gold": ["c1", "c77"]}, "'c77'"),
        ("[" * 100_000, "line 2 is no question"),
    ],
)
def test_a_broken_line_is_named_with_its_file(tmp_path, corpus, row, words):
    questions = write(tmp_path / "q.jsonl", [QUESTIONS[0], row])
    with pytest.raises(InputError) as raised:
        evaluate(questions, corpus, config=RAGConfig())
    assert f"{questions}, line 2" in str(raised.value) and words in str(raised.value)


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "no questions"), (b"\n \n", "no questions"), (b"\xff", "cannot be read")]
)
def test_a_file_without_questions_is_named(tmp_path, corpus, content, words):
    (tmp_path / "q.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=words):
        evaluate(tmp_path / "q.jsonl", corpus, config=RAGConfig())


def test_missing_files_are_named(tmp_path, corpus):
    with pytest.raises(InputError, match=r"none\.jsonl"):
        evaluate(tmp_path / "none.jsonl", corpus, config=RAGConfig())
    with pytest.raises(InputError, match=r"no-corpus\.jsonl"):
        evaluate(write(tmp_path / "q.jsonl", QUESTIONS), tmp_path / "no-corpus.jsonl", config=RAGConfig())


def test_a_line_separator_inside_a_string_ends_no_line(tmp_path, corpus):
    row = json.dumps({**QUESTIONS[0], "type": "a\u2028b"}, ensure_ascii=False)
    found = evaluate(write(tmp_path / "q.jsonl", [row]), corpus, config=RAGConfig(), loops=False)
    assert found.outcomes[0].type == "a\u2028b"
