"""Laws of methods by name: alone and fused."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from infra.errors import UnknownNameError
from infra.records import Code, Query
from infra.store.vectors import Vectors
from tasks.encoders import encoders
from tasks.ranking.fusion import fuse
from tasks.ranking.methods import Ranker, components, identity
from tasks.retrievers import retrievers
from tasks.search.scores import Block, Positions

CODES = [Code.of(f"def f{n}(items):\n    return items[{n}]") for n in range(4)]
QUERIES = [Query.of("f1 items"), Query.of("return f3")]
ENCODER = encoders.names()[0]


class Fixed:
    """Vectors under which the codes come in the order of their ids."""

    def queries(self, encoder: str, ids: Sequence[str]) -> Vectors:
        assert encoder == ENCODER
        return np.tile(np.array([[1, 0]], np.float32), (len(ids), 1))

    def code_blocks(
        self, encoders: Sequence[str], wanted: Positions | None = None
    ) -> Iterator[Block]:
        angles = np.linspace(0, 1, len(CODES), dtype=np.float32)
        rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        yield np.arange(len(CODES), dtype=np.int32), dict.fromkeys(encoders, rows)


def ranker() -> Ranker:
    return Ranker(QUERIES, CODES, Fixed())


def test_an_encoder_ranks_by_its_vectors_and_a_retriever_by_its_words() -> None:
    by_vectors = ranker().rank(ENCODER, 4)
    order = [code for query, code, _ in by_vectors.rows() if query == QUERIES[0].query_id]
    assert order == sorted(code.code_id for code in CODES)
    by_words = ranker().rank("bm25", 1)
    assert {query: code for query, code, _ in by_words.rows()} == {
        QUERIES[0].query_id: CODES[1].code_id,
        QUERIES[1].query_id: CODES[3].code_id,
    }


def test_names_with_a_plus_are_fused() -> None:
    alone = [ranker().rank(name, 4) for name in ("bm25", ENCODER)]
    assert list(ranker().rank(f"bm25+{ENCODER}", 4).rows()) == list(fuse(alone, 4).rows())


@pytest.mark.parametrize("name", ["bm26", "bm25+", "bm25+x", ""])
def test_an_unknown_method_is_an_error_that_lists_the_known(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown retrieval method .* one of bag-of-words"):
        components(name)


def test_scores_of_another_revision_of_a_method_are_not_those_of_this(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("bow-sklearn", "bm25+bow-sklearn", "bm25")
    before = [identity(name) for name in names]
    monkeypatch.setattr(retrievers.get("bow-sklearn"), "revision", "3")
    assert [identity(name) == old for name, old in zip(names, before, strict=True)] == [
        False, False, True
    ]  # fmt: skip
