"""Batches in real worker processes: bad files, determinism, resuming, workers that die."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from batch_images import bad_files, good_folder, in_this_process, journalled, rows_of, save

from loopwright.errors import BackendError, ConfigError, InputError
from loopwright.workflows.iqa import IQAConfig, run_pipeline
from loopwright.workflows.iqa.batch import Shard, run_batch
from loopwright.workflows.iqa.batch.journal import Journal, journal_of
from loopwright.workflows.iqa.batch.running import DEFAULT_QUERY

GOOD = 9


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return good_folder(tmp_path_factory.mktemp("batch") / "photos", GOOD)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = good_folder(tmp_path_factory.mktemp("mixed") / "photos", 4)
    return folder, bad_files(folder)


@pytest.fixture(scope="module")
def expected(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """The rows that one worker makes."""
    out = tmp_path_factory.mktemp("one") / "r.jsonl"
    result = run_batch(photos, out, workers=1)
    assert (result.assessed, result.failed, result.interrupted) == (GOOD, 0, False)
    return rows_of(out)


@pytest.mark.slow
def test_a_row_is_what_the_pipeline_answers(photos, expected):
    row = expected[0]
    state = run_pipeline(DEFAULT_QUERY, photos / row["path"])
    answer, evidence = state["summarizer_result"], state["executor_evidence"]
    assert (row["answer"], row["reasoning"]) == (answer.final_answer, answer.quality_reasoning)
    assert row["quality_score"] == answer.quality_score
    weighed = "" if answer.quality_score == round(evidence.quality_scores["BlindScore"], 4) else " + findings"
    assert row["score_source"] == f"{evidence.primary_tool}{weighed}"
    for log in evidence.tool_logs:
        assert (row[f"{log.tool}_raw"], row[f"{log.tool}_score"]) == (log.raw, log.score)
    found = [finding for findings in evidence.distortion_analysis.values() for finding in findings]
    assert [(d["type"], d["severity"], d["measured"]) for d in row["distortions"]] == [
        (f.type, f.severity.value, f.measured) for f in found
    ]
    assert row["notes"] == evidence.notes
    assert row["MDSI_raw"] is None and row["error"] is None and row["replans"] == 0


@in_this_process()
def test_bad_files_are_rows_with_errors_and_are_retried(mixed, tmp_path):
    folder, bad = mixed
    out = tmp_path / "r.jsonl"
    result = run_batch(folder, out, report=tmp_path / "report.html", worst=3)
    assert (result.total, result.failed) == (4 + len(bad), len(bad))
    errors = {row["path"]: row["error"] for row in rows_of(out)}
    for name, word in bad.items():
        assert word in errors[name] and f"'{name}'" in errors[name] and str(folder) not in errors[name]
    assert sum(error is None for error in errors.values()) == 4
    assert dict(result.failures).keys() == bad.keys()
    page = (tmp_path / "report.html").read_text()
    assert page.count('alt="Image"') == 3 and "the worst 3 of 9" in page
    assert f"{len(bad)} with an error" in page and 'data-rank="4"' not in page

    # Resumed: what failed runs again, and what is mended now is finished; the rest is left alone.
    (folder / "empty.png").write_bytes((folder / "0" / "000.png").read_bytes())
    result = run_batch(folder, out, resume=True)
    assert (result.assessed, result.failed, result.unchanged) == (len(bad), len(bad) - 1, 4)
    assert [row["path"] for row in rows_of(out) if row["error"]] == sorted(bad.keys() - {"empty.png"})


@pytest.mark.slow
def test_resume_runs_only_what_is_new_or_changed(photos, expected, tmp_path):
    folder, out = tmp_path / "photos", tmp_path / "r.jsonl"
    for row in expected[:4]:
        save(folder / row["path"], 70 + expected.index(row))
    run_batch(folder, out, workers=1)
    first = rows_of(out)
    changed, gone = (folder / row["path"] for row in expected[:2])
    save(changed, 90)
    gone.unlink()
    save(folder / "new.png", 91)
    before = journalled(journal_of(out))
    result = run_batch(folder, out, workers=1, resume=True)
    assert (result.assessed, result.unchanged) == (2, 2)
    anew = [sample for sample, number in journalled(journal_of(out)).items() if before.get(sample) != number]
    assert sorted(anew) == sorted([expected[0]["path"], "new.png"])
    second = {row["path"]: row for row in rows_of(out)}
    assert set(second) == {expected[0]["path"], expected[2]["path"], expected[3]["path"], "new.png"}
    assert second[expected[2]["path"]] == first[2] and second[expected[0]["path"]] != first[0]


@pytest.mark.slow
def test_another_question_or_configuration_is_another_row(tmp_path):
    folder, out = tmp_path / "photos", tmp_path / "r.jsonl"
    save(folder / "a.png", 1)

    def runs(**options: Any) -> int:
        return run_batch(folder, out, resume=True, **options).assessed

    stricter = IQAConfig.model_validate({"iqa": {"max_replan_iterations": 0}})
    elsewhere = IQAConfig.model_validate({"iqa": {"max_replan_iterations": 0}, "langgraph": {"log_dir": "elsewhere"}})
    assert (runs(), runs()) == (1, 0)
    assert (runs(config=stricter), runs(config=stricter), runs(config=elsewhere)) == (1, 0, 0)
    assert (runs(config=stricter, query="Is it noisy?"), runs(config=stricter, query="Is it noisy?")) == (1, 0)
    assert [row["query"] for row in rows_of(out)] == ["Is it noisy?"]


@pytest.mark.slow
def test_shards_together_are_the_whole(photos, expected, tmp_path):
    outs = [tmp_path / f"{number}.jsonl" for number in (1, 2)]
    counts = [run_batch(photos, out, workers=1, shard=Shard(number, 2)).total for number, out in enumerate(outs, 1)]
    assert sum(counts) == GOOD and all(counts)
    assert sorted((row for out in outs for row in rows_of(out)), key=lambda row: row["sample_id"]) == expected
    with pytest.raises(InputError, match="is of shard 1/2, not 2/2"):
        run_batch(photos, outs[0], shard=Shard(2, 2), resume=True)


@pytest.mark.slow
def test_references_regions_and_scores_of_a_manifest(tmp_path):
    save(tmp_path / "ref" / "a.png", 1)
    save(tmp_path / "img" / "a.png", 2)
    rows = [
        {"image_path": "img/a.png", "reference_path": "ref/a.png", "mos": 4.5, "group": "g", "sample_id": "pair"},
        {"image_path": "img/a.png", "region": [10, 0, 130, 110], "query": "Rate its quality.", "sample_id": "part"},
        {"image_path": "img/a.png", "reference_path": "ref/none.png", "sample_id": "lost"},
    ]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run_batch(tmp_path / "m.jsonl", tmp_path / "r.jsonl", workers=1)
    lost, pair, part = rows_of(tmp_path / "r.jsonl")
    assert pair["MDSI_raw"] > 0 and pair["reference_path"] == "ref/a.png" and (pair["mos"], pair["group"]) == (4.5, "g")
    assert part["region"] == "10,0,130,110" and part["NIQE_raw"] > 0 and part["mos"] is None
    assert "'ref/none.png'" in lost["error"]
    # A changed reference is changed content.
    save(tmp_path / "ref" / "a.png", 3)
    again = run_batch(tmp_path / "m.jsonl", tmp_path / "r.jsonl", workers=1, resume=True)
    assert (again.assessed, again.unchanged) == (2, 1)


@pytest.mark.slow
def test_ctrl_c_is_heard_where_python_loses_what_it_raises(photos, tmp_path, monkeypatch):
    class Finalised:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    opening = Journal.open

    def open_journal(*given: Any, **named: Any) -> Journal:
        Finalised()
        return opening(*given, **named)

    monkeypatch.setattr(Journal, "open", open_journal)
    before = signal.getsignal(signal.SIGINT)  # a process in the background has none
    assert run_batch(photos, tmp_path / "r.csv", workers=1).interrupted
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
def test_names_that_are_not_utf8(tmp_path):
    folder = tmp_path / "photos"
    save(folder / "x.png", 1)
    (folder / os.fsdecode(b"caf\xe9.png")).write_bytes(b"")
    result = run_batch(folder, tmp_path / "r.csv", workers=1)
    assert (result.total, result.failed) == (2, 1)
    rows = {row["path"]: row for row in rows_of(tmp_path / "r.csv")}
    assert rows["x.png"]["answer"] and rows[r"caf\udce9.png"]["error"]
    assert run_batch(folder, tmp_path / "r.csv", resume=True).unchanged == 1


def test_nothing_runs_where_something_is_wrong_beforehand(tmp_path):
    save(tmp_path / "photos" / "a.png", 1)
    with pytest.raises(ConfigError):
        run_batch(tmp_path / "photos", tmp_path / "r.csv", config=IQAConfig(models={"planner": {"nothing": 1}}))
    (tmp_path / "file").write_text("")
    with pytest.raises(BackendError, match="cannot write"):
        run_batch(tmp_path / "photos", tmp_path / "file" / "r.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "photos"]


class TestJournal:
    def test_a_foreign_file_is_left_alone(self, tmp_path):
        path = tmp_path / "j"
        path.write_text("my notes\n")
        with pytest.raises(BackendError, match="is no SQLite database, and was not touched"):
            Journal.open(path, shard=None, resume=True)
        assert path.read_text() == "my notes\n"

    def test_one_process_at_a_time(self, tmp_path):
        with Journal.open(tmp_path / "j", shard=None, resume=True):
            with pytest.raises(BackendError, match="is locked: another process writes to it"):
                Journal.open(tmp_path / "j", shard=None, resume=True)
