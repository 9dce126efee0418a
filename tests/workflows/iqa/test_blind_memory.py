"""A photograph of 40 megapixels is assessed within bounded memory."""

import re
import subprocess
import sys
from pathlib import Path

import cv2
import httpx
import numpy as np
import pytest

from loopwright.workflows.iqa.sources.images import RGB
from loopwright.workflows.iqa.tools.blind.brisque import brisque
from loopwright.workflows.iqa.tools.blind.scene_statistics import grey
from loopwright.workflows.iqa.tools.niqe import niqe

MOST = 1000
"""Megabytes."""

_ASSESS = """
import resource, subprocess, sys
command = [sys.executable, "-c", "from loopwright.cli import main; main()", "iqa", "assess", *sys.argv[1:]]
subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A process of its own in between, as a new process starts with the peak of the one that started it."""


def _scene(width: int, height: int) -> RGB:
    rng = np.random.default_rng(3)
    small = rng.integers(0, 256, (height // 32, width // 32, 3)).astype(np.uint8)
    scene = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.asarray(cv2.add(scene, cv2.randn(np.empty_like(scene), 0, 4)), np.uint8)


@pytest.fixture(scope="module")
def large() -> RGB:
    return _scene(7808, 5120)


@pytest.mark.slow
def test_forty_megapixels_take_less_than_a_gigabyte(large, tmp_path) -> None:
    path = tmp_path / "large.jpg"
    cv2.imwrite(str(path), large)
    done = subprocess.run(
        [sys.executable, "-c", _ASSESS, str(path), "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # Kilobytes, but bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < MOST * 10**6


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_server_gives_the_memory_of_large_images_back(large, tmp_path) -> None:
    path, at = tmp_path / "large.jpg", re.compile("listening on (http://[^;]*);")
    cv2.imwrite(str(path), large, [cv2.IMWRITE_JPEG_QUALITY, 60])
    command = [sys.executable, "-m", "loopwright", "serve", "--port", "0", "--data", str(tmp_path / "data")]
    # Beside no models, which a server in the folder of their files would load.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path) as server:
        try:
            url = next(found[1] for line in server.stdout or () if (found := at.search(line)))
            before = _resident(server.pid)
            for _ in range(3):
                with path.open("rb") as photograph:
                    asked = {"files": {"image": photograph}, "data": {"query": "Is it sharp?"}, "timeout": 120}
                    assert httpx.post(f"{url}/v1/workflows/iqa/run?wait=true", **asked).status_code == 200
            after = _resident(server.pid)
        finally:
            server.terminate()
    assert after - before < 100 * 10**6, (before, after)  # less than one of them takes


def _resident(process: int) -> int:
    """Bytes of memory."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096


@pytest.mark.slow
@pytest.mark.parametrize("tool", [brisque, niqe])
def test_a_large_image_is_judged_as_its_reduced_copy(large, tool) -> None:
    # 40 to 6.5 megapixels.
    reduced = cv2.resize(large, (3161, 2073), interpolation=cv2.INTER_AREA)
    assert tool(large) == pytest.approx(tool(reduced), rel=0.02)


def test_up_to_six_and_a_half_megapixels_nothing_is_reduced() -> None:
    scene = _scene(2560, 2560)
    assert (grey(scene) == cv2.cvtColor(scene, cv2.COLOR_RGB2GRAY)).all()
    assert grey(np.vstack([scene, scene])).shape == (3620, 1810)
