"""A deployed graph against the certificate that somebody reviewed: what got worse since then, in plain words."""

from pathlib import Path
from typing import Any

from loopwright.check.loading import load_graphs
from loopwright.engine.graph import BoundedGraph
from loopwright.engine.proof.certificate import FIGURES, Certificate, Witness
from loopwright.engine.proof.checker import TRUSTED, check_certificate
from loopwright.engine.proof.graph import AS_DECLARED
from loopwright.engine.proof.verify import verify
from loopwright.errors import GraphError


def one_graph(target: str) -> Any:
    """Import the one graph that ``MODULE:GRAPH`` or ``FILE.py:GRAPH`` names, or a file holds; several are an error."""
    graphs = load_graphs(target)
    if len(graphs) != 1:
        raise GraphError(f"{target} holds {len(graphs)} graphs, and a certificate is of one: {', '.join(graphs)}")
    return next(iter(graphs.values()))


def write_certificate(target: str, file: Path) -> Certificate:
    """Write the certificate of a graph, to be reviewed and kept beside the code.

    Raises:
        GraphError: If the graph is not bounded, or the file cannot be written.
    """
    certificate = verify(one_graph(target)).require()
    try:
        file.write_text(certificate.to_json(), encoding="utf-8")
    except OSError as error:
        raise GraphError(f"cannot write the certificate {file}: {error.strerror or error}") from error
    return certificate


def check_reviewed(target: str, file: Path) -> list[str]:
    """Compare a graph as it is now with the certificate that was reviewed: what got worse, a sentence each.

    Raises:
        GraphError: If the file is no certificate, or the graph cannot be loaded.
    """
    try:
        reviewed = Certificate.from_json(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, GraphError) as error:
        raise GraphError(f"cannot read the certificate {file}: {getattr(error, 'strerror', None) or error}") from error
    graph = one_graph(target)
    now = verify(graph)
    worse = changes(reviewed, now)
    if isinstance(graph, BoundedGraph):
        objections = (each for each in check_certificate(graph, now) if TRUSTED not in each)
        worse += [f"the proof does not hold: {objection}" for objection in objections]
    return worse


def changes(reviewed: Certificate, now: Certificate, where: str = "") -> list[str]:
    """What is worse than it was reviewed; `where` is the graph's path in the one around it, with a slash at the end."""
    known = {frozenset(cycle) for cycle in reviewed.unbounded_cycles}
    found = [
        f"the cycle {' -> '.join((*(where + node for node in cycle), where + cycle[0]))} is new, and nothing bounds it"
        for cycle in now.unbounded_cycles
        if frozenset(cycle) not in known
    ]
    if not now.bounded:
        return found or ["it is not bounded"]
    before, after = (each.witness or Witness(passes={}, level={}) for each in (reviewed, now))
    found += [f"the loop {where}{loop} was reviewed and is gone" for loop in before.passes if loop not in after.passes]
    for loop, passes in after.passes.items():
        if loop not in before.passes:
            found.append(f"the loop {where}{loop} is new, with up to {passes} passes in a run")
        elif passes > (old := before.passes[loop]):
            found.append(f"the loop {where}{loop} grants up to {passes} passes, reviewed were {old}")
    for field, what in FIGURES.items():
        old, new = getattr(reviewed, field), getattr(now, field)
        if old is not None and (new is None or new > old * (1 + 1e-9)):  # seconds are sums of fractions
            said = "an unknown number of" if new is None else f"up to {new:,}"
            found.append(f"{where or 'a run'} takes {said} {what}, reviewed were {old:,}")
    if not where:  # of graphs inside, the certificate around says it too
        known = _unproven(reviewed)
        found += [f"it now rests on: {each}" for what, (more, each) in _unproven(now).items()
                  if more > known.get(what, (0, ""))[0]]  # fmt: skip
    for node, inner in after.inner.items():
        if node in before.inner:
            found += changes(before.inner[node], inner, f"{where}{node}/")
        else:
            found.append(f"the graph {where}{node} is new, and was not reviewed")
    return found


def _unproven(certificate: Certificate) -> dict[str, tuple[int, str]]:
    """What a certificate rests on that can grow: what it is -> how much of it, and how it is said."""
    called = (each.rpartition(" calls ") for each in certificate.assumptions if each.endswith("not counted here"))
    found = {node: (int(rest.split()[0]), f"{node} calls {rest}") for node, _, rest in called}
    grave = (each for each in certificate.assumptions if each == AS_DECLARED or "that nothing bounds" in each)
    return found | {each: (1, each) for each in grave}
