"""Which tools there are and which are chosen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from loopwright.errors import InputError, UnknownNameError
from loopwright.workflows.iqa.distortions import known_distortions
from loopwright.workflows.iqa.measuring.reference_planes import Pair
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.tools.calibration import calibrations
from loopwright.workflows.iqa.tools.registry import all_tools, get_tool, select_tools

FULL, NONE = ReferenceMode.FULL, ReferenceMode.NONE
NAMES = [tool.name for tool in all_tools()]


def names(tools):
    return [tool.name for tool in tools]


def test_an_unknown_tool_is_named_with_the_known_ones():
    with pytest.raises(UnknownNameError, match="NIQA") as caught:
        get_tool("NIQA")
    assert set(caught.value.known) == set(NAMES)
    assert "Did you mean 'NIQE'?" in str(caught.value)


@given(
    st.lists(st.sampled_from(known_distortions())),
    st.sampled_from(ReferenceMode),
    st.integers(0, 9),
)
def test_selection_keeps_its_promises(distortions, mode, limit):
    chosen = select_tools(distortions, mode, limit=limit)
    assert len(chosen) <= limit
    assert len(set(names(chosen))) == len(chosen)
    assert all(tool.reference is mode for tool in chosen)
    assert not any(tool.primary for tool in chosen[1:])


def test_measure(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (200, 200, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    image = load_image(tmp_path / "a.png")
    pair = Pair(image.rgb, image.rgb)
    assert get_tool("GMSD").measure(image, pair) == 0
    assert get_tool("NIQE").measure(image) == get_tool("NIQE").measure(image, pair) > 0
    with pytest.raises(InputError, match=r"GMSD compares with a reference.*or use BlindScore"):
        get_tool("GMSD").measure(image)


@pytest.mark.parametrize("name", NAMES)
def test_the_direction_is_that_of_the_calibration(name):
    (_, lowest), *_, (_, highest) = calibrations()[name].knots
    assert get_tool(name).higher_is_better == (highest > lowest)
