"""A batch over a cluster: Ray Data hands paths, never pixels, to actors that keep the pipeline warm.

Ray decides who works on what, and starts anew what a machine took with it. Each actor has a process of the local engine
for the images, so that one that ends its process is told of as it is there, and no actor is lost over it. What comes
back goes into the batch's own journal: a row is kept once whatever is killed, the driver too, and a batch that was
begun with one engine may go on with the other.
"""

import importlib
import logging
import os
import pickle
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from loopwright.errors import BackendError, InputError
from loopwright.workflows.iqa.batch.processes import Crew, Died

_AT_ONCE = 8
"""Jobs of one task: enough for Ray's share of it to be small, few enough to be done again where they are lost."""

_UNLESS_SET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is told to its makers
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # else a line on standard error for each actor
    "RAY_NUM_REDIS_GET_RETRIES": "1",  # attempts to reach a cluster, each of 40 seconds
}
"""Variables of the environment that Ray reads when it is imported."""


class _Actor:
    """One process of the local engine, held by Ray."""

    def __init__(self, make: Callable[..., Callable[[Any], Any]], given: tuple[Any, ...]) -> None:
        self._crew = Crew[Any](make, given, workers=1)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        jobs = [pickle.loads(job) for job in batch["job"]]
        return {"result": [pickle.dumps(result) for result in self._crew.work(jobs)]}


def over_ray(
    make: Callable[..., Callable[[Any], Any]],
    given: tuple[Any, ...],
    jobs: Sequence[Any],
    workers: int | None,
    address: str | None,
    stopped: Callable[[], bool],
) -> Iterator[tuple[Any, Any | Died]]:
    """Do jobs on a cluster, and yield what came of each as it comes, in no order.

    Args:
        make: Makes, once in each process, what does a job.
        given: What `make` is given. Files in it must have the same names on every machine.
        jobs: What is to be done.
        workers: The most actors, of one processor each; None takes all processors of the cluster.
        address: The cluster, ``"auto"`` for the one that this machine belongs to; None starts one here, for these jobs.
        stopped: Whether to wait for nothing more.

    Raises:
        InputError: If Ray is not installed.
        BackendError: If the cluster cannot be reached, or cannot do a job.
    """
    with _cluster(address, workers) as (ray, processors):
        tasks = max(min(len(jobs), processors), len(jobs) // _AT_ONCE)
        size = min(processors, tasks)
        items = [{"job": pickle.dumps(job)} for job in jobs]
        done = ray.data.from_items(items, override_num_blocks=tasks).map_batches(
            _Actor,
            fn_constructor_args=(make, given),
            # Machines may go and come back.
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=size, initial_size=size),
            num_cpus=1,
        )
        try:
            for batch in done.iter_batches(batch_size=None):
                yield from (pickle.loads(result) for result in batch["result"])
                if stopped():
                    return
        except Exception as error:  # Ray raises a dozen kinds, and no common one
            raise _failed("the Ray cluster gave up", error) from error


@contextmanager
def _cluster(address: str | None, workers: int | None) -> Generator[tuple[Any, int]]:
    """A connection to a cluster: Ray itself, and how many actors it may have."""
    for name, value in _UNLESS_SET.items():
        os.environ.setdefault(name, value)
    try:
        ray: Any = importlib.import_module("ray")
        importlib.import_module("ray.data")
    except ImportError as error:
        raise InputError("--engine ray needs Ray: pip install 'loopwright[ray]'") from error

    own = {"num_cpus": workers, "include_dashboard": False} if address is None else {}
    try:
        ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **own)
    except Exception as error:
        raise _failed(f"cannot use the Ray cluster {address or 'of this machine'!r}", error) from error
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        yield ray, workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        ray.shutdown()


def _failed(what: str, error: BaseException) -> BackendError:
    said = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return BackendError(f"{what}: {said}; what is finished stays, and --resume goes on")
