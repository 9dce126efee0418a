"""Questions with known answers: what is made, and how answers are judged."""

from __future__ import annotations

import json
import random
import string
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from loopwright.errors import InputError
from loopwright.workflows.iqa import IQAConfig
from loopwright.workflows.iqa.distortions import Severity, in_words, kind_of
from loopwright.workflows.iqa.evaluating.evaluation import evaluate
from loopwright.workflows.iqa.evaluating.manifest import Row, read_rows
from loopwright.workflows.iqa.evaluating.questions.asking import KINDS, Reply
from loopwright.workflows.iqa.evaluating.questions.forms import question
from loopwright.workflows.iqa.evaluating.questions.images import LOOK_ALIKE, distortion_question
from loopwright.workflows.iqa.evaluating.questions.making import make_questions
from loopwright.workflows.iqa.evaluating.questions.stages import planner_question, summarizer_question
from loopwright.workflows.iqa.evaluating.rendering import to_markdown
from loopwright.workflows.iqa.measuring.distort import LEVELS


@pytest.fixture(scope="module")
def made(tmp_path_factory, photograph):
    """32 questions from two photographs and a file that is none."""
    root = tmp_path_factory.mktemp("made")
    (root / "in").mkdir()
    for name in ("coffee", "rocket"):
        Image.fromarray(np.ascontiguousarray(photograph(name)[40:264, 60:360])).save(root / "in" / f"{name}.png")
    (root / "in" / "broken.png").write_bytes(b"\x89PNG")
    return make_questions(root / "in", root / "out", count=32, seed=3)


def test_rows_are_whole_and_images_are_there(made):
    rows = read_rows(made)
    assert Counter(row.kind for row in rows) == dict.fromkeys(KINDS, 8)
    for row in rows:
        assert 3 <= len(row.options) <= 5 and len(set(row.options)) == len(row.options)
        assert row.answer in string.ascii_uppercase[: len(row.options)]
        for path in filter(None, (row.image, row.reference)):
            with Image.open(made.parent / path) as image:
                assert image.format == "PNG" and image.size == (300, 224)


def test_the_same_seed_makes_the_same_and_another_does_not(made, tmp_path):
    source = made.parent.parent / "in"
    again = make_questions(source, tmp_path / "again", count=32, seed=3)
    assert again.read_bytes() == made.read_bytes()
    for path in sorted((made.parent / "images").iterdir()):
        assert (tmp_path / "again" / "images" / path.name).read_bytes() == path.read_bytes()
    assert make_questions(source, tmp_path / "other", count=32, seed=4).read_bytes() != made.read_bytes()


def test_the_embedded_default_is_above_chance_on_every_kind(made):
    found = evaluate(made, resamples=50)
    assert [item.kind for item in found.answers] == ["all", *KINDS]
    for item in found.answers:
        assert item.right + item.wrong + item.cannot_tell + item.failed == item.rows
        assert item.accuracy.value > item.chance + 0.2, item
    assert found.answers[0].accuracy.low > found.answers[0].chance
    assert "| planner | 8 |" in to_markdown(found)


def test_a_wrong_key_lowers_the_score(made, tmp_path):
    rows = [json.loads(line) for line in made.read_text().splitlines()]
    rows = [row for row in rows if row["kind"] in ("planner", "summarizer")]
    good = made.parent / "good.jsonl"
    good.write_text("\n".join(map(json.dumps, rows)))
    right = evaluate(good).answers[0].right
    letters = string.ascii_uppercase
    for row in rows:
        row["answer"] = letters[(letters.index(row["answer"]) + 1) % len(row["options"])]
    bad = made.parent / "bad.jsonl"
    bad.write_text("\n".join(map(json.dumps, rows)))
    assert right >= 14 and evaluate(bad).answers[0].right <= 16 - right


def test_two_configurations_are_compared_on_the_same_questions(made):
    found = evaluate(made, against=IQAConfig(), resamples=20)
    whole = found.answers[0]
    assert whole.against == whole.accuracy.value
    assert (whole.gain.value, whole.gain.low, whole.gain.high) == (0, 0, 0)
    assert "other configuration" in to_markdown(found)


