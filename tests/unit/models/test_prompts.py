"""Prompts are versioned files; values go in as they are, and wrong ones are named."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.errors import ConfigError
from loopwright.models import Prompt, PromptLibrary


@given(st.text(), st.text())
def test_values_are_never_templates(a, b):
    assert Prompt("p", 1, "<{{a}}|{{b}}>").render(a=a, b=b) == f"<{a}|{b}>"


def test_wrong_values_are_named():
    told = r"prompt 'p' v3: values missing: flags, query; unknown: quary\. It takes: flags, plan, query\."
    with pytest.raises(ConfigError, match=told):
        Prompt("p", 3, "{{query}} {{flags}} {{plan}}").render(quary="x", plan="y")
    with pytest.raises(ConfigError, match=r"unknown: x\. It takes: none"):
        Prompt("p", 1, "fixed").render(x=1)


def test_parse_reads_the_text_and_the_name():
    prompt = Prompt.parse("  A\n---\nB {{x}}\n", "plan.v2.md")
    assert (prompt.id, prompt.version, prompt.text) == ("plan", 2, "A\n---\nB {{x}}")
    assert Prompt.parse("Question: {{query}}\r\n", "plan.v2.md").text == "Question: {{query}}"


@pytest.mark.parametrize(
    ("source", "name", "problem"),
    [
        ("x", "plan.md", r"its name should be ID\.vVERSION\.md"),
        ("x", "plan.v0.md", "with a version from 1"),
        ("{{Query}}", "plan.v1.md", r"'\{\{Query\}\}' is not"),
    ],
)
def test_wrong_files_are_refused(source, name, problem):
    with pytest.raises(ConfigError, match=problem):
        Prompt.parse(source, name)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A real importable package with a prompts folder."""
    folder = tmp_path / "prompted_pkg" / "prompts"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    sys.modules.pop("prompted_pkg", None)


def test_library_reads_a_package(package):
    for version in (1, 2, 10):
        (package / f"plan.v{version}.md").write_text(f"ä{version} {{{{query}}}}", "utf-8")
    (package / "grade.v1.md").write_text("Question: {{query}}")
    (package / "notes.txt").write_text("not a prompt")
    library = PromptLibrary.of_package("prompted_pkg")
    assert library.ids() == ["grade", "plan"]
    assert library.versions("plan") == [1, 2, 10]
    assert library.get("plan").version == 10
    assert library.get("plan", 2).render(query="q") == "ä2 q"
    with pytest.raises(ConfigError, match=r"unknown prompt 'plam'\. Did you mean 'plan'"):
        library.get("plam")
    with pytest.raises(ConfigError, match=r"'plan' has no version 3\. Known: 1, 2, 10"):
        library.get("plan", 3)
