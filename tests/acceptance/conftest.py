from pathlib import Path

import pytest
import skimage


@pytest.fixture
def photograph() -> Path:
    """A real photograph that ships with scikit-image."""
    return Path(skimage.__file__).parent / "data" / "coffee.png"
