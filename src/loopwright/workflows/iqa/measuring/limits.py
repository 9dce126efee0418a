"""The numbers from and up to which something counts as a sign; what each is stands in `data/signs.yaml`."""

from loopwright.config import shipped


class Limits:
    """The numbers of one section of the file, by name.

    Args:
        section: Its key in the file.
    """

    def __init__(self, section: str) -> None:
        vars(self).update(shipped("loopwright.workflows.iqa", "data/signs.yaml")[section])

    def __getattr__(self, name: str) -> float:
        """Only what is not in the file comes here."""
        raise AttributeError(f"data/signs.yaml has no {name!r} in this section")
