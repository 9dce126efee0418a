"""The metrics of pyiqa as tools, in an environment that does not have it, and with a package that holds a registry."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from loopwright.errors import UnknownNameError, WeightsError
from loopwright.workflows.iqa.question.reading import read_query
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.sources.images import LoadedImage
from loopwright.workflows.iqa.tools.calibration import Calibration, using_calibrations
from loopwright.workflows.iqa.tools.execution import ResultCache, run_tools
from loopwright.workflows.iqa.tools.registry import all_tools, get_tool, select_tools

without_pyiqa = pytest.mark.skipif(find_spec("pyiqa") is not None, reason="pyiqa is installed here")

# Written by hand after the form of pyiqa 0.1.16: an excerpt of its registry. Whoever imports the package itself fails.
REGISTRY = """
DEFAULT_CONFIGS = {
    "lpips": {"metric_opts": {"type": "LPIPS"}, "metric_mode": "FR", "lower_better": True, "score_range": "0, 1"},
    "ssim": {"metric_opts": {"type": "SSIM"}, "metric_mode": "FR", "score_range": "0, 1"},
    "musiq": {"metric_opts": {"type": "MUSIQ"}, "metric_mode": "NR", "score_range": "~0, ~100"},
    "musiq-spaq": {"metric_opts": {"type": "MUSIQ"}, "metric_mode": "NR", "score_range": "~0, ~100"},
    "niqe_matlab": {"metric_opts": {"type": "NIQE"}, "metric_mode": "NR", "lower_better": True},
    "clipiqa": {"metric_opts": {"type": "CLIPIQA"}, "metric_mode": "NR", "score_range": "0, 1"},
    "clipiqa+": {"metric_opts": {"type": "CLIPIQA"}, "metric_mode": "NR", "score_range": "0, 1"},
    "topiq_nr-face": {"metric_opts": {"type": "CFANet"}, "metric_mode": "NR", "score_range": "~0, ~1"},
    "qualiclip": {"metric_opts": {"type": "QualiCLIP"}, "metric_mode": "NR", "score_range": "0, 1"},
    "unique": {"metric_opts": {"type": "UNIQUE"}, "metric_mode": "NR", "score_range": "~-3, ~3"},
    "mad": {"metric_opts": {"type": "MAD"}, "metric_mode": "FR", "lower_better": True, "score_range": "0, ~"},
    "fid": {"metric_opts": {"type": "FID"}, "metric_mode": "NR", "lower_better": True, "score_range": "0, ~"},
    "fgresq_pair": {"metric_opts": {"type": "FGResQ"}, "metric_mode": "FR", "score_range": "quality: 0, 1; rank: 0, 2"},
}
"""


@pytest.fixture
def registry(tmp_path):
    """Runs code where a pyiqa is installed that cannot be imported; gives what the code printed as JSON."""
    package = tmp_path / "site" / "pyiqa"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('pyiqa was imported')")
    (package / "default_model_configs.py").write_text(REGISTRY)
    described = package.with_name("pyiqa-0.1.16.dist-info")
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: pyiqa\nVersion: 0.1.16\n")

    def run(code: str):
        path = os.pathsep.join([str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            [sys.executable, "-c", f"import json\n{code}"],
            env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    run.registry = package / "default_model_configs.py"
    return run


@without_pyiqa
@pytest.mark.parametrize("name", ["lpips", "pyiqa:ssim", "pyiqa:musiq"])
def test_without_pyiqa_the_error_says_how_to_get_it_and_its_licence(name):
    with pytest.raises(UnknownNameError, match=r"unknown tool .*MDSI.*pip install 'loopwright\[iqa-deep\]'.*Noncomm"):
        get_tool(name)
    with pytest.raises(UnknownNameError, match="iqa-deep"):
        read_query(f"Rate it with {name}")


def test_no_metric_of_pyiqa_is_chosen_or_stands_in():
    assert not any(tool.name.startswith("pyiqa") or tool.prepare for tool in all_tools())
    for mode in ReferenceMode:
        assert all(tool.shipped_curve for tool in select_tools([], mode, limit=99))


def test_the_registry_is_read_without_importing_pyiqa(registry):
    found = registry("""
from loopwright.workflows.iqa.tools.deep.finding import deep_tools
print(json.dumps({t.name: [t.reference, t.higher_is_better, t.bounds[0], t.source] for t, _ in deep_tools()}))
""")
    assert "pyiqa:fid" not in found and "pyiqa:fgresq_pair" not in found and len(found) == 11
    assert found["pyiqa:lpips"][:3] == ["Full-Reference", False, 0.0]
    assert found["pyiqa:musiq"][:3] == ["No-Reference", True, -np.inf]  # "~0" is no bound
    assert "0.1.16" in found["pyiqa:musiq"][3] and "non-commercial" in found["pyiqa:musiq"][3]


QUERIES = {
    "Rate it with musiq": ["pyiqa:musiq"],
    "use MUSIQ-spaq": ["pyiqa:musiq-spaq"],
    "Use a MUSIQ-based rating": ["pyiqa:musiq"],
    "Rate it with pyiqa:musiq and NIQE": ["pyiqa:musiq", "NIQE"],
    "compute pyiqa:ssim and SSIM": ["pyiqa:ssim", "SSIM"],
    "use ssim": ["SSIM"],
    "rate it with niqe_matlab": ["pyiqa:niqe_matlab"],
    "CLIP IQA score?": ["pyiqa:clipiqa"],
    "use clipiqa+": ["pyiqa:clipiqa+"],
    "rate by topiq_nr-face": ["pyiqa:topiq_nr-face"],
    "use the qualiclip metric": ["pyiqa:qualiclip"],
    "Is it good, with unique colours?": [],
    "rate it by UNIQUE": ["pyiqa:unique"],
    "Is the mad dog sharp?": [],
    "PLEASE RATE IT WITH LOVE": [],
}


def test_what_a_question_names(registry):
    found = registry(f"""
