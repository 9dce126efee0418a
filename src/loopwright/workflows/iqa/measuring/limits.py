"""The numbers from and up to which something counts as a sign; what each is stands in `data/signs.yaml`."""

from loopwright.config import shipped


class Limits:
    """The numbers of one section of the file, by name.

    Args:
        section: Its key in the file.

    Raises:
        TypeError: If one of them is no number.
    """

    def __init__(self, section: str) -> None:
        numbers: dict[str, object] = shipped("loopwright.workflows.iqa", "data/signs.yaml")[section]
        if wrong := [name for name, each in numbers.items() if type(each) not in (int, float)]:
            raise TypeError(f"data/signs.yaml: {section}: no number: {', '.join(wrong)}")
        vars(self).update(numbers)

    def __getattr__(self, name: str) -> float:
        """Only what is not in the file comes here."""
        raise AttributeError(f"data/signs.yaml has no {name!r} in this section")
