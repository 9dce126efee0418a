"""What the stages need besides the state."""

from dataclasses import dataclass, field

from loopwright.workflows import runtime
from loopwright.workflows.iqa.config import IQAConfig


@dataclass
class Services(runtime.Services[IQAConfig]):
    """The configuration and the models; made once per graph."""

    package = "loopwright.workflows.iqa"
    config: IQAConfig = field(default_factory=IQAConfig)
    """The configuration."""
