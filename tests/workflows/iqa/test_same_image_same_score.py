"""The same pixels give the same score, in any format and by any number of threads; test_batch_runs.py has batches."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from loopwright.workflows.iqa import run_pipeline

QUERY = "What is the quality of this image?"
FORMATS = {"a.png": "PNG", "b.bmp": "BMP", "c.tif": "TIFF", "d.webp": "WEBP"}


def _numbers(path: Path) -> dict[str, float | None]:
    """Each tool's raw value, unrounded, and the answer's score; measured anew."""
    state = run_pipeline(QUERY, path)
    answered = state["summarizer_result"].quality_score
    return {log.tool: log.raw for log in state["executor_evidence"].tool_logs} | {"answer": answered}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory, photograph) -> Path:
    """One photograph in four formats."""
    folder = tmp_path_factory.mktemp("pictures")
    one = Image.fromarray(np.asarray(photograph("coffee"))[:300, :400])
    for name, kind in FORMATS.items():
        one.save(folder / name, kind, **({"lossless": True} if kind == "WEBP" else {}))
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
