"""``loopwright rag evaluate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from loopwright.cli.rag.options import AsJson, ConfigFile, load_config


def evaluate(
    questions: Annotated[Path, typer.Argument(help="JSONL: id, question, answers, gold.", readable=False)],
    corpus: Annotated[Path, typer.Option(help="JSONL: id, title, text.", readable=False)],
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many questions.")] = None,
    loops: Annotated[bool, typer.Option(help="Measure also without each loop: what it costs and brings.")] = True,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Measure retrieval, answers, citations and abstention on questions with known answers."""
    from loopwright.cli.rag.progress import shown_count
    from loopwright.workflows.rag.evaluation import evaluate as measured

    with shown_count("questions", sys.stderr.isatty() and not as_json) as on_progress:
        result = measured(
            questions, corpus, config=load_config(config, None), limit=limit, loops=loops, on_progress=on_progress
        )
    print(result.as_json() if as_json else result.table())
