"""What the stages need besides the state."""

from __future__ import annotations

from dataclasses import dataclass, field

from langchain_core.language_models import BaseChatModel

from loopwright.models import ModelRegistry, UsageRecorder
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.sections import MODEL_NODES


@dataclass(frozen=True)
class Services:
    """The configuration and the models; made once per graph."""

    config: IQAConfig = field(default_factory=IQAConfig)
    """The configuration."""
    models: ModelRegistry = field(default_factory=ModelRegistry)
    """The chat model of each stage, if any."""
    usage: UsageRecorder = field(default_factory=UsageRecorder)
    """What the models' calls used, per stage and model."""

    @classmethod
    def of(cls, config: IQAConfig) -> Services:
        """The services that a configuration describes; no model is made yet.

        Raises:
            ConfigError: If a model's settings are wrong.
        """
        return cls(config, ModelRegistry(config.models_of("iqa"), nodes=MODEL_NODES["iqa"]))

    def chat(self, stage: str) -> BaseChatModel | None:
        """The chat model of a stage, or None for the embedded default."""
        return self.models.chat(stage)
