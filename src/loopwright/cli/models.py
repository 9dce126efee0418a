"""``loopwright models``: the small models that run on this machine; which are here, getting them, checking them."""

import json
from typing import Annotated, Any

import typer

from loopwright.cli.words import AsJson
from loopwright.errors import WeightsError

app = typer.Typer(help="List, download and check the models that run on this machine.", no_args_is_help=True)


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the known models, and where each is on this machine."""
    from loopwright.models.embedded.catalogue import KNOWN

    found = [*map(_described, KNOWN.values())]
    if as_json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    rows = [("name", "role", "size", "licence", "publisher", "where")]
    for item in found:
        where = item["path"] or item["problem"] or "not here"
        publisher = item["repository"] or "local only"
        rows.append((item["name"], item["role"], _size(item["bytes"]), item["licence"], publisher, where))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@app.command()
def pull(names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Models to download.")]) -> None:
    """Download models from their publishers, at a fixed revision and only with the known hash."""
    from loopwright.models.embedded.pulling import pull as download
    from loopwright.models.embedded.resolving import known_model, missing_message

    wanted = [known_model(name) for name in names]
    for model in wanted:
        if model.published is None:
            raise WeightsError(missing_message(model))
        print(
            f"{model.name}: {_size(model.bytes)}, licence {model.licence}, from {model.published.repository} at "
            f"{model.published.revision[:12]} (trained by {model.upstream.partition('/')[0]})"
        )
    for model in wanted:
        print(f"{model.name}: in {download(model).place}")


@app.command()
def check(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Models to check; without one, all that are here.")
    ] = None,
) -> None:
    """Compare the hashes of models' files.

    Exit code 0: all are right. 1: one is not. 2: a name is unknown or its model is not here.
    """
    from loopwright.models.embedded.catalogue import KNOWN
    from loopwright.models.embedded.resolving import find, known_model, missing_message, verify

    failed = seen = 0
    for model in [known_model(name) for name in names] if names else KNOWN.values():
        try:
            if (weights := find(model)) is not None:
                verify(weights)
                print(f"{model.name}: hash right")
        except WeightsError as problem:
            print(f"{model.name}: {problem}")
            failed += 1
            continue
        if weights is None and names:
            raise WeightsError(missing_message(model))
        seen += weights is not None
    if not seen and not failed:
        print("no model is on this machine; see 'loopwright models list'")
    if failed:
        raise typer.Exit(1)


def _described(model: Any) -> dict[str, Any]:
    """A model, and where it is, ready for JSON."""
    from loopwright.models.embedded.resolving import find

    problem = weights = None
    try:
        weights = find(model)
    except WeightsError as error:
        problem = str(error)
    return {
        **{name: getattr(model, name) for name in ("name", "role", "bytes", "licence", "upstream")},
        "repository": model.published.repository if model.published else None,
        "revision": model.published.revision if model.published else None,
        "path": str(weights.place) if weights else None,
        "problem": problem,
    }


def _size(count: int) -> str:
    return f"{count / 1_000_000:,.0f} MB"
