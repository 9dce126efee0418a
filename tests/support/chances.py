"""How many examples a property is tried with."""

from hypothesis import settings


def examples(count: int) -> int:
    """As many as are given where ``./test --all`` tries them by chance, else a quarter, the same ones each time."""
    return max(5, count * settings.default.max_examples // 100)
