"""Pictures to try the workflow on: a drawn harbour, without faults, blurred, and compressed too much.

The files lie in ``data/sample``, so that a run that is taken up again finds them where it left them. They were drawn
with OpenCV, line by line; one is blurred by a Gaussian of 2.2 pixels, one a JPEG of quality 8.
"""

from importlib import resources
from pathlib import Path

PREFIX = "sample:"
"""What an input's image begins with that is one of these pictures."""

FILES = {Path(file).stem: file for file in ("harbour.png", "harbour-blurred.png", "harbour-compressed.jpg")}
"""Picture -> its file."""


def sample_path(name: str) -> Path:
    """Where a picture lies."""
    return Path(str(resources.files("loopwright.workflows.iqa"))) / "data" / "sample" / FILES[name]
