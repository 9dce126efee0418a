"""``loopwright rag`` on real files."""

import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("loopwright")
QUESTION = "Who designed Tower Bridge?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three documents, and the place of the store."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "bridge.md").write_text(
        "# Tower Bridge\n\nTower Bridge was designed by Horace Jones. It opened in 1894.\n"
    )
    (notes / "bread.txt").write_text("Bread is made of flour, water and salt. It is baked in an oven.\n")
    (notes / "supplies.csv").write_text("subject,relation,object\nArden Mills,supplies,paper clips\n")
    (notes / "people.jsonl").write_text(
        json.dumps({"id": "jones", "title": "Horace Jones", "text": "Horace Jones was born in London in 1819."}) + "\n"
    )
    return tmp_path


@pytest.fixture
def rag(loopwright, folder):
    """The program in the folder, with its documents read."""

    def run(*words: object):
        return loopwright("rag", *words, cwd=folder)

    done = run("ingest", "notes", "--tag", "test")
    assert (done.returncode, done.stderr) == (0, "")
    return run


def test_ask_answers_with_the_quote_and_its_place(rag, folder):
    done = rag("ask", QUESTION)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert "Tower Bridge was designed by Horace Jones." in done.stdout and "[1]" in done.stdout
    assert str(folder / "notes/bridge.md") in done.stdout
    assert lines[-1].strip().startswith("answered")


def test_json_is_all_that_is_on_standard_output(rag):
    done = rag("ask", "What is the price of Bitcoin today?", "--json")
    result = json.loads(done.stdout)
    assert (result["status"], result["retries"]["nothing_relevant"]) == ("abstained", 3)
    assert "---RETRY COUNT: 1/3---" in done.stderr
    assert json.loads(rag("sources", "--json").stdout)[0]["tags"] == ["test"]
    assert json.loads(rag("ingest", "notes", "--json").stdout)["skipped"] == 4


def test_filters_and_their_mistakes(rag):
    assert "answered" in rag("ask", QUESTION, "--source", "notes/bridge.md", "--tag", "test").stdout
    assert "no answer" in rag("ask", QUESTION, "--source", "notes/bread.txt", "--max-retry", "0").stdout
    for words in (["--tag", "nosuch"], ["--source", "nothing.md"], ["--before", "1900-01-01"]):
        done = rag("ask", QUESTION, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert "no document matches the filter" in done.stderr
    assert "does not match the format" in rag("ask", QUESTION, "--after", "yesterday").stderr


def test_control_characters_of_documents_stay_out_of_the_terminal(rag, folder, monkeypatch):
    text = "The Odd Tower was designed by \x1b]0;owned\x07 Eve\u00a0Adams\u3000\u202e for 1\u00a0200\u00a0€."
    (folder / "notes/odd\ntower.txt").write_text(text)
    rag("ingest", "notes")
    shown = rag("ask", "Who designed the Odd Tower?").stdout
    assert "1\u00a0200\u00a0€" in shown and "/odd tower.txt" in shown
    assert "/odd tower.txt" in rag("sources").stdout
    assert not {"\x1b", "\x07", "\u202e"} & set(shown + rag("sources").stdout)
    # What the terminal lacks is escaped, and what it sends in another encoding is replaced.
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Who designed the Odd Tower\xff?\n"), "utf-8"))
    sys.stdout.reconfigure(encoding="ascii")
    assert "1\\xa0200\\xa0\\u20ac" in rag("chat").stdout


def test_delete_takes_all_or_nothing(rag, folder):
    (folder / "notes/C# notes.md").write_text("Methods begin with a capital letter.")
    rag("ingest", "notes")
    done = rag("delete", "notes/bread.txt", "nosuch.md")
    assert done.returncode == 2
    assert "nothing was deleted" in done.stderr
    assert "bread.txt" in rag("sources").stdout
    assert rag("delete", "").returncode == 2
    for document in ("notes/bread.txt", "notes/people.jsonl#jones", "notes/C# notes.md"):
        assert "1 document(s) deleted" in rag("delete", document).stdout
    assert "bread.txt" not in rag("sources").stdout


def test_a_damaged_document_is_told_the_rest_is_kept_and_a_detail_that_is_ignored_is_no_failure(rag, folder):
    (folder / "notes/fees.csv").write_text("sep=;\nItem;Price\nNail;3\n")
    done = rag("ingest", "notes")
    assert (done.returncode, "fees.csv#1: the line has no names" in done.stderr) == (0, True)
    (folder / "notes/broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    (folder / "notes/new.md").write_text("# Forth Bridge\n\nThe Forth Bridge opened in 1890.\n")
    done = rag("ingest", "notes")
    assert done.returncode == 1
    assert "1 stored, 5 unchanged" in done.stdout
    assert done.stderr.count("broken.pdf") == 1
    assert "1890" in rag("ask", "When did the Forth Bridge open?").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ask", ""], "question: String should have at least 1 character"),
        (["ask", "x", "-s", "nosuch.db"], "ingest documents first (`loopwright rag ingest ...`)"),
        (["ask", "x", "-s", "notes/bread.txt"], "unknown knowledge store"),
        (["ask", "x", "-s", "sqlite:notes/bread.txt"], "bread.txt"),
        (["ingest", "nosuch"], "nosuch"),
    ],
)
def test_mistakes_are_one_line_and_no_traceback(rag, words, said):
    done = rag(*words)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_an_interrupted_ingest_says_that_it_goes_on(folder):
    lines = (json.dumps({"id": str(number), "title": f"T{number}", "text": "words " * 200}) for number in range(20_000))
    (folder / "notes/large.jsonl").write_text("\n".join(lines))
    process = subprocess.Popen(
        [PROGRAM, "rag", "ingest", "notes"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background, the shell has told them to ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (folder / "knowledge.db").exists():
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from here" in said
    assert "Traceback" not in said
