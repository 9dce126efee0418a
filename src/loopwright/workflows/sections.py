"""One configuration file for all workflows: each reads its own section and passes over those of the others."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from loopwright.config import EngineConfig
from loopwright.errors import ConfigError, unknown_name_message
from loopwright.workflows import registry

DEFAULT = "default"
"""The entry of ``models`` that serves every node without an entry of its own."""
AUTO = "auto"
"""The name that stands for an embedded model on this machine, if one lies there."""


def _readable(model: Any, info: ValidationInfo) -> Any:
    """A model as it was given; what is wrong with one of a file is told while the file and its key are known."""
    from loopwright.models.registry import BaseChatModel, parse_spec  # seconds, which only models need

    if info.context and not isinstance(model, BaseChatModel | None):
        try:
            parse_spec(model, "")
        except ConfigError as error:
            raise ValueError(str(error)) from None
    return model


class WorkflowConfig(EngineConfig):
    """What every workflow's configuration has: the engine's sections, and the models of its nodes."""

    models: dict[str, Annotated[Any, AfterValidator(_readable)]] = Field(default_factory=dict[str, Any])
    """Node (or "default") -> the chat model's name or settings; None or missing needs no model."""

    model_nodes: ClassVar[tuple[str, ...]] = ()
    """The nodes of this workflow that can have a chat model."""

    @classmethod
    def foreign_keys(cls, met: Collection[str] = ()) -> frozenset[str]:
        """The sections of the other workflows, and the timeouts that one of them reads.

        What is called as none of them may belong to several: only then are they imported.
        """
        called = frozenset(name.replace("-", "_") for name in registry.names())
        more = () if called.issuperset(met) else registry.of_all(lambda each: each.Config.model_fields)
        if more is None:  # it may be of one that cannot be imported; what looks like ours is ours, mistyped
            ours = [*cls.model_fields, *called]
            more = [section for section in met if not get_close_matches(section, ours, 1, 0.75)]
        return called.union(["pipeline.timeout"], more)

    @field_validator("models", mode="before")
    @classmethod
    def _names_nodes(cls, models: Any) -> Any:
        own = {DEFAULT, *cls.model_nodes}
        others = [node for node in models if node not in own] if isinstance(models, Mapping) else []
        known = registry.of_all(lambda each: each.model_nodes) if others else ()
        for node in others:
            if known is not None and node not in known:
                raise ValueError(unknown_name_message("node", node, [DEFAULT, *known]))
        return models

    def own_models(self) -> dict[str, Any]:
        """The entries of ``models`` that concern this workflow."""
        return {node: model for node, model in self.models.items() if node in (DEFAULT, *self.model_nodes)}
