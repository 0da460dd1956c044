"""Laws of embedding: few texts need no Ray, whatever encoder embeds them, and errors name it."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infra.errors import EncoderError
from infra.settings import EncoderSettings, RaySettings
from tasks.encoders import Vectors, encoders
from tasks.runtime import embedder
from tasks.runtime.progress import begin_stages, stop_stages
from tasks.runtime.vector_writer import EmbeddedBatch
from tasks.stages import embed
from tasks.stages.embed import Embedding
from tests.fakes.stores import empty_store


class Fake:
    """An encoder that notes how many of its kind are at work at once."""

    spec = encoders.get("minilm").spec
    at_work, most = 0, 0

    def encode(self, texts: Sequence[str], kind: str, batch_size: int = 0) -> Vectors:
        if "fail" in texts:
            raise RuntimeError("out of memory")
        Fake.at_work += 1
        Fake.most = max(Fake.most, Fake.at_work)
        threading.Event().wait(0.01)
        Fake.at_work -= 1
        return np.ones((len(texts), 4), np.float32)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of Ray."""
    made: list[str] = []
    monkeypatch.setattr(embed, "ensure_ray", lambda _: made.append("ray"))
    monkeypatch.setattr(embedder, "embed_batches", lambda *_: iter([]))
    monkeypatch.setattr(encoders, "get", lambda _: Fake)
    return made


def embedded(
    tmp_path: Path, total: int, encoder: str = "minilm", text: str = "x", **ray: Any
) -> list[EmbeddedBatch]:
    database = empty_store(tmp_path)
    work = Embedding(database, encoder, EncoderSettings(), RaySettings(**ray))
    batches: Any = [("query", [text]), ("code", [text, text])]
    return list(embed._embedded(work, batches, total))


def test_few_texts_are_embedded_here_each_batch_by_its_number(
    calls: list[str], tmp_path: Path
) -> None:
    found = embedded(tmp_path, 199)
    assert [(batch.number, batch.rows.shape) for batch in found] == [(0, (1, 4)), (1, (2, 4))]
    assert [batch.effort.texts for batch in found] == [1, 2]
    assert all(batch.effort.seconds >= 0.01 for batch in found), "what the encoder took"
    assert {len(batch.effort.machines) for batch in found} == {1}
    assert calls == []


@pytest.mark.parametrize(
    ("total", "ray"),
    [(200, {}), (3, {"address": "10.0.0.1:6379"}), (3, {"gpus": 0})],
    ids=["many", "a cluster has what they need", "no GPU may be used"],
)
def test_the_others_are_embedded_by_ray(
    calls: list[str], tmp_path: Path, total: int, ray: dict[str, Any]
) -> None:
    assert embedded(tmp_path, total, **ray) == []
    assert calls == ["ray"]


@pytest.mark.usefixtures("calls")
def test_an_encoder_that_fails_here_is_named(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="'minilm' failed: out of memory"):
        embedded(tmp_path, 3, text="fail")


@pytest.mark.usefixtures("calls")
def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    stop_stages()
    try:
        with pytest.raises(KeyboardInterrupt):
            embedded(tmp_path, 3)
    finally:
        begin_stages()


@pytest.mark.usefixtures("calls")
def test_encoders_side_by_side_take_turns(tmp_path: Path) -> None:
    Fake.most = 0
    threads = [threading.Thread(target=embedded, args=(tmp_path / str(n), 3)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Fake.most == 1