from loopwright.workflows.iqa.question.reading import read_query
print(json.dumps({{q: [r.tools, r.scope] for q in {list(QUERIES)!r} for r in [read_query(q)]}}))
""")
    assert {query: tools for query, (tools, _) in found.items()} == QUERIES
    assert {query for query, (_, scope) in found.items() if scope != "Global"} == {"Is the mad dog sharp?"}


def test_a_metric_is_no_object_of_a_question(registry):
    found = registry("""
from loopwright.workflows.iqa.question.reading import read_query
print(json.dumps([read_query(q).scope for q in ("What is the LPIPS of this image?", "The pyiqa:musiq of the car?")]))
""")
    assert found == ["Global", ["car"]]


def test_names_that_are_wrong_get_a_reason(registry):
    found = registry("""
from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.tools.registry import get_tool
def told(name):
    try:
        return get_tool(name).name
    except UnknownNameError as error:
        return str(error)
print(json.dumps([told(name) for name in ("pyiqa:musik", "fid", "fgresq_pair", "PYIQA:SSIM", "clip-iqa", "clip-iqa+")]))
""")
    assert "did you mean pyiqa:musiq?" in found[0]
    assert "two sets of images" in found[1] and "which of two images is better" in found[2]
    assert found[3:] == ["pyiqa:ssim", "pyiqa:clipiqa", "pyiqa:clipiqa+"]


def test_a_registry_of_another_form_is_an_error_that_says_so(registry):
    registry.registry.write_text("MODELS = {}")
    assert "registry of pyiqa 0.1.16 cannot be read" in registry("""
from loopwright.errors import ConfigError
from loopwright.workflows.iqa.tools.registry import get_tool
assert get_tool("ssim").name == "SSIM"
try:
    get_tool("musiq")
except ConfigError as error:
    print(json.dumps(str(error)))
""")


@pytest.fixture
def image():
    rgb = np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8)
    return LoadedImage(path=Path("a.png"), rgb=rgb, digest="a")


def deep(name: str, value: float = 0.5, *, prepare=lambda: None, compute=None):
    function = compute or (lambda _rgb: value)
    return dataclasses.replace(
        get_tool("PIQE"), name=f"pyiqa:{name}", compute=function, prepare=prepare, shipped_curve=False
    )


def test_without_a_curve_there_is_a_value_and_no_score(image):
    log = run_tools([deep("a")], image, None, cache=ResultCache())[0]
    assert (log.raw, log.score, log.error) == (0.5, None, None)
    curve = Calibration(
        tool="pyiqa:a", knots=((0, 1), (1, 5)), error=0.1, dataset="mine", rows=20, fitted_on="2026-11-22"
    )
    with using_calibrations({"pyiqa:a": curve}):
        assert run_tools([deep("a")], image, None, cache=ResultCache())[0].score == 3.0


def test_a_metric_that_cannot_be_prepared_fails_and_an_embedded_tool_stands_in(image):
    def prepare():
        raise WeightsError("the weights cannot be fetched")

    logs = run_tools([deep("a", prepare=prepare)], image, None, cache=ResultCache())
    assert logs[0].error == "the weights cannot be fetched"
    assert logs[1].fallback_for == "pyiqa:a" and not logs[1].tool.startswith("pyiqa")


def test_loading_is_not_part_of_the_time_that_a_run_may_take(image):
    log = run_tools([deep("a", prepare=lambda: time.sleep(0.5))], image, None, timeout_s=0.3, cache=ResultCache())[0]
    assert log.error is None and log.raw == 0.5


def test_metrics_of_pyiqa_run_one_at_a_time_and_others_beside_them(image):
    running, most = set(), []
    lock, embedded_done = threading.Lock(), threading.Event()

    def run(name):
        def compute(_rgb):
            with lock:
                running.add(name)
                most.append(len(running))
            assert embedded_done.wait(20)  # an embedded tool is not held up
            with lock:
                running.remove(name)
            return 0.5

        return compute

    def embedded(_rgb):
        embedded_done.set()
        return 50.0

    beside = dataclasses.replace(get_tool("PIQE"), compute=embedded)
    tools = [deep("a", compute=run("a")), deep("b", compute=run("b")), beside]
    logs = run_tools(tools, image, None, workers=3, timeout_s=60, cache=ResultCache())
    assert [log.error for log in logs] == [None] * 3
    assert most == [1, 1]
