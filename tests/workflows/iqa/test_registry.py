"""Which tools there are and which are chosen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.distortions import known_distortions
from loopwright.workflows.iqa.schemas import ReferenceMode
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
