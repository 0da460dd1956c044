"""Laws of methods by name, alone and fused, and of rankings by the cosine of vectors."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from infra.errors import UnknownNameError
from infra.records import Code, Query
from infra.store.vectors import Vectors
from tasks.benchmarks.runs import rankings_of
from tasks.encoders import encoders
from tasks.ranking.methods import Ranker, components, fuse, identity, rank_vectors
from tasks.retrievers import retrievers
from tasks.search.scores import Block, Positions, in_memory
from tests.tasks.search.test_exact import cosines, sorted_by, unit

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


FIRST = rankings_of({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
SECOND = rankings_of({"q": {"c": 900.0, "d": 800.0}, "p": {"x": 1.0}})


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    fused = {(query, code): score for query, code, score in fuse([FIRST, SECOND], 10).rows()}
    assert fused == pytest.approx(
        {
            ("p", "x"): 1 / 61,
            ("q", "c"): 1 / 63 + 1 / 61,
            ("q", "a"): 1 / 61,
            ("q", "b"): 1 / 62,
            ("q", "d"): 1 / 62,
        }
    )


def test_ties_fall_by_id_and_the_depth_holds() -> None:
    fused = fuse([FIRST, SECOND], 3)
    assert [code for query, code, _ in fused.rows() if query == "q"] == ["c", "a", "b"]


def test_the_order_of_the_methods_changes_nothing() -> None:
    assert list(fuse([FIRST, SECOND], 4).rows()) == list(fuse([SECOND, FIRST], 4).rows())


def test_a_ranking_fused_with_itself_keeps_its_order() -> None:
    twice = [code for _, code, _ in fuse([FIRST, FIRST], 3).rows()]
    assert twice == [code for _, code, _ in FIRST.rows()]


def test_rankings_are_the_best_codes() -> None:
    generator = np.random.default_rng(0)
    queries, codes = unit(generator, 5, 8), unit(generator, 30, 8)
    ids, code_ids = [f"q{n}" for n in range(5)], [f"c{n:02}" for n in range(30)]
    found = rank_vectors({"": queries}, in_memory({"": codes}), ids, code_ids, 7)
    scores = cosines(queries, codes)
    assert found.codes.tolist() == sorted_by(scores, 7)
    assert np.array_equal(found.scores, np.take_along_axis(scores, found.codes, axis=1))
    assert found.codes.dtype == np.int32


def test_ties_at_the_last_rank_fall_by_id_however_many_there_are() -> None:
    codes = np.repeat(unit(np.random.default_rng(0), 1, 8), 500, axis=0)
    query = unit(np.random.default_rng(1), 1, 8)
    ids = [f"c{n:03}" for n in range(500)]
    rankings = rank_vectors({"": query}, in_memory({"": codes}), ["q"], ids, 3)
    assert [code for _, code, _ in rankings.rows()] == ["c000", "c001", "c002"]


def test_fewer_codes_than_asked_for_are_all_returned() -> None:
    vectors = unit(np.random.default_rng(0), 2, 4)
    rankings = rank_vectors({"": vectors[:1]}, in_memory({"": vectors}), ["q"], ["a", "b"], 10)
    assert [code for _, code, _ in rankings.rows()] == ["a", "b"]
