"""Laws of the actors that embed: what they ask of Ray, on a cluster of three nodes of three cores
or without one, and what is said where they fail.
"""

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from ray.exceptions import ActorDiedError, RayTaskError

from infra.errors import EncoderError, EncoderUnavailableError
from infra.settings import EncoderSettings, RaySettings
from tasks.encoders import Encoder, Kind, encoders
from tasks.runtime import actors
from tasks.runtime.actors import Node, workers_for
from tasks.runtime.vector_writer import EmbeddedBatch
from tests.fakes.ray_cluster import BATCHES as NUMBERED
from tests.fakes.ray_pool import FakeRay

BATCHES, TEXTS = 6, 1000
MANY = 100_000


def ends(gpus: int, *scenarios: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fakes.ray_cluster", str(gpus), *scenarios],
        capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("{")]
    found: dict[str, Any] = json.loads(line)
    return found


@pytest.mark.slow
@pytest.mark.nightly  # eight clusters of three nodes: minutes, and nodes time out on a busy machine
def test_embedding_ends_or_says_why_whatever_happens_to_its_workers_and_nodes() -> None:
    failing = {
        "fails": "failed on a worker.*as ordered",
        "dies_always": "keep dying.*COSQA_ENCODER__ACTORS",
    }
    finishing = ("whole", "dies_once", "no_room", "some_room", "node_joins", "node_leaves")
    ended = ends(0, *failing, *finishing)
    for scenario in finishing:
        assert ended[scenario]["problem"] == "", scenario
        assert ended[scenario]["seen"] == list(range(NUMBERED)), f"{scenario}: each came once"
    assert ended["whole"]["free"] == 0, "all cores of all nodes compute"
    assert ended["no_room"]["seconds"] > 8, "they started as a node came"
    assert ended["node_joins"]["free"] == 0, "the node that joined computes"
    for scenario, problem in failing.items():
        assert re.search(problem, ended[scenario]["problem"], re.DOTALL), ended[scenario]


@pytest.mark.slow
@pytest.mark.nightly
def test_the_second_of_two_actors_on_one_gpu_waits_and_the_first_does_all() -> None:
    (ended,) = ends(1, "two_actors").values()
    assert ended == {
        "seen": list(range(NUMBERED)),
        "problem": "",
        "seconds": ended["seconds"],
    }


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeRay], FakeRay]:
    """Put a stand-in for Ray into its place."""

    def into_place(ray: FakeRay) -> FakeRay:
        monkeypatch.setattr(actors, "ray", ray)
        return ray

    return into_place


def embedded(
    encoder: str = "minilm", settings: dict[str, float] | None = None, address: str | None = None
) -> Iterator[EmbeddedBatch]:
    batches: list[tuple[Kind, Sequence[str]]] = [("code", ["x"] * TEXTS)] * BATCHES
    chosen = EncoderSettings.model_validate(settings or {})
    return actors.embed_batches(
        encoder, batches, BATCHES * TEXTS, chosen, RaySettings(address=address)
    )


@pytest.mark.parametrize(
    ("nodes", "texts", "settings", "expected"),
    [
        ([(2, 0)], MANY, {}, (2, 1)),
        ([(16, 0)], MANY, {}, (8, 2)),
        ([(3, 0)] * 3, MANY, {"actors": 2}, (2, 3)),
        ([(8, 0)] * 2, MANY, {"actors": 5}, (5, 2)),
        ([(3, 0), (8, 0), (0, 0)], MANY, {"actors": 4}, (4, 2)),
        ([(2, 0)], MANY, {"actors": 9}, (9, 1)),
        ([(8, 0)], 799, {}, (1, 8)),
        ([(8, 0)], 800, {}, (2, 4)),
        ([], MANY, {}, (1, 1)),
        ([(0, 0)], MANY, {"actors": 4}, (4, 1)),
        ([(4, 1)], MANY, {"actors": 2}, (2, 1)),
        ([(4, 1)], MANY, {"gpu_share": 0.3}, (3, 1)),
        ([(8, 2)], MANY, {"gpu_share": 0.4}, (4, 2)),
        ([(8, 8)], MANY, {"gpu_share": 0.6}, (8, 1)),
        ([(8, 2), (64, 0), (4, 1)], MANY, {}, (3, 4)),
        ([(0, 2)], MANY, {}, (2, 1)),
        ([(4, 0)], MANY, {"gpu_share": 0.5, "actors": 3}, (3, 1)),
    ],
)
def test_actors_are_as_many_as_are_set_or_fit_and_share_the_cores(
    nodes: list[tuple[int, float]],
    texts: int,
    settings: dict[str, float],
    expected: tuple[int, int],
) -> None:
    named = [Node(*node) for node in nodes]
    found = workers_for(named, texts, EncoderSettings.model_validate(settings))
    assert (found.number, found.cores) == expected
    on_gpus = "gpu_share" in settings or any(gpus for _, gpus in nodes)
    assert found.gpus == (settings.get("gpu_share", 1.0) if on_gpus else 0.0)


