"""``loopwright assistant`` on the conference that ships with the package."""

import io
import json
import sys

import pytest

from loopwright.workflows.assistant.schemas import Table
from loopwright.workflows.assistant.sources.catalogue import current
from loopwright.workflows.assistant.sources.sample import sample_folder, sample_store

NOTHING = "Is anything said about zyxomma qwertzuiop vexillophobia?"


@pytest.fixture(scope="module")
def talk():
    """The first session of the sample conference."""
    with sample_store() as store:
        return current(store).of_table(Table.SESSIONS)[0]


@pytest.fixture
def assistant(loopwright, tmp_path):
    """The program in an empty folder."""

    def run(*words: object):
        return loopwright("assistant", *words, cwd=tmp_path)

    return run


def test_the_first_question_needs_nothing_that_was_read(assistant, talk, tmp_path):
    done = assistant("ask", f"Tell me about {talk.title}")
    assert done.returncode == 0
    assert talk.title in done.stdout and f"[{talk.id}]" in done.stdout
    assert "no conference was read yet: this is the sample" in done.stderr
    assert done.stderr.splitlines()[-1].strip().startswith(("answered", "partial"))
    assert [*tmp_path.iterdir()] == [], "the sample leaves no file behind"


def test_a_conference_is_read_once_and_then_answered_from(assistant, talk):
    folder = sample_folder()
    files = [folder / "schedule.xml", "--exhibitors", folder / "exhibitors.json"]
    files += ["--attendees", folder / "attendees.csv"]
    done = assistant("ingest", *files)
    assert (done.returncode, done.stderr) == (0, "")
    assert " 0 changed, 0 unchanged, 0 removed" in done.stdout
    assert "now in sqlite:conference.db: sessions" in done.stdout
    again = json.loads(assistant("ingest", *files, "--json").stdout)
    assert (again["added"], again["changed"], again["removed"]) == (0, 0, 0)
    assert again["holds"]["sessions"] > 40 and again["vectors"] == 0
    asked = assistant("ask", "What is on now?", "--now", talk.start.isoformat(), "--json")
    assert asked.stderr == ""
    result = json.loads(asked.stdout)
    assert talk.id in result["referenced_ids"]
    assert result["path"][0] == "fetch_data" and result["path"][-1] == "evaluate"


def test_each_step_of_thinking_is_shown_and_the_answer_says_what_was_not_found(assistant):
    done = assistant("ask", NOTHING)
    assert done.returncode == 0
    assert 1 <= sum(line.startswith("(") for line in done.stderr.splitlines()) <= 2, "thoughts"
    assert "nothing found" in done.stderr.splitlines()[-1]
    assert done.stdout.strip()


def test_a_chat_goes_on_until_it_is_told_to_end(assistant, talk, monkeypatch):
    said = f"Tell me about {talk.title}\n\nThank you!\nexit\n{NOTHING}\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(said))
    done = assistant("chat")
    assert done.returncode == 0
    assert f"[{talk.id}]" in done.stdout
    assert "nothing found" not in done.stderr, "what comes after the end is not asked"


def test_a_conversation_lasts_beyond_the_program_where_the_memory_is_a_file(assistant, tmp_path):
    (tmp_path / "config.yaml").write_text("assistant: {memory: 'sqlite:people.db'}\n")
    assistant("ask", "Is there anything on typography?", "--user", "mia", "--conversation", "one", "-c", "config.yaml")
    assert b"typography" in b"".join(path.read_bytes() for path in tmp_path.glob("people.db*"))


def test_control_characters_of_a_schedule_stay_out_of_the_terminal(assistant, tmp_path):
    odd = {"title": "Looms \x1b]0;owned\x07 today", "abstract": "Weaving \x9b31m."}
    rows = [{"id": "1", **odd, "date": "2030-05-04", "start": "10:00", "end": "11:00", "room": "Barn"}]
    (tmp_path / "talks.json").write_text(json.dumps(rows))
    assistant("ingest", "talks.json", "--time-zone", "Europe/Lisbon")
    done = assistant("ask", "Is there something about looms?")
    assert "ooms" in done.stdout
    assert not {"\x1b", "\x07", "\x9b"} & set(done.stdout + done.stderr)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ask", ""], "message: String should have at least 1 character"),
        (["ask", "x", "--now", "noon"], "user_context.now: Input should be a valid datetime"),
        (["ask", "x", "-s", "nosuch.db"], "no knowledge store at"),
        (["ask", "x", "-s", "memory"], "the store holds no conference"),
        (["ask", "x", "-s", "talks.txt"], "unknown knowledge store"),
        (["ingest"], "nothing to read was named"),
        (["ingest", "nosuch.xml"], "nosuch.xml"),
    ],
)
def test_mistakes_are_one_line_and_no_traceback(assistant, words, said):
    done = assistant(*words)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert done.stdout == "" and "Traceback" not in done.stderr