def test_options_of_one_question_are_never_both_right(photograph):
    rgb = np.ascontiguousarray(photograph("coffee")[:96, :128])
    for seed in range(40):
        chance = random.Random(seed)
        shown = distortion_question(seed % 3, rgb, chance).question
        right = shown.options[string.ascii_uppercase.index(shown.answer)]
        if shown.stem.startswith("How severe"):
            ranks = {Severity(text).rank for text in shown.options if text != right}
            assert all(abs(rank - Severity(right).rank) >= 2 for rank in ranks)
            continue
        names = [next(name for name in LEVELS if in_words(name) == text) for text in shown.options]
        assert len({kind_of(name) for name in names}) == len(names)
        assert not any(len(group & set(names)) > 1 for group in LOOK_ALIKE)


def test_letters_are_spread():
    letters = Counter(
        made.answer
        for number in range(200)
        for made in (
            planner_question(number, random.Random(number), referenced=bool(number % 2)),
            summarizer_question(number, random.Random(number)),
        )
    )
    assert all(letters[letter] > 60 for letter in "ABC")


def test_no_choice_is_no_question():
    with pytest.raises(ValueError, match="no choice"):
        question("x", "Which?", "a", ["a", "b", "c"], random.Random(0))
    with pytest.raises(ValueError, match="no choice"):
        question("x", "Which?", "a", ["b", "b"], random.Random(0))


@pytest.mark.parametrize(
    ("letter", "verdict"), [("A", "right"), ("B", "wrong"), ("C", "cannot tell"), (None, "cannot tell"), ("D", "wrong")]
)
def test_verdicts(letter, verdict):
    row = Row(1, "x", "a.png", query="?", options=("moderate", "extreme", "Cannot tell", "none"), answer="A")
    assert Reply(letter, "").verdict(row) == verdict


def test_every_question_shows_its_own_image_and_reference(tmp_path):
    """Images of one name in two folders, and what an earlier try with another seed left behind."""
    for name, grey in (("a/b.png", 60), ("a_b.png", 190)):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(grey).integers(-40, 40, (96, 128, 3))
        Image.fromarray((noise + grey).astype(np.uint8)).save(tmp_path / "in" / name)
    whole = make_questions(tmp_path / "in", tmp_path / "whole", count=8)
    means = set()
    for row in read_rows(whole):
        if row.reference:
            with Image.open(whole.parent / row.reference) as image:
                means.add(round(float(np.asarray(image).mean()), -1))
    assert means == {60, 190}
    make_questions(tmp_path / "in", tmp_path / "again", count=8, seed=9).unlink()
    again = make_questions(tmp_path / "in", tmp_path / "again", count=8)
    for path in (whole.parent / "images").iterdir():
        assert (again.parent / "images" / path.name).read_bytes() == path.read_bytes()


def test_it_is_said_what_is_missing(tmp_path, made):
    with pytest.raises(InputError, match="at least 4"):
        make_questions(made.parent.parent / "in", tmp_path, count=3)
    with pytest.raises(InputError, match="there already"):
        make_questions(made.parent.parent / "in", made.parent)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "a.png").write_bytes(b"no image")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write into .*file/q"):
        make_questions(made.parent.parent / "in", tmp_path / "file" / "q")
    with pytest.raises(InputError, match=r"no image in .* can be read"):
        make_questions(broken, tmp_path / "out")


def test_a_question_that_hands_nothing_over_is_a_bad_row(tmp_path, made):
    rows = [json.loads(line) for line in made.read_text().splitlines()]
    for row in rows:
        row["given"] = {"aspect": "colour of the sky"}
    path = made.parent / "empty.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows if row["kind"] in ("planner", "summarizer")))
    found = evaluate(path)
    assert found.answers[0].failed == found.rows == found.failed
    assert "aspect of form, scope" in found.problems[0][2]
