"""Whatever the order of cancelling, going on and following: every follower sees each event once, and in order."""

import asyncio
import tempfile
from pathlib import Path

from chances import examples
from hosted_graphs import Desk, Walk, opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.errors import InputError

ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(0, 40)),
        st.tuples(st.just("cancel"), st.just(0)),
        st.tuples(st.just("resume"), st.just(0)),
        st.tuples(st.just("follow"), st.integers(0, 12)),
    ),
    max_size=8,
)


async def follow_to_the_end(hub, run_id: str, after: int, limit: int, over: asyncio.Event) -> list[int]:
    """The numbers of all events behind one of them, over as many parts of the run as there are."""
    seen: list[int] = []
    while True:
        last = over.is_set()
        events, ended = await hub.follow(run_id, after=seen[-1] if seen else after, patience=0.05, limit=limit)
        seen += [event.seq for event in events]
        if ended and last:
            return seen
        if ended:
            await asyncio.sleep(0.001)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ACTIONS, st.booleans())
def test_every_follower_sees_every_event_once_and_in_order(actions, asynchronous: bool) -> None:
    async def play(folder: Path) -> None:
        desk, over = Desk(), asyncio.Event()
        async with opened(folder, Walk(desk, asynchronous=asynchronous), saver="memory") as hub:
            live = await hub.start("walk", {"question": "where?", "rounds": 2, "chunks": 30})
            followers = [asyncio.create_task(follow_to_the_end(hub, live.id, 0, 256, over))]
            begins = [0]
            for action, number in actions:
                if action == "wait":
                    await asyncio.sleep(number / 1000)
                elif action == "cancel":
                    await hub.cancel(live.id)
                elif action == "resume":
                    try:
                        await hub.resume(live.id)
                    except InputError as error:
                        assert any(
                            word in str(error) for word in ("goes on already", "is finished", "is running", "is queued")
                        )
                else:
                    begins.append(number)
                    followers.append(asyncio.create_task(follow_to_the_end(hub, live.id, number, 1 + number, over)))
            await hub.until_ended(live.id)
            over.set()
            seen = await asyncio.gather(*followers)
            for after, numbers in zip(begins, seen, strict=True):
                assert numbers == [*range(after + 1, hub.store.count(live.id) + 1)]

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder)))
