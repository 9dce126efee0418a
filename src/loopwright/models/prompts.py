"""Versioned prompt texts that ship with the package.

A prompt is a Markdown file ``ID.vVERSION.md`` in the ``prompts`` folder of its workflow, for example
``planner.v2.md``::

    Decide what the question needs. Question: {{query}}

Only ``{{name}}`` is special, so that JSON examples need no escapes. An edit is a new file with the next version; the
old one stays, because recorded runs refer to it.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.resources import files
from typing import Self

from loopwright.errors import ConfigError, unknown_name_message

_NAME = re.compile(r"(.+)\.v([1-9]\d*)\.md", re.ASCII)
_VALUE = re.compile(r"\{\{ *([a-z_][a-z0-9_]*) *\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of one prompt."""

    id: str
    """Its name within its workflow."""
    version: int
    """From 1; a higher one is newer. 0 for a draft that is not kept."""
    text: str
    """The text with its examples and its ``{{name}}`` places."""

    @property
    def names(self) -> frozenset[str]:
        """The values that `render` takes."""
        return frozenset(_VALUE.findall(self.text))

    @property
    def digest(self) -> str:
        """The first 12 hexadecimal digits of the text's SHA-256: a run that records it can be told from an edit."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    def render(self, **values: str | int | float) -> str:
        """Put values into the text, one for each name. Each goes in as it is: braces inside of a value mean nothing.

        Raises:
            ConfigError: If a value is missing or is not asked for; the message names them all.
        """
        missing, unknown = sorted(self.names - values.keys()), sorted(values.keys() - self.names)
        if missing or unknown:
            faults = [f"missing: {', '.join(missing)}"] if missing else []
            faults += [f"unknown: {', '.join(unknown)}"] if unknown else []
            raise ConfigError(
                f"prompt {self.id!r} v{self.version}: values {'; '.join(faults)}. "
                f"It takes: {', '.join(sorted(self.names)) or 'none'}."
            )
        return _VALUE.sub(lambda place: str(values[place[1]]), self.text)

    @classmethod
    def parse(cls, source: str, name: str) -> Self:
        """Read the source of one prompt file, whose name must be ``ID.vVERSION.md``.

        Raises:
            ConfigError: If the name or a place in the text is wrong.
        """
        named, text = _NAME.fullmatch(name), source.strip()
        if named is None:
            raise ConfigError(f"prompt file {name!r}: its name should be ID.vVERSION.md, with a version from 1")
        stray = _VALUE.sub("", text).find("{{")
        if stray >= 0:
            shown = _VALUE.sub("", text)[stray : stray + 30]
            raise ConfigError(f"prompt file {name!r}: {shown!r} is not a {{{{name}}}} of small letters, digits and _")
        return cls(named[1], int(named[2]), text)


# Context variables, so that runs at the same time do not see each other's: an asyncio task, and a thread that LangGraph
# starts for a node, has the values of the run that it belongs to.
prompt_changes: ContextVar[Mapping[str, Prompt] | None] = ContextVar("loopwright.prompt_changes", default=None)
"""Prompt -> what `PromptLibrary.get` gives in place of its newest version; version 0 is a draft that is not kept."""

prompt_in_use: ContextVar[Prompt | None] = ContextVar("loopwright.prompt_in_use", default=None)
"""The prompt that `PromptLibrary.get` gave last in this context: the one that a model is about to be asked with."""


class PromptLibrary:
    """All versions of a workflow's prompts.

    Raises:
        ConfigError: If one version is there twice.
    """

    def __init__(self, prompts: Iterable[Prompt]) -> None:
        self._prompts: dict[str, dict[int, Prompt]] = {}
        for prompt in prompts:
            versions = self._prompts.setdefault(prompt.id, {})
            if prompt.version in versions:
                raise ConfigError(f"prompt {prompt.id!r} has version {prompt.version} twice; number the edit anew")
            versions[prompt.version] = prompt

    @classmethod
    def of_package(cls, package: str) -> Self:
        """Load every prompt in the ``prompts`` folder of a package, for example ``"loopwright.workflows.NAME"``.

        Raises:
            ConfigError: If there is no prompt or one of them is wrong.
        """
        folder = files(package) / "prompts"
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name) if folder.is_dir() else []
        prompts = [Prompt.parse(entry.read_text("utf-8"), entry.name) for entry in entries if entry.name[-3:] == ".md"]
        if not prompts:
            raise ConfigError(f"package {package!r} has no prompt files (*.md) in its folder prompts")
        return cls(prompts)

    def ids(self) -> list[str]:
        """The names of all prompts, sorted."""
        return sorted(self._prompts)

    def versions(self, prompt: str) -> list[int]:
        """The versions of a prompt, oldest first.

        Raises:
            ConfigError: If nobody knows it.
        """
        if prompt not in self._prompts:
            raise ConfigError(unknown_name_message("prompt", prompt, self._prompts))
        return sorted(self._prompts[prompt])

    def get(self, prompt: str, version: int | None = None) -> Prompt:
        """One prompt, from now on the `prompt_in_use` of this context.

        Version None is the one that the run has in its `prompt_changes`, else the newest.

        Raises:
            ConfigError: If nobody knows it, or not in this version.
        """
        changes = prompt_changes.get()
        found = changes[prompt] if changes and version is None and prompt in changes else self._kept(prompt, version)
        prompt_in_use.set(found)
        return found

    def _kept(self, prompt: str, version: int | None) -> Prompt:
        versions = self.versions(prompt)
        wanted = versions[-1] if version is None else version
        if wanted not in versions:
            raise ConfigError(f"prompt {prompt!r} has no version {wanted}. Known: {', '.join(map(str, versions))}.")
        return self._prompts[prompt][wanted]
