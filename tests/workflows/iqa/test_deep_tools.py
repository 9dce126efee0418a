"""The metrics of pyiqa as tools: without it, and itself in the environment that scripts/setup_deep.sh makes."""

from __future__ import annotations

import json
import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from distort import distort
from PIL import Image
from skimage import data

from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.question.reading import read_query
from loopwright.workflows.iqa.tools.registry import all_tools, get_tool

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
PYTHON = CACHE / "loopwright" / "deep" / "bin" / "python"
OURS = {"vsi": "VSI", "gmsd": "GMSD", "psnr": "PSNR", "ms_ssim": "MS-SSIM"}


@pytest.mark.skipif(find_spec("pyiqa") is not None, reason="pyiqa is installed here")
@pytest.mark.parametrize("name", ["lpips", "pyiqa:ssim", "pyiqa:MUSIQ"])
def test_without_pyiqa_the_error_says_how_to_get_it_and_its_licence(name):
    with pytest.raises(UnknownNameError, match=r"unknown tool .*pip install 'loopwright\[iqa-deep\]'.*Noncomm"):
        get_tool(name)
    with pytest.raises(UnknownNameError, match="iqa-deep"):
        read_query(f"Rate it with {name}")


def test_no_metric_of_pyiqa_is_chosen_or_stands_in():
    assert not any(tool.name.startswith("pyiqa") for tool in all_tools())


def run(folder: Path, *words: object) -> str:
    # Weights are looked for in an empty folder, and nothing answers at the proxy: no test fetches anything.
    away = {name: "http://127.0.0.1:9" for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
    env = {**os.environ, **away, "TORCH_HOME": str(folder / "torch"), "HF_HOME": str(folder / "hf")}
    done = subprocess.run([PYTHON, *map(str, words)], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(not PYTHON.exists(), reason="no environment with pyiqa; scripts/setup_deep.sh makes one")
def test_the_values_are_those_of_pyiqa_and_near_ours(tmp_path):
    reference = np.ascontiguousarray(data.chelsea()[:256, :384])
    Image.fromarray(reference).save(tmp_path / "ref.png")
    Image.fromarray(distort(reference, "gaussian noise", 3)).save(tmp_path / "3.png")
    script = f"""
import json
from concurrent.futures import ThreadPoolExecutor
from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.tools.registry import get_tool
image, reference = load_image("3.png"), load_image("ref.png")
with ThreadPoolExecutor(4) as pool:
    found = {{n: list(pool.map(lambda _: get_tool("pyiqa:" + n).measure(image, reference), "ab")) for n in {list(OURS)!r}}}
print(json.dumps([found, {{n: get_tool(ours).measure(image, reference) for n, ours in {OURS!r}.items()}}]))
"""
    found, ours = json.loads(run(tmp_path, "-c", script))
    for name, values in found.items():
        assert values[0] == values[1] == pytest.approx(ours[name], rel=1e-2), name
    program = "from loopwright.cli import main; main()"
    words = ("iqa", "assess", "3.png", "-r", "ref.png", "--json", "--query", "Rate it with pyiqa:ssim")
    state = json.loads(run(tmp_path, "-c", program, *words))
    assert "pyiqa:ssim is " in state["summarizer_result"]["final_answer"]
    assert "no curve to a score" in " ".join(state["executor_evidence"]["notes"])
