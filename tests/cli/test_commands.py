"""The command line as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import skimage
from PIL import Image

PHOTOGRAPHS = Path(skimage.__file__).parent / "data"
PROGRAM = Path(sys.executable).with_name("loopwright")


@pytest.mark.slow
def test_a_reader_that_goes_away_ends_the_program(tmp_path):
    words = [PROGRAM, "assistant", "ask", "any talks about databases?"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=tmp_path) as asked:
        assert asked.stdout is not None and asked.stdout.readline()
        asked.stdout.close()
        try:
            assert asked.wait(timeout=60) == 1
        finally:
            asked.kill()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
@pytest.mark.parametrize("buffered", ["", "1"])
def test_a_full_disk_is_told_in_one_line(buffered):
    env = {**os.environ, "PYTHONUNBUFFERED": buffered}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([PROGRAM, "--version"], stdout=full, stderr=subprocess.PIPE, env=env)
    assert (done.returncode, done.stderr) == (2, b"loopwright: nothing more can be written: No space left on device\n")


def test_graph_show_in_every_format(loopwright, tmp_path):
    assert "loop replan" in loopwright("graph", "show", "iqa").stdout
    assert loopwright("graph", "show", "iqa", "--format", "mermaid").stdout.startswith("graph TD")
    shown = json.loads(loopwright("graph", "show", "iqa", "--format", "json").stdout)
    assert shown["certificate"]["bounded"] is True
    assert shown["loops"][0]["name"] == "replan"
    picture = tmp_path / "new" / "graph.png"
    assert loopwright("graph", "show", "iqa", "--format", "png", "--out", picture).returncode == 0
    with Image.open(picture) as image:
        assert image.format == "PNG"
        assert image.width > 200
    (tmp_path / "C:").mkdir()  # where a path begins with a drive
    source = "print('imported')\nweb = StateGraph(dict).add_node('find[web]', len).add_edge('__start__', 'find[web]')"
    (tmp_path / "C:/own.py").write_text(f"from langgraph.graph import *\n{source}\na, b = web.compile(), web.compile()")
    shown = loopwright("graph", "show", "C:/own.py", cwd=tmp_path).stdout
    assert shown.count("find[web]") == 2 and "own.py:b\n" in shown and "imported" not in shown
    assert loopwright("graph", "show", "C:/own.py:web", "--format", "svg", cwd=tmp_path).stdout.startswith("<svg")


def test_assess_prints_one_json_object_and_logs_elsewhere(loopwright):
    done = loopwright("-v", "iqa", "assess", PHOTOGRAPHS / "coffee.png", "--query", "Is the cup sharp?", "--json")
    state = json.loads(done.stdout)
    assert state["iteration_count"] == 0  # nothing here can locate a cup, so no pass is spent on it
    assert state["summarizer_result"]["final_answer"]
    assert "loop_ledger" not in state
    assert "decision: __end__" in done.stderr


def test_assess_resumes_a_finished_run_without_running_it_again(loopwright, refused, tmp_path):
    config = tmp_path / "pipeline.yaml"
    config.write_text("pipeline: {checkpoint: {enable: true, save_dir: kept}}")
    words = ("iqa", "assess", PHOTOGRAPHS / "coffee.png", "-c", config, "--sample-id", "cup", "--json")
    first = loopwright(*words, cwd=tmp_path)
    again = loopwright(*words, "--resume", cwd=tmp_path)
    assert json.loads(again.stdout) == json.loads(first.stdout)
    assert len(list((tmp_path / "kept").iterdir())) == 1
    assert "belongs to query" in refused(*words, "--resume", "--query", "Is it noisy?", cwd=tmp_path)
    assert loopwright(*words, cwd=tmp_path).returncode == 0
    assert len(list((tmp_path / "kept").iterdir())) == 2, "a new run never mixes with an old one"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing.png",), "there is no file"),
        (("coffee.png", "--query", " "), "query"),
        (("coffee.png", "--region", "1,2,3"), "left,top,width,height"),
        (("coffee.png", "--region", "600,0,50,50"), "600 x 400"),
        (("coffee.png", "--reference", "astronaut.png"), "512"),
        (("coffee.png", "--query", "use LPIPS"), "lpips"),
        (("coffee.png", "--query", "What is its MDSI?"), "reference"),
        (("coffee.png", "--config", "missing.yaml"), "missing.yaml"),
        (("x" * 300,), "name too long"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(refused, words, message):
    assert message.lower() in refused("iqa", "assess", *words, cwd=PHOTOGRAPHS).lower()


def test_an_error_within_a_stage_is_told_without_the_stage_s_input(refused, tmp_path):
    (tmp_path / "c.yaml").write_text("models: {planner: 'openai:gpt-4.1-mini'}")
    told = refused("iqa", "assess", PHOTOGRAPHS / "coffee.png", "--config", tmp_path / "c.yaml")
    assert told.startswith("loopwright: node 'planner', model 'openai:gpt-4.1-mini'")
    assert "its input was" not in told


def test_square_brackets_in_a_message_are_no_markup(loopwright, tmp_path):
    (tmp_path / "c.yaml").write_text("langgraph: {graceful_errors: true, continue_after_error: false}")
    done = loopwright("iqa", "assess", "a[/b].png", "--config", "c.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert "no answer: executor: ImageError: there is no file 'a[/b].png'" in done.stdout
