"""``loopwright check`` as a user runs it: targets, formats, exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

HEAD = """
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

class State(TypedDict):
    n: int

def work(state: State): return {"n": 1}

g = StateGraph(State)
g.add_node("work", work)
g.add_edge(START, "work")
"""
LINE = HEAD + "app = g.compile()\n"
CYCLE = HEAD + 'g.add_edge("work", "work")\napp = g.compile()\n'
UNREAD = HEAD + "g.add_edge('work', input())\n"
LOST = HEAD + 'g.add_node("lost", work)\n'
BROKEN = "def broken(:\n"


@pytest.fixture
def check(loopwright, monkeypatch, tmp_path):
    def run(*words: object):
        monkeypatch.setattr(sys, "path", [*sys.path])
        return loopwright("check", *words, cwd=tmp_path)

    return run


@pytest.fixture
def files(tmp_path):
    def write(**sources: str) -> None:
        for name, source in sources.items():
            path = tmp_path / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source)

    return write


@pytest.mark.parametrize(
    ("source", "code"),
    [(LINE, 0), (CYCLE, 1), (UNREAD, 1), (LOST, 1), (BROKEN, 2), ("x = 1\n", 2), (CYCLE.replace("g.add_edge(\"work\", \"work\")", "g.add_edge('work', 'work')  # loopwright: ignore"), 0)],
)  # fmt: skip
def test_the_exit_code_says_what_was_found(check, files, source, code):
    files(graph=source)
    done = check("graph.py")
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == (code == 2)


def test_a_folder_is_read_without_what_is_not_the_user_s_own(check, files, tmp_path):
    files(a=LINE, b=CYCLE, broken=BROKEN, plain="x = 1\n", inner__c=CYCLE)
    files(tests__t=CYCLE, venv__v=CYCLE, _hidden=LINE, env__lib=LINE, mine__lib=CYCLE, forge__lib=CYCLE)
    tests = CYCLE + "def test_app(): ...\n"
    files(test_a=tests, a_test=tests, inner__conftest=tests, inner__load_test=CYCLE)  # the last is an agent
    (tmp_path / "mine/pyvenv.cfg").write_text("")
    (tmp_path / "forge/conda-meta").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/hook.py").write_text(CYCLE)
    done = check(".")
    assert done.returncode == 2
    assert done.stderr.startswith("loopwright: broken.py: line 1: invalid syntax, as Python 3.")
    assert [line.split()[1] for line in done.stdout.splitlines() if line.startswith(("bounded", "unbounded"))] == [
        "_hidden.py:app", "a.py:app", "b.py:app:", "env/lib.py:app", "inner/c.py:app:", "inner/load_test.py:app:",
    ]  # fmt: skip
    assert "6 graphs in 8 files: 3 bounded, 3 unbounded" in done.stdout


def test_several_files_may_hold_no_graph_and_one_only_if_allowed(check, files):
    files(plain="x = 1\n", other="y = 1\n")
    assert check("plain.py", "other.py").returncode == 0
    assert check("plain.py", "--allow-empty").returncode == 0


@pytest.mark.parametrize("words", [["trap.py"], ["."], ["trap.py:app", "--no-import"]])
def test_files_are_not_run(check, files, tmp_path, words):
    (tmp_path / "precious").write_text("kept")
    files(trap="from pathlib import Path\nPath('precious').unlink()\nraise SystemExit(7)\n" + LINE)
    assert check(*words).returncode == 0
    assert (tmp_path / "precious").read_text() == "kept"


def test_scripts_and_graphs_of_notebooks_are_read_by_whatever_path(check, files, tmp_path):
    cell = {"cell_type": "code", "source": LINE}
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": [cell]}))
    (tmp_path / "script").write_text(CYCLE)
    files(book="open('run', 'x').close()\n", graph=LINE)
    done = check("book.ipynb:app", "script", "./graph.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert [line for line in done.stdout.splitlines() if "bounded" in line][::2] == [
        "bounded book.ipynb:app", "bounded graph.py:app",
    ]  # fmt: skip
    assert check("./graph.py:app", "--no-import").returncode == check("script", "--import").returncode - 1 == 0
    assert "is a notebook" in check("book.ipynb:app", "--write-certificate", "book.json").stderr
    assert not (tmp_path / "run").exists()


def test_an_import_finds_what_lies_in_the_project_s_root(check, files):
    files(house_utils__names="NAME = 'work'\n", agents__graph="from house_utils.names import NAME\n" + LINE)
    assert (done := check("agents/graph.py:app")).returncode == 0, done.stderr


def test_a_failing_import_is_one_line_and_the_other_files_are_checked(check, files):
    files(a="raise SystemExit(7)\n" + LINE, b=CYCLE, c="import nothing_like_it\n" + LINE)
    done = check(".", "--import")
    assert done.returncode == 2
    assert "unbounded b.py:app" in done.stdout
    assert done.stderr.splitlines() == [
        "loopwright: cannot import a.py: SystemExit: 7",
        "loopwright: cannot import c.py: ModuleNotFoundError: No module named 'nothing_like_it'",
    ]


def test_importing_proves_exactly_what_cannot_be_read(check, files):
    source = HEAD + "g.add_edge('work', '__END__'.swapcase())\napp = g.compile()\n"
    files(graph=source)
    assert check("graph.py").returncode == 1
    done = check("graph.py", "--import")
    assert done.returncode == 0
    assert "at most 1" in done.stdout


def test_an_import_loses_no_graph_that_reading_found(check, files):
    made = "def make():\n    h = StateGraph(State)\n    h.add_node('work', work)\n    h.add_edge(START, 'work')\n"
    made += "    h.add_edge('work', 'work')\n    return h.compile()\n"
    files(graph=LINE + made, factory=HEAD.partition("g = ")[0] + made, use="from factory import make\napp = make()\n")
    files(unread=LINE + made.replace("'work', 'work')\n    return", "'work', input())\n    return"))
    files(lost=LOST + made.replace("h.add_edge('work', 'work')", "h.add_node('lost', work)"))
    for name in ("graph.py:make", "factory.py:make", "use.py:app", "unread.py:make", "lost.py:make"):
        done = check(name.partition(":")[0], "--import")
        said = {"unread": "not read", "lost": "unreachable"}.get(name.partition(".")[0], "unbounded")
        assert (done.returncode, f"{said} {name}" in done.stdout) == (1, True), done


def test_files_of_the_same_name_and_of_packages_are_imported_apart(check, files, tmp_path):
    files(demo=LINE, one__graph=LINE, two__graph=CYCLE, src__pkg__nodes="open('once', 'x').close()\nNAME = 'work'\n")
    (tmp_path / "src/pkg/__init__.py").touch()
    files(**{f"src__pkg__{name}": LINE.replace("\ng = ", "\nfrom .nodes import NAME\ng = ") for name in "ab"})
    done = check(".", "--import")
    assert done.stderr == ""
    assert "unbounded two/graph.py:app" in done.stdout
    assert done.stdout.count("\nbounded ") + done.stdout.startswith("bounded ") == 4


def test_a_comment_silences_an_imported_graph_too(check, files):
    ignored = CYCLE.replace("app = g.compile()", "app = g.compile()  # loopwright: ignore")
    files(graph=ignored, inside=ignored.replace("app =", "if g:\n    app ="))
    for name in ("graph.py:app", "inside.py:app"):
        done = check(name)
        assert done.returncode == 0
        assert "silenced" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.py"], "there is no file missing.py"),
        (["grahp.py"], "there is no file grahp.py. Did you mean graph.py?"),
        (["./flwos/graf.py:app"], "there is no file flwos/graf.py. Did you mean flows/graph.py?"),
        (["flwos/"], "there is no folder flwos. Did you mean flows?"),
        (["flwos"], "cannot import flwos: there is no module or folder flwos. Did you mean flows?"),
        (["graph.py:ap"], "unknown graph 'ap'. Did you mean 'app'?"),
        (["graph.py:ap", "--no-import"], "unknown graph 'ap'. Did you mean 'app'?"),
        (["graph:app", "--no-import"], "is a module, which must be imported"),
        (["no_such_module:graph"], "cannot import no_such_module"),
        (["json"], "holds no LangGraph graph"),
        ([":app"], "':app' names no file and no module: write FILE.py[:GRAPH]"),
        (["fails.py:make"], "loopwright: fails.py:make() fails: KeyError: 'OPENAI_API_KEY'"),
    ],
)
def test_a_wrong_target_is_one_line_and_the_others_are_checked(check, files, words, message):
    files(graph=LINE, fails="def make():\n    raise KeyError('OPENAI_API_KEY')\n", flows__graph="")
    done = check(*words, "graph.py")
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "bounded graph.py:app" in done.stdout


def test_json_is_one_documented_object(check, files):
    files(graph=CYCLE, line="print('noise')\n" + LINE, lost=LOST, broken=BROKEN)
    files(trusted=LINE.replace("app = ", "g.add_conditional_edges('work', lambda state: state['to'], [END])\napp = "))
    done = check(".", "--format", "json")
    report = json.loads(done.stdout)
    assert (report["version"], len(report["errors"]), done.returncode) == (1, 1, 2)
    by_name = {graph["name"]: graph for graph in report["graphs"]}
    assert by_name["graph.py:app"] == {
        "name": "graph.py:app", "file": "graph.py", "line": 10, "cell": None, "verdict": "unbounded", "problems": [],
        "certificate": None, "bounds": [], "notes": [], "assumptions": [], "steps": None,
        "cycles": [{"nodes": ["work"], "file": "graph.py", "line": 13, "cell": None, "rule": "unbounded-cycle",
                    "message": "cycle without a bound: work -> work",
                    "suggestion": "Loop(name='work', target='work', sources=('work',), limit=5)"}],
    }  # fmt: skip
    assert by_name["lost.py:g"]["problems"][0]["rule"] == "unreachable-node"
    assert [len(by_name[f"{name}.py:app"]["assumptions"]) for name in ("line", "trusted")] == [0, 1]
    exact = json.loads(check("line.py", "--import", "--format", "json").stdout)["graphs"][0]
    assert exact["certificate"]["max_supersteps"] == 1


def test_reading_a_file_imports_no_langgraph():
    code = (
        "import sys; sys.argv = ['loopwright', 'check', 'examples/agent.py']\n"
        "from loopwright.cli import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert stop.code == 1\n"
        "sys.exit(any(name.split('.')[0] in ('langgraph', 'langchain_core') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
