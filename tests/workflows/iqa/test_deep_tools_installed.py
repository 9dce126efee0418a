"""pyiqa itself through our tools, in the environment that scripts/setup_deep.sh makes; skipped where that is not."""

from __future__ import annotations

import json
import os
import subprocess
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from distort import distort
from PIL import Image
from skimage import data

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
PYTHON = CACHE / "loopwright" / "deep" / "bin" / "python"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not PYTHON.exists(), reason="no environment with pyiqa; scripts/setup_deep.sh makes one"),
]

WITHOUT_WEIGHTS = (
    "ssim", "ssimc", "psnr", "psnry", "fsim", "ms_ssim", "vif", "gmsd", "nlpd", "vsi", "cw_ssim", "piqe", "entropy",
)  # fmt: skip
OURS = {"fsim": "FSIMc", "vsi": "VSI", "gmsd": "GMSD", "psnr": "PSNR", "ms_ssim": "MS-SSIM", "piqe": "PIQE"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deep")
    reference = np.ascontiguousarray(data.chelsea()[:256, :384])
    Image.fromarray(reference).save(folder / "ref.png")
    for level in range(1, 6):
        Image.fromarray(distort(reference, "gaussian noise", level)).save(folder / f"{level}.png")
    rows = [
        {"image_path": f"{level}.png", "reference_path": "ref.png", "mos": 90 - 15 * level - copy, "group": str(copy)}
        for level in range(1, 6)
        for copy in range(4)
    ]
    (folder / "m.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def run(folder: Path, *words, code: int = 0):
    # Weights are looked for in an empty folder, and nothing answers at the proxy: no test fetches anything.
    away = {name: "http://127.0.0.1:9" for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
    env = {
        **os.environ,
        **away,
        "TORCH_HOME": str(folder / "torch"),
        "HF_HOME": str(folder / "hf"),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run([PYTHON, *map(str, words)], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


def command(folder: Path, *words, code: int = 0):
    return run(folder, "-c", "from loopwright.cli import main; main()", "iqa", *words, code=code)


def test_the_values_are_those_of_pyiqa_whatever_thread_asks_and_whatever_was_drawn_before(folder):
    done = run(
        folder,
        "-c",
        f"""
import json, sys
from concurrent.futures import ThreadPoolExecutor
from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.tools.deep import metrics
from loopwright.workflows.iqa.tools.registry import get_tool
image, reference = load_image("3.png"), load_image("ref.png")
print("torch" in sys.modules or "pyiqa" in sys.modules, file=sys.stderr)
found = {{}}
with ThreadPoolExecutor(4) as pool:
    for name in {WITHOUT_WEIGHTS!r}:
        tool = get_tool("pyiqa:" + name)
        found[name] = list(pool.map(lambda _: tool.measure(image, reference), range(2)))
import numpy as np, pyiqa, torch
from PIL import Image
torch.set_grad_enabled(False)
opened = [torch.from_numpy(np.array(Image.open(p))).permute(2, 0, 1)[None] / 255 for p in ("3.png", "ref.png")]
def own(name):
    metric = pyiqa.create_metric(name, device="cpu")
    return float(metric(*opened) if metric.metric_mode == "FR" else metric(opened[0]))
print(json.dumps({{
    "found": found, "own": {{name: own(name) for name in found}}, "threads": torch.get_num_threads(),
    "made": sorted(metrics._made),
    "ours": {{name: get_tool(ours).measure(image, reference) for name, ours in {OURS!r}.items()}},
}}))
""",
    )
    assert done.stderr.startswith("False")
    told = json.loads(done.stdout)
    assert told["threads"] == 1 and told["made"] == sorted(WITHOUT_WEIGHTS)
    for name, values in told["found"].items():
        assert values == [told["own"][name]] * 2, name
    # Our own tools are float32 and the authors' borders; see docs/tools.md for the differences.
    for name, tolerance in {
        "fsim": 1e-5,
        "vsi": 1e-3,
        "gmsd": 1e-3,
        "psnr": 1e-3,
        "ms_ssim": 1e-2,
        "piqe": 1.0,
    }.items():
        assert told["ours"][name] == pytest.approx(told["own"][name], abs=tolerance), name


def test_assess_calibrate_evaluate_and_assess_with_the_curve(folder):
    asked = ("assess", "3.png", "--reference", "ref.png", "--query", "Rate it with pyiqa:fsim", "--json")
    state = json.loads(command(folder, *asked).stdout)
    log = state["executor_evidence"]["tool_logs"][0]
    assert (log["tool"], log["score"], log["error"]) == ("pyiqa:fsim", None, None)
    assert len(state["executor_evidence"]["tool_logs"]) == 1 and state["iteration_count"] == 0
    assert state["summarizer_result"]["quality_score"] is None
    assert "there is no score of 1 to 5" in state["summarizer_result"]["final_answer"]
    assert "loopwright iqa calibrate" in state["summarizer_result"]["quality_reasoning"]

    given = ("m.jsonl", "--scale", "0,100", "--tools", "pyiqa:fsim,PSNR", "-w", 1)
    fitted = command(folder, "calibrate", *given, "--out", "c.json")
    assert "| pyiqa:fsim | 20 |" in fitted.stdout and "nan" not in fitted.stdout
    told = json.loads(command(folder, "evaluate", *given, "--boot", 20, "--json").stdout)
    by_tool = {item["tool"]: item for item in told["parts"][0]["tools"]} if "parts" in told else told
    assert "pyiqa:fsim" in json.dumps(by_tool)

    (folder / "c.yaml").write_text("iqa: {tools: {calibration: c.json}}")
    scored = json.loads(command(folder, *asked, "--config", "c.yaml").stdout)
    assert 1 <= scored["summarizer_result"]["quality_score"] <= 5
    assert scored["summarizer_result"]["used_evidence"]["tool"] == "pyiqa:fsim"


def test_a_metric_with_weights_that_lie_in_the_cache(folder):
    cached = folder / "torch" / "hub" / "pyiqa"
    cached.mkdir(parents=True)
    model = resources.files("loopwright.workflows.iqa") / "data" / "niqe_pris_params.npz"
    with model.open("rb") as file, np.load(file) as held:
        parameters = {"mu_prisparam": held["mu_pris_param"], "cov_prisparam": held["cov_pris_param"]}
    scipy.io.savemat(cached / "niqe_modelparameters.mat", parameters)
    asked = ("assess", "3.png", "--query", "Rate it with pyiqa:niqe and NIQE", "--json")
    logs = json.loads(command(folder, *asked).stdout)["executor_evidence"]["tool_logs"]
    assert [log["tool"] for log in logs] == ["pyiqa:niqe", "NIQE"]
    assert logs[0]["raw"] == pytest.approx(logs[1]["raw"], rel=0.05)


def test_weights_that_cannot_be_fetched_are_an_error_with_the_fix_and_an_embedded_tool_answers(folder):
    asked = ("assess", "3.png", "--reference", "ref.png", "--query", "Rate it with LPIPS", "--json", "--max-replan", 0)
    done = command(folder, *asked)
    state = json.loads(done.stdout)  # what pyiqa prints of its downloads is no part of it
    logs = state["executor_evidence"]["tool_logs"]
    assert "the weights of pyiqa:lpips cannot be fetched" in logs[0]["error"] and "TORCH_HOME" in logs[0]["error"]
    assert logs[1]["fallback_for"] == "pyiqa:lpips" and logs[1]["score"]


def test_an_image_that_a_metric_refuses(folder):
    Image.fromarray(np.ascontiguousarray(data.chelsea()[:40, :40])).save(folder / "small.png")
    asked = ("assess", "small.png", "--reference", "small.png", "--query", "Rate it with pyiqa:ms_ssim", "--json")
    logs = json.loads(command(folder, *asked).stdout)["executor_evidence"]["tool_logs"]
    assert "pyiqa:ms_ssim cannot measure an image of 40 x 40 pixels" in logs[0]["error"]


def test_the_list_says_what_licence_and_which_direction(folder):
    listed = command(folder, "tools", "--deep").stdout
    assert "pyiqa:musiq-spaq" in listed and "PolyForm Noncommercial" in listed and "pyiqa:fid" not in listed
    assert "MDSI" not in listed and "pyiqa" not in command(folder, "tools").stdout


def test_a_metric_that_is_late_takes_no_output_with_it(folder):
    (folder / "t.yaml").write_text("iqa: {tools: {timeout: 2}}")
    asked = ("assess", "3.png", "--reference", "ref.png", "--query", "Rate it with pyiqa:mad", "--json")
    logs = json.loads(command(folder, *asked, "--config", "t.yaml", "--max-replan", 0).stdout)
    assert "no result within 2 s" in logs["executor_evidence"]["tool_logs"][0]["error"]
