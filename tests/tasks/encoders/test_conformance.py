"""Laws that every registered encoder keeps; transformers are made from small checkpoints.

Covers `tasks.encoders.*` and the table of published ones (`tasks.encoders._specs`).
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest

from tasks.encoders import (
    Encoder,
    EncoderClass,
    EncoderSpec,
    Kind,
    TransformerSpec,
    Vectors,
    encoders,
    load_transformer,
)
from tests.fakes.checkpoints import make_checkpoint

TEXTS = ["def add(a, b): return a + b", "read", "sort the list " * 10, "x", "read a json file"]


class CountsLetters:
    """An encoder that is no transformer: the least that the protocol asks for."""

    spec: ClassVar[EncoderSpec] = EncoderSpec(
        name="letters", model="none", revision="1", licence="MIT", source="here", dimension=26
    )

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:
        rows = [[1 + text.count(chr(97 + n)) for n in range(26)] for text in texts]
        counts = np.array(rows, np.float32).reshape(-1, 26)
        vectors: Vectors = counts / np.linalg.norm(counts, axis=1, keepdims=True)
        return vectors


# One of each kind; each of the others is also compared with a plain computation elsewhere.
KINDS = ("letters", "minilm", "codet5p", "jina-embeddings-v3")
OTHERS = [
    pytest.param(name, marks=pytest.mark.exhaustive)
    for name in encoders.registered()
    if not encoders.get(name).spec.is_api and name not in KINDS
]


@pytest.fixture(scope="module", params=[*KINDS, *OTHERS])
def encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    tmp_path = tmp_path_factory.mktemp("checkpoint")
    kind: EncoderClass = (
        CountsLetters if request.param == "letters" else encoders.get(request.param)
    )
    if isinstance(kind.spec, TransformerSpec):
        folder = make_checkpoint(request.param, tmp_path, kind.spec.dimension)
        return load_transformer(folder, kind.spec)
    return kind()


def test_vectors_have_the_length_of_their_similarity_and_the_stated_dimension(
    encoder: Encoder,
) -> None:
    vectors = encoder.encode(TEXTS, "code", batch_size=2)
    assert vectors.shape == (len(TEXTS), encoder.spec.dimension)
    assert vectors.dtype == np.float32
    is_unit = np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert is_unit == (encoder.spec.similarity == "cosine")


def test_a_vector_does_not_depend_on_its_batch(encoder: Encoder) -> None:
    together = encoder.encode(TEXTS, "code", batch_size=5)
    alone = np.vstack([encoder.encode([text], "code", batch_size=1) for text in TEXTS])
    assert np.allclose(together, alone, atol=1e-5)
    assert not np.allclose(together[0], together[4], atol=1e-3)


def test_queries_and_codes_are_embedded_into_one_space(encoder: Encoder) -> None:
    assert encoder.encode(TEXTS, "query", 8).shape == encoder.encode(TEXTS, "code", 8).shape


def test_no_texts_give_no_vectors(encoder: Encoder) -> None:
    assert encoder.encode([], "code", 8).shape == (0, encoder.spec.dimension)


def test_every_specification_is_pinned_and_has_its_own_key() -> None:
    specs = [encoders.get(name).spec for name in encoders.registered()]
    assert [spec.name for spec in specs] == encoders.registered()
    assert all(spec.revision and spec.licence and spec.source for spec in specs)
    assert len({spec.key for spec in specs}) == len(specs)
