"""Laws of what actors that embed ask of Ray, and of what is said where they fail.

Covers `tasks.runtime.embedder` without a cluster.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from ray.exceptions import ActorDiedError, RayTaskError

from infra.errors import EncoderError
from infra.settings import EncoderSettings, RaySettings
from tasks.encoders import Encoder, Kind, encoders
from tasks.runtime import embedder
from tests.fakes.ray_pool import FakeRay

BATCHES, TEXTS = 6, 1000


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeRay], FakeRay]:
    """Put a stand-in for Ray into its place."""

    def into_place(ray: FakeRay) -> FakeRay:
        monkeypatch.setattr(embedder, "ray", ray)
        monkeypatch.setattr(embedder, "time", SimpleNamespace(monotonic=lambda: ray.now))
        return ray

    return into_place


def embedded(encoder: str = "minilm", **settings: float) -> Iterator[tuple[int, object]]:
    batches: list[tuple[Kind, Sequence[str]]] = [("code", ["x"] * TEXTS)] * BATCHES
    return embedder.embed_batches(
        encoder, batches, BATCHES * TEXTS, EncoderSettings.model_validate(settings), RaySettings()
    )


@pytest.mark.parametrize(
    ("encoder", "node", "settings", "actors"),
    [
        ("minilm", (0, 2), {}, [(1, 0)] * 2),
        ("minilm", (2, 1), {"gpu_share": 0.25}, [(0.25, 0)] * 4),
        ("minilm", (4, 0), {"actors": 2}, [(0, 2)] * 2),
        ("minilm@int8", (4, 2), {"actors": 2}, [(0, 2)] * 2),
        ("minilm@bfloat16", (4, 2), {}, [(1, 0)] * 2),
    ],
)
def test_an_actor_holds_its_share_of_a_gpu_or_its_cores_and_nothing_else(
    use: Callable[[FakeRay], FakeRay],
    encoder: str,
    node: tuple[int, float],
    settings: dict[str, float],
    actors: list[tuple[float, int]],
) -> None:
    ray = use(FakeRay([node]))
    assert sorted(number for number, _ in embedded(encoder, **settings)) == list(range(BATCHES))
    assert [(one["num_gpus"], one["num_cpus"]) for one in ray.options] == actors
    assert [arguments[-1] for arguments in ray.arguments] == [gpus for gpus, _ in actors]


@pytest.mark.parametrize(("gpus", "visible"), [(0.0, ""), (0.5, "3")])
def test_an_actor_without_a_gpu_sees_none(
    gpus: float, visible: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def loaded(checkpoint: Path | None = None) -> Encoder:
        seen.append(os.environ["CUDA_VISIBLE_DEVICES"])
        return encoders.get("minilm")(checkpoint)

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setattr("torch.set_num_threads", lambda _: None)
    monkeypatch.setattr(loaded, "spec", encoders.get("minilm").spec, raising=False)
    assert embedder.Embedder(loaded, 1, 0, gpus).embed(["x"], "code").shape == (1, 384)  # type: ignore[arg-type]
    assert seen == [visible]


def test_a_worker_that_cannot_start_is_told_at_once_with_its_cause(
    use: Callable[[FakeRay], FakeRay],
) -> None:
    said = "Traceback\nModuleNotFoundError: No module named 'tasks'"
    cause = RayTaskError("__init__", said, None)  # type: ignore[no-untyped-call]
    ray = use(FakeRay([(2, 0)], refused=ActorDiedError(cause)))
    with pytest.raises(EncoderError, match=r"(?s)cannot start.*named 'tasks'.*every node of the"):
        list(embedded())
    assert len(ray.options) == 2, "none was replaced"


def test_a_worker_that_died_otherwise_is_replaced_before_it_is_told(
    use: Callable[[FakeRay], FakeRay],
) -> None:
    ray = use(FakeRay([(2, 0)], refused=ActorDiedError()))
    with pytest.raises(EncoderError, match=r"keep dying.*COSQA_ENCODER__ACTORS"):
        list(embedded())
    assert len(ray.options) > 2


@pytest.mark.parametrize("memory", [True, False])
def test_an_encoder_that_lacks_memory_is_told_with_a_way_out(
    use: Callable[[FakeRay], FakeRay], memory: bool
) -> None:
    said = "CUDA out of memory. Tried to allocate 2 GiB" if memory else "index out of range"
    failed = RayTaskError("embed", said, RuntimeError(said))  # type: ignore[no-untyped-call]
    use(FakeRay([(1, 0)], failed=failed))
    with pytest.raises(EncoderError, match=f"failed on a worker: .*{said}") as caught:
        list(embedded())
    assert ("COSQA_ENCODER__BATCH_SIZE" in str(caught.value)) is memory


def test_no_actor_that_has_started_is_dropped_while_others_are_busy_or_vectors_are_written(
    use: Callable[[FakeRay], FakeRay],
) -> None:
    ray = use(FakeRay([(3, 0)]))
    ray.is_up = lambda number: number == 0 or ray.now > 0  # the others start during the first pause
    for _ in embedded():
        assert not ray.killed
        ray.now += 100  # a slow disk
    assert all(ray.batches_of), "each got its share"


def test_an_actor_without_room_is_dropped_and_the_others_go_on(
    use: Callable[[FakeRay], FakeRay],
) -> None:
    ray = use(FakeRay([(2, 0)]))
    ray.is_up = lambda number: number == 0
    numbers = []
    for number, _ in embedded():
        numbers.append(number)
        ray.now += 100
    assert sorted(numbers) == list(range(BATCHES))
    assert ray.killed[0] == 1
