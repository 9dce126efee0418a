"""``loopwright iqa evaluate`` and ``calibrate``."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from distort import distort
from PIL import Image
from skimage import data


@pytest.fixture
def folder(tmp_path):
    rows = []
    for number, rgb in enumerate((data.coffee(), data.chelsea())):
        pristine = np.ascontiguousarray(rgb[40:240, 60:300])
        Image.fromarray(pristine).save(tmp_path / f"r{number}.png")
        for level in range(5):
            image = distort(pristine, "gaussian noise", level + 1)
            for copy in range(2):
                name = f"{number}{level}{copy}.png"
                Image.fromarray(image).save(tmp_path / name)
                rows.append({"image_path": name, "reference_path": f"r{number}.png", "mos": 90 - 20 * level - copy})
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


@pytest.mark.slow
def test_calibrate_then_evaluate_with_the_curves(loopwright, folder):
    done = loopwright(
        "iqa", "calibrate", "m.jsonl", "--out", "c.json", "--tools", "mdsi,psnr", "-w", 1, "--scale", "0,100",
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "| MDSI | 20 |" in done.stdout and done.stdout.splitlines()[-1] == "c.json"
    assert "20 of 20" in done.stderr
    (folder / "c.yaml").write_text("iqa: {tools: {calibration: c.json}}")
    words = ("iqa", "evaluate", "m.jsonl", "-w", 1, "--boot", 20, "--json", "--tools", "MDSI", "--scale", "0,100")
    shipped = json.loads(loopwright(*words, cwd=folder).stdout)
    own = json.loads(loopwright(*words, "-c", "c.yaml", cwd=folder).stdout)
    rmse = [found["agreement"][0]["tools"][0]["rmse"]["value"] for found in (shipped, own)]
    assert rmse[1] < rmse[0]
    assert shipped["configuration"] != own["configuration"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evaluate", "none.jsonl"], "cannot read the manifest"),
        (["evaluate", "m.jsonl", "--by", "colour"], "known: distortion, group, level, split"),
        (["evaluate", "m.jsonl", "--resample", "tile"], "known: reference, group, row"),
        (["evaluate", "m.jsonl", "--tools", "MDSJ"], "MDSJ"),
        (["evaluate", "m.jsonl", "--scale", "5,1"], "give the least and the greatest"),
        (["calibrate", "m.jsonl", "--out", "c.csv"], "ends in .json"),
        (["calibrate", "w.jsonl", "--out", "c.json"], "line 1: mos: "),
        (["evaluate", "m.jsonl", "--resample", ""], "known: reference, group, row"),
        (["calibrate", "m.jsonl", "--out", "w.jsonl/c.json"], "cannot write 'w.jsonl/c.json'"),
        (["calibrate", "m.jsonl", "--out", "folder.json"], "cannot write 'folder.json': it is a folder"),
    ],
)
def test_mistakes_are_one_line(loopwright, folder, words, said):
    (folder / "w.jsonl").write_text('{"image_path": "000.png", "mos": "fine"}\n')
    (folder / "folder.json").mkdir()
    done = loopwright("iqa", *words, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_manifest_whose_name_is_not_utf8_is_named_with_escapes(loopwright, folder):
    name = os.fsdecode(b"caf\xe9.jsonl")
    (folder / "m.jsonl").rename(folder / name)
    for words in ([], ["--json"]):
        done = loopwright("iqa", "evaluate", name, "-w", 1, "--boot", 0, "--tools", "PSNR", *words, cwd=folder)
        assert done.returncode == 0 and "caf\\udce9.jsonl" in done.stdout, done.stderr


def test_bad_rows_are_listed_and_stop_nothing(loopwright, folder):
    with (folder / "m.jsonl").open("a") as file:
        file.write('\n{"image_path": "gone.png", "mos": 4}\n')
    done = loopwright("iqa", "evaluate", "m.jsonl", "-w", 1, "--boot", 10, "--tools", "PSNR", cwd=folder)
    assert done.returncode == 1
    assert "line 21, gone.png: " in done.stdout and "1 of 21 rows could not be measured" in done.stderr
