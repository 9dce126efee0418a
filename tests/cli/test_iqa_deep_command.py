"""``loopwright iqa tools --deep`` and metrics of pyiqa on the command line, where pyiqa is not installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from PIL import Image
from skimage import data

pytestmark = pytest.mark.skipif(find_spec("pyiqa") is not None, reason="pyiqa is installed here")


def test_the_list_says_how_pyiqa_is_installed_and_its_licence(loopwright):
    done = loopwright("iqa", "tools", "--deep")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "loopwright: pyiqa is not installed (its licence: PolyForm Noncommercial 1.0.0): "
        "pip install 'loopwright[iqa-deep]'\n"
    )


def test_the_list_without_it_holds_what_is_embedded(loopwright):
    done = loopwright("iqa", "tools")
    assert done.returncode == 0 and "BlindScore" in done.stdout and "pyiqa" not in done.stdout


@pytest.mark.parametrize("name", ["MUSIQ", "pyiqa:ssim"])
def test_a_question_and_an_option_that_name_a_metric_of_it(loopwright, tmp_path, name):
    Image.fromarray(data.chelsea()).save(tmp_path / "a.png")
    (tmp_path / "m.jsonl").write_text('{"image_path": "a.png", "mos": 3}\n')
    words = [
        ("iqa", "assess", "a.png", "--query", f"Rate it with {name}"),
        ("iqa", "evaluate", "m.jsonl", "--tools", name),
        ("iqa", "calibrate", "m.jsonl", "--tools", name, "--out", "c.json"),
    ]
    for given in words:
        done = loopwright(*given, cwd=tmp_path)
        assert done.returncode == 2, given
        assert f"unknown tool '{name}'" in done.stderr and "pip install 'loopwright[iqa-deep]'" in done.stderr