@pytest.mark.parametrize(
    ("node", "settings", "actors"),
    [
        ((0, 2), {}, [(1, 0)] * 2),
        ((2, 1), {"gpu_share": 0.25}, [(0.25, 0)] * 4),
        ((4, 0), {"actors": 2}, [(0, 2)] * 2),
    ],
)
def test_an_actor_holds_its_share_of_a_gpu_or_its_cores_and_nothing_else(
    use: Callable[[FakeRay], FakeRay],
    node: tuple[int, float],
    settings: dict[str, float],
    actors: list[tuple[float, int]],
) -> None:
    ray = use(FakeRay([node]))
    found = sorted(embedded("minilm", settings), key=lambda batch: batch.number)
    assert [batch.number for batch in found] == list(range(BATCHES))
    assert {batch.effort.texts for batch in found} == {TEXTS}
    assert found[-1].effort.seconds == 6 / len(actors), "of several that compute at once"
    assert [(one["num_gpus"], one["num_cpus"]) for one in ray.options] == actors
    assert [arguments[-1] for arguments in ray.arguments] == [gpus for gpus, _ in actors]


@pytest.mark.parametrize(("gpus", "visible"), [(0.0, ""), (0.5, "3")])
def test_an_actor_without_a_gpu_sees_none(
    gpus: float, visible: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def loaded() -> Encoder:
        seen.append(os.environ["CUDA_VISIBLE_DEVICES"])
        return encoders.get("minilm")()

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setattr("torch.set_num_threads", lambda _: None)
    monkeypatch.setattr(loaded, "spec", encoders.get("minilm").spec, raising=False)
    rows, effort = actors.Embedder(loaded, 1, 0, gpus).embed(["x"], "code")  # type: ignore[arg-type]
    assert (rows.shape, effort.texts) == ((1, 384), 1)
    assert seen == [visible]


def test_a_worker_that_cannot_start_is_told_at_once_with_its_cause(
    use: Callable[[FakeRay], FakeRay],
) -> None:
    said = "Traceback\nModuleNotFoundError: No module named 'tasks'"
    cause = RayTaskError("__init__", said, None)  # type: ignore[no-untyped-call]
    ray = use(FakeRay([(2, 0)], refused=ActorDiedError(cause)))
    with pytest.raises(EncoderError, match=r"(?s)cannot start.*named 'tasks'.*every node of the"):
        list(embedded())
    assert sorted(ray.killed) == [0, 1]


def test_workers_that_die_by_one_batch_four_times_are_unavailable(
    use: Callable[[FakeRay], FakeRay],
) -> None:
    ray = use(FakeRay([(2, 0)], failed=ActorDiedError()))
    with pytest.raises(EncoderUnavailableError, match=r"keep dying.*COSQA_ENCODER__ACTORS"):
        list(embedded())
    assert sorted(ray.killed) == list(range(len(ray.options)))
    assert len(ray.options) <= 2 + 2 * 4


@pytest.mark.parametrize("gone", [{0}, {1}, {0, 2}, {0, 1}])
@pytest.mark.parametrize("has_room", [True, False], ids=["room", "no room"])
def test_batches_of_an_actor_that_is_gone_go_to_others_and_each_comes_once(
    use: Callable[[FakeRay], FakeRay],
    caplog: pytest.LogCaptureFixture,
    gone: set[int],
    has_room: bool,
) -> None:
    ray = use(FakeRay([(3, 0)], is_gone=lambda number: number in gone))
    ray.is_up = lambda number: number < 3 or has_room
    with caplog.at_level(logging.WARNING):
        numbers = [batch.number for batch in embedded()]
    assert sorted(numbers) == list(range(BATCHES))
    assert caplog.text.count("is gone, and another is started: ") == len(gone)
    assert len(ray.options) == 3 + len(gone), "one in its place"
    assert sorted(ray.killed) == list(range(len(ray.options)))


def test_actors_that_wait_on_a_node_as_it_leaves_end_no_run_in_which_others_compute(
    use: Callable[[FakeRay], FakeRay],
) -> None:
    ray = use(FakeRay([(8, 0)], refuses=lambda number: 2 <= number < 8))
    assert sorted(batch.number for batch in embedded()) == list(range(BATCHES))
    assert len(ray.options) == 8 + 6


def test_idle_actors_of_a_node_that_is_gone_are_no_deaths_by_the_batch_that_shows_it(
    use: Callable[[FakeRay], FakeRay],
) -> None:
    gone, numbers = {2}, list[int]()  # it has the last two batches
    ray = use(FakeRay([(8, 0)], is_gone=lambda number: number in gone))
    ray.is_up = lambda number: number != 2 or not numbers or len(numbers) == BATCHES - 2
    for batch in embedded():
        numbers.append(batch.number)
        if len(numbers) == BATCHES - 2:
            gone.update(range(7))
    assert sorted(numbers) == list(range(BATCHES))
    assert len(ray.options) == 8 + 7


def test_an_actor_that_dies_before_it_is_placed_is_started_again_three_times(
    use: Callable[[FakeRay], FakeRay],
) -> None:
    ray = use(FakeRay([(1, 0)], refuses=lambda _: True))
    with pytest.raises(EncoderUnavailableError, match=r"keep dying"):
        list(embedded())
    assert len(ray.options) == 4


def test_an_encoder_that_lacks_memory_is_an_error_with_a_way_out(
    use: Callable[[FakeRay], FakeRay],
) -> None:
    said = "CUDA out of memory. Tried to allocate 2 GiB"
    failed = RayTaskError("embed", said, RuntimeError(said))  # type: ignore[no-untyped-call]
    use(FakeRay([(1, 0)], failed=failed))
    with pytest.raises(EncoderError, match=f"(?s)failed on a worker: .*{said}.*__BATCH_SIZE"):
        list(embedded())


def test_actors_get_work_as_they_find_room_and_those_that_find_none_hold_nothing_up(
    use: Callable[[FakeRay], FakeRay],
) -> None:
    ray = use(FakeRay([(3, 0)]))
    ray.is_up = lambda number: number == 0 or (number == 1 and ray.now > 100)
    numbers = []
    for number, _, _ in embedded():
        numbers.append(number)
        ray.now += 100  # a slow disk
    assert sorted(numbers) == list(range(BATCHES))
    assert [bool(number) for number in ray.batches_of] == [True, True, False]
    assert sorted(ray.killed) == [0, 1, 2]


def test_no_actor_is_started_where_nothing_is_left_to_embed(
    use: Callable[[FakeRay], FakeRay],
) -> None:
    ray = use(FakeRay([(3, 0)]))
    assert list(actors.embed_batches("minilm", [], 9, EncoderSettings(), RaySettings())) == []
    assert ray.options == []


@pytest.mark.parametrize(
    ("node", "address", "settings"),
    [
        ((2, 0), None, {}),
        ((0, 0), "10.0.0.1:6379", {}),
        ((2, 0), "10.0.0.1:6379", {"gpu_share": 0.5}),
    ],
    ids=["held by others", "no cores yet", "no GPUs yet"],
)
def test_actors_without_any_room_wait_while_the_log_says_what_they_need(
    use: Callable[[FakeRay], FakeRay],
    caplog: pytest.LogCaptureFixture,
    node: tuple[int, float],
    address: str | None,
    settings: dict[str, float],
) -> None:
    ray = use(FakeRay([node]))
    ray.is_up = lambda _: ray.now >= 180
    with caplog.at_level(logging.WARNING):
        assert len(list(embedded(settings=settings, address=address))) == BATCHES
    assert len(caplog.records) == 3
    needs = "0.5 GPU" if settings else "1 cores"
    assert f"each needs {needs} on one node" in caplog.text
    assert "0 cores and 0 GPUs are free on 1 nodes in all; end other work there" in caplog.text


def test_what_no_node_of_this_machine_s_cluster_can_ever_offer_is_an_error(
    use: Callable[[FakeRay], FakeRay],
) -> None:
    ray = use(FakeRay([(2, 0)]))
    ray.is_up = lambda _: False
    with pytest.raises(EncoderUnavailableError, match=r"each needs 0\.5 GPU.*GPU_SHARE"):
        list(embedded(settings={"gpu_share": 0.5}))
    assert ray.killed
