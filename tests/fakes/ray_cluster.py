"""Embedding on a cluster of several nodes on one machine, by an encoder that needs no weights.

    python -m tests.fakes.ray_cluster GPUS SCENARIO...

prints as JSON how each ended. It runs in a process of its own, since a process has one Ray runtime.
"""

import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import ray
from ray.cluster_utils import Cluster

from infra.errors import EncoderError
from infra.settings import EncoderSettings, RaySettings
from tasks.encoders import EncoderSpec, Kind, Vectors, encoders
from tasks.runtime.actors import embed_batches

BATCHES, TEXTS = 18, 400
NODE: dict[str, Any] = {"num_cpus": 3, "object_store_memory": 80 * 2**20}
HEAD = NODE | {"include_dashboard": False}
SECONDS = float(os.environ.get("SLOW_LETTERS_S", "0.4"))  # of a batch


@encoders.register("slow-letters")
class SlowLetters:
    """Counts letters, slowly; a text can be an order to die or to fail."""

    spec = EncoderSpec(
        name="slow-letters", model="none", revision="1", licence="MIT", source="here", dimension=26
    )

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:
        """Return unit vectors of letter counts; all but the order of letters is lost."""
        for text in texts:
            obey(text)
        time.sleep(SECONDS)
        counts = [[1 + text.count(chr(97 + letter)) for letter in range(26)] for text in texts]
        rows = np.array(counts, np.float32)
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


def obey(text: str) -> None:
    """Do what a text orders: ``die``, ``die-once FILE`` or ``fail``."""
    order, _, argument = text.partition(" ")
    if order == "die" or (order == "die-once" and not Path(argument).exists()):
        if argument:
            Path(argument).touch()
        os._exit(1)
    if order == "fail":
        raise ValueError("as ordered")


def batches(first: str = "") -> Iterator[tuple[Kind, Sequence[str]]]:
    """Yield batches of texts, the first of which begins with an order."""
    for number in range(BATCHES):
        texts = [f"text {number} {row}" for row in range(TEXTS)]
        yield "code", [first, *texts[1:]] if first and number == 0 else texts


def embedded(
    settings: EncoderSettings,
    first: str = "",
    each: Callable[[int], object] = bool,
    patience_s: float = 60.0,
) -> dict[str, object]:
    """Embed all batches and return how it ended; ``each`` is called with the number finished."""
    seen: list[int] = []
    started = time.monotonic()
    problem = ""
    try:
        for number, rows, _ in embed_batches(
            "slow-letters", batches(first), BATCHES * TEXTS, settings,
            RaySettings(placement_timeout_s=patience_s),
        ):  # fmt: skip
            assert rows.shape == (TEXTS, 26)
            seen.append(number)
            each(len(seen))
    except EncoderError as error:
        problem = str(error)
    return {"seen": sorted(seen), "problem": problem, "seconds": time.monotonic() - started}


def three_nodes(gpus: int) -> tuple[Cluster, list[Any]]:
    """Start a cluster of three nodes of three cores, and connect to it."""
    cluster = Cluster(initialize_head=True, head_node_args={**HEAD, "num_gpus": gpus})
    others = [cluster.add_node(**NODE, wait=False) for _ in range(2)]
    cluster.wait_for_nodes(300)
    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
    return cluster, others


def free_cores() -> float:
    """Return the number of the cluster's cores that no work holds."""
    free: dict[str, float] = ray.available_resources()  # type: ignore[no-untyped-call]
    return free.get("CPU", 0.0)


@contextmanager
def held_nodes(number: int) -> Iterator[None]:
    """Let other work hold all cores of some nodes."""
    remote: Any = ray.remote(num_cpus=3)(Holder)
    holders = [remote.remote() for _ in range(number)]
    ray.get([holder.ready.remote() for holder in holders])
    yield
    for holder in holders:
        ray.kill(holder)


class Holder:
    """Other work."""

    def ready(self) -> None:
        """Answer."""


def whole(_cluster: Cluster, _others: Sequence[Any]) -> dict[str, object]:
    """All nodes stay; all their cores compute."""
    busy: list[float] = []
    seen = embedded(EncoderSettings(actors=3), each=lambda _: busy.append(free_cores()))
    return {**seen, "free": min(busy)}


def two_actors(_cluster: Cluster, _others: Sequence[Any]) -> dict[str, object]:
    """Two actors are asked for, and one has room."""
    return embedded(EncoderSettings(actors=2))


def node_leaves(cluster: Cluster, others: Sequence[Any]) -> dict[str, object]:
    """A node is gone after the fifth batch."""
    return embedded(
        EncoderSettings(actors=3),
        each=lambda done: done == 5 and cluster.remove_node(others[0], allow_graceful=False),
    )


def no_room(cluster: Cluster, _others: Sequence[Any]) -> dict[str, object]:
    """Other work holds all cores, until a node joins."""
    with held_nodes(3), ThreadPoolExecutor(1) as thread:
        seen = thread.submit(embedded, EncoderSettings(actors=3), patience_s=4)
        time.sleep(10)
        joined = cluster.add_node(**NODE)
        ended = seen.result()
    cluster.remove_node(joined, allow_graceful=False)
    return ended


def some_room(_cluster: Cluster, _others: Sequence[Any]) -> dict[str, object]:
    """Other work holds the cores of two nodes."""
    with held_nodes(2):
        return embedded(EncoderSettings(actors=3))


def node_joins(cluster: Cluster, _others: Sequence[Any]) -> dict[str, object]:
    """Other work holds two nodes, and a fourth joins after the third batch."""
    joined: list[Any] = []
    free: dict[int, float] = {}

    def each(done: int) -> None:
        if done == 3:
            joined.append(cluster.add_node(**NODE))
        free[done] = free_cores()

    with held_nodes(2):
        seen = embedded(EncoderSettings(actors=3), each=each)
    cluster.remove_node(joined[0], allow_graceful=False)
    return {**seen, "free": free[BATCHES - 6]}


def dies_always(_cluster: Cluster, _others: Sequence[Any]) -> dict[str, object]:
    """One batch kills each actor that gets it."""
    return embedded(EncoderSettings(actors=3), first="die")


def dies_once(_cluster: Cluster, _others: Sequence[Any]) -> dict[str, object]:
    """One actor dies."""
    with TemporaryDirectory() as folder:
        return embedded(EncoderSettings(actors=1), first=f"die-once {folder}/dead")


def fails(_cluster: Cluster, _others: Sequence[Any]) -> dict[str, object]:
    """The encoder raises an error of its own."""
    return embedded(EncoderSettings(actors=1), first="fail")


SCENARIOS = (
    whole, fails, dies_once, dies_always, no_room, some_room, two_actors, node_joins, node_leaves,
)  # fmt: skip


def main(names: Sequence[str], gpus: int) -> None:
    """Run scenarios on one cluster, and print how each ended."""
    started = three_nodes(gpus)
    by_name = {one.__name__: one for one in SCENARIOS}
    print(json.dumps({name: by_name[name](*started) for name in names}), flush=True)


if __name__ == "__main__":
    main(sys.argv[2:], int(sys.argv[1]))
