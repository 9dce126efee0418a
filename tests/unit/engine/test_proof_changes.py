"""What a file's code may change is looked for where it can stand, and nowhere else."""

import ast
from pathlib import Path

import loopwright
from loopwright.engine.proof import changes

EVERY_WAY = """
import a as b
from c import d as e
globals()["x"]; globals()["x"] = 1; vars(y); setattr(o, "n", 1); del o.n; o.__dict__; [*xs]; f"{xs}"; f(**xs)
for x in xs: pass
made: list = []; other = [each for each in xs if each in ys]; given = dict(xs); o.items["k"] = len(xs.keys())
"""


def test_no_kind_of_syntax_is_left_out_that_makes_or_fills_something():
    texts = [path.read_text(encoding="utf-8") for path in Path(loopwright.__file__).parent.rglob("*.py")]
    nodes = [node for text in (EVERY_WAY, *texts) for node in ast.walk(ast.parse(text))]
    assert {type(node) for node in nodes if changes._made(node)} <= {ast.Assign, ast.AnnAssign}
    assert {type(node) for node in nodes if changes.filled(node, changes.CHANGING)} <= {ast.Attribute, ast.Subscript}
