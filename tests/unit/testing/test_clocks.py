"""A clock that only sleeping moves."""

from __future__ import annotations

import pytest

from loopwright.engine import clock
from loopwright.testing import ManualClock


async def test_a_sleep_moves_the_engines_clock_and_takes_no_time():
    with ManualClock(100) as manual:
        with pytest.raises(RuntimeError), ManualClock():
            raise RuntimeError
        clock.sleep(30)
        await clock.asleep(12.5)
        assert clock.now() == manual.now() == 142.5
    clock.sleep(0)
    assert manual.slept == [30, 12.5]
