"""The prompts of a workflow: those that ship with it, and what people made of them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from loopwright.errors import InputError
from loopwright.models.prompts import Prompt, PromptLibrary
from loopwright.runs.schemas import PromptVersion
from loopwright.server.context import Context, Here
from loopwright.server.given import Author, Note, check_text
from loopwright.server.problems import MISSING, PROBLEM, Problem
from loopwright.workflows.api import Workflow

router = APIRouter(prefix="/workflows/{workflow}/prompts", tags=["prompts"])

CONFLICT: dict[int | str, dict[str, Any]] = {404: PROBLEM, 409: PROBLEM}


class PromptEntry(BaseModel):
    """A prompt in a list."""

    prompt: str
    """Its id."""
    nodes: list[str]
    """The nodes that use it."""
    version: int
    """The version in use: the newest."""
    versions: int
    """How many versions there are."""
    names: list[str]
    """The values that it takes, each as ``{{name}}`` in its text."""


class PromptHistory(BaseModel):
    """A prompt with all its versions."""

    prompt: str
    """Its id."""
    nodes: list[str]
    """The nodes that use it."""
    names: list[str]
    """The values that it takes, each as ``{{name}}`` in its text."""
    versions: list[PromptVersion]
    """Its versions, newest first; the newest is in use."""


class EditPrompt(BaseModel):
    """A new version of a prompt."""

    model_config = ConfigDict(extra="forbid")

    text: str
    """The text."""
    author: Author = ""
    """Who wrote it."""
    note: Note = ""
    """Why."""
    base_version: int
    """The version that was edited; if it is not the newest any more, nothing is kept."""


@router.get("", operation_id="list_prompts", responses=MISSING)
async def list_prompts(workflow: str, context: Here) -> list[PromptEntry]:
    """The prompts of a workflow."""
    hosted = context.hub.hosted(workflow)
    library = hosted.prompts or PromptLibrary(())
    return [
        _entry(hosted, library, prompt, await _versions(context, hosted, library, prompt)) for prompt in library.ids()
    ]


@router.get("/{prompt}", operation_id="get_prompt", responses=MISSING)
async def get_prompt(workflow: str, prompt: str, context: Here) -> PromptHistory:
    """A prompt with all its versions."""
    hosted, library = _with_prompt(context, workflow, prompt)
    versions = await _versions(context, hosted, library, prompt)
    entry = _entry(hosted, library, prompt, versions)
    return PromptHistory(prompt=prompt, nodes=entry.nodes, names=entry.names, versions=list(versions))


@router.post("/{prompt}", status_code=201, operation_id="edit_prompt", responses=CONFLICT)
async def edit_prompt(workflow: str, prompt: str, asked: EditPrompt, context: Here) -> PromptVersion:
    """Keep a new version of a prompt; runs that begin from now on use it."""
    hosted, library = _with_prompt(context, workflow, prompt)
    check_text(library, prompt, asked.text)
    newest = (await _versions(context, hosted, library, prompt))[0].version
    if asked.base_version != newest:
        told = (
            f"prompt {prompt!r} is at version {newest}, and version {asked.base_version} was edited: look at it again"
        )
        raise Problem(told, "Conflict", status=409)
    kept = PromptVersion(
        workflow=hosted.name, prompt=prompt, version=newest + 1, text=asked.text, author=asked.author, note=asked.note,
        created_at=datetime.now(UTC), digest=Prompt(prompt, newest + 1, asked.text).digest,
    )  # fmt: skip
    try:
        await context.hub.store.aside(context.hub.store.keep_prompt, kept)
    except InputError as error:
        raise Problem(str(error), "Conflict", status=409) from None
    return kept


def _with_prompt(context: Context, workflow: str, prompt: str) -> tuple[Workflow, PromptLibrary]:
    hosted = context.hub.hosted(workflow)
    library = hosted.prompts or PromptLibrary(())
    if prompt not in library.ids():
        told = f"workflow {workflow!r} has no prompt {prompt[:80]!r}. Known: {', '.join(library.ids()) or 'none'}."
        raise Problem(told, "UnknownPrompt", status=404)
    return hosted, library


def _entry(hosted: Workflow, library: PromptLibrary, prompt: str, versions: Sequence[PromptVersion]) -> PromptEntry:
    nodes = [node for node, info in hosted.nodes.items() if info.prompt == prompt]
    names = sorted(library.get(prompt, library.versions(prompt)[-1]).names)
    return PromptEntry(prompt=prompt, nodes=nodes, version=versions[0].version, versions=len(versions), names=names)


async def _versions(context: Context, hosted: Workflow, library: PromptLibrary, prompt: str) -> Sequence[PromptVersion]:
    """All versions, newest first."""
    shipped = [
        PromptVersion(workflow=hosted.name, prompt=prompt, version=version, text=text.text, digest=text.digest)
        for version in library.versions(prompt)
        for text in [library.get(prompt, version)]
    ]
    written = await context.hub.store.aside(context.hub.store.prompt_versions, hosted.name, prompt)
    # Where a new package ships a version that people had written before, theirs is what runs refer to.
    together = {each.version: each for each in (*shipped, *written)}
    return [together[version] for version in sorted(together, reverse=True)]
