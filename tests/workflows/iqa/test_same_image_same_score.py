"""The same pixels give the same score: alone, in a batch, in any order, by any number of workers, in any format."""

import csv
import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from loopwright.workflows.iqa import run_pipeline
from loopwright.workflows.iqa.batch.running import run_batch

QUERY = "What is the quality of this image?"
FORMATS = {"a.png": "PNG", "b.bmp": "BMP", "c.tif": "TIFF", "d.webp": "WEBP"}


def _numbers(path: Path) -> dict[str, float | None]:
    """Each tool's raw value, unrounded, and the answer's score; measured anew."""
    state = run_pipeline(QUERY, path)
    answered = state["summarizer_result"].quality_score
    return {log.tool: log.raw for log in state["executor_evidence"].tool_logs} | {"answer": answered}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory, photograph) -> Path:
    """One photograph in four formats, and three others."""
    folder = tmp_path_factory.mktemp("pictures")
    one = Image.fromarray(np.asarray(photograph("coffee"))[:300, :400])
    for name, kind in FORMATS.items():
        one.save(folder / name, kind, **({"lossless": True} if kind == "WEBP" else {}))
    for name in ("astronaut", "chelsea", "rocket"):
        Image.fromarray(np.asarray(photograph(name))[:240, :320]).save(folder / f"{name}.png")
    return folder


def test_other_formats_and_other_threads(pictures: Path) -> None:
    before = cv2.getNumThreads()
    try:
        seen = []
        for threads in (1, 2):
            cv2.setNumThreads(threads)
            seen += [_numbers(pictures / name) for name in (FORMATS if threads == 1 else ["a.png"])]
    finally:
        cv2.setNumThreads(before)
    assert seen[0]["answer"] is not None
    assert seen == [seen[0]] * len(seen)


@pytest.mark.slow
def test_alone_in_a_batch_in_another_order_and_by_more_workers(pictures: Path, tmp_path: Path) -> None:
    backwards = tmp_path / "backwards"
    backwards.mkdir()
    # The other names turn the order around.
    for at, path in enumerate(sorted(pictures.iterdir(), reverse=True)):
        shutil.copy(path, backwards / f"{at}_{path.name}")
    tables = []
    for folder, workers in ((pictures, 1), (backwards, 2)):
        out = tmp_path / f"{workers}.csv"
        run_batch(folder, out, query=QUERY, workers=workers)
        with out.open(encoding="utf-8", newline="") as file:
            tables.append({row["path"].split("_")[-1]: row for row in csv.DictReader(file)})
    assert len(tables[0]) == 7
    measured = [name for name in next(iter(tables[0].values())) if name.endswith(("_raw", "_score"))]
    for name, row in tables[0].items():
        other = tables[1][name]
        assert {key: row[key] for key in measured} == {key: other[key] for key in measured}
        assert json.loads(row["distortions"]) == json.loads(other["distortions"])
        alone = _numbers(pictures / name)
        assert float(row["quality_score"]) == alone.pop("answer")
        assert {tool: float(row[f"{tool}_raw"]) for tool in alone} == alone
