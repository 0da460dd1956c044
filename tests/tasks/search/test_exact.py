"""Laws of exact search: the same as a full sort in double precision, whatever the blocks.

Covers `tasks.search.scores` and `tasks.search.approximate`, which is measured against it.
"""

from collections.abc import Iterator, Mapping
from itertools import product

import faiss
import numpy as np
import pytest
import torch

from infra.errors import EncoderError, SettingsError
from tasks.search import exact
from tasks.search.approximate import ApproximateSearch
from tasks.search.exact import max_normalisers, search
from tasks.search.scores import Block, Codes, Doubles, Positions, Singles, in_memory


@pytest.fixture(params=["small", pytest.param("usual", marks=pytest.mark.exhaustive)], autouse=True)
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and passes as small as the data of tests, and as large as usual."""
    if request.param == "small":
        for name, size in {"QUERIES": 8, "CODES": 30, "_PASS_BYTES": 50_000}.items():
            monkeypatch.setattr(exact, name, size)


def unit(generator: np.random.Generator, rows: int, dimension: int) -> Singles:
    drawn = generator.normal(size=(rows, dimension))
    vectors: Singles = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    return vectors


def in_blocks(vectors: Mapping[str, Singles], size: int) -> Codes:
    """Codes in blocks that come in falling order, and only those wanted of the second time."""

    def codes(wanted: Positions | None = None) -> Iterator[Block]:
        number = len(next(iter(vectors.values())))
        for start in reversed(range(0, number, size)):
            here = np.arange(start, min(start + size, number), dtype=np.int32)
            here = here if wanted is None else np.intersect1d(here, wanted)
            if len(here):
                yield here, {name: rows[here] for name, rows in vectors.items()}

    return codes


def cosines(queries: Singles, codes: Singles) -> Doubles:
    """(n, m) cosines, which are equal for equal vectors."""
    products = queries.astype(float)[:, None] * codes.astype(float)[None]
    return products.sum(axis=2)  # type: ignore[no-any-return]


def sorted_by(scores: Doubles, k: int) -> list[list[int]]:
    """The k highest of each row, equal ones by position."""
    places = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    return np.lexsort((places, -scores), axis=1)[:, :k].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("block", [7, 50, 1000])
@pytest.mark.parametrize("k", [1, 5, 40, 200])
def test_hits_are_those_of_a_full_sort_of_mean_cosines(block: int, k: int) -> None:
    generator = np.random.default_rng(k)
    queries = {name: unit(generator, 19, d) for name, d in (("a", 16), ("b", 5), ("c", 8))}
    codes = {name: unit(generator, 120, rows.shape[1]) for name, rows in queries.items()}
    for vectors in codes.values():  # equal vectors, across the borders of blocks too
        vectors[[3, 60, 61, 119]] = vectors[2]
    found = search(queries, in_blocks(codes, block), k)
    each = np.stack([cosines(queries[name], codes[name]) for name in queries], axis=2)
    expected = sorted_by(each.mean(axis=2), k)
    assert found.positions.tolist() == expected
    rows = np.arange(19)[:, None]
    assert np.array_equal(found.scores, each[rows, expected])  # bit for bit
    assert np.array_equal(found.similarities, each.mean(axis=2)[rows, expected])


@pytest.mark.parametrize("k", [1, 20, 300])
def test_hits_are_those_of_faiss(k: int) -> None:
    generator = np.random.default_rng(k)
    queries, codes = unit(generator, 12, 48), unit(generator, 5_000, 48)
    index = faiss.IndexFlatIP(48)
    index.add(codes)
    distances, expected = index.search(queries, k)
    found = search({"": queries}, in_blocks({"": codes}, 1_700), k)
    differ = found.positions != expected  # by the rounding of FAISS alone
    assert differ.mean() < 0.01
    assert np.allclose(found.similarities, distances, atol=1e-6)


def test_codes_of_equal_vectors_alone_are_taken_by_position() -> None:
    """As by an encoder whose training failed."""
    codes = np.repeat(unit(np.random.default_rng(1), 1, 24), 700, axis=0)
    queries = unit(np.random.default_rng(2), 10, 24)
    found = search({"": queries}, in_blocks({"": codes}, 100), 7)
    assert found.positions.tolist() == [list(range(7))] * 10


def test_codes_in_the_worst_order_and_of_equal_vectors_need_no_more_room() -> None:
    """Each block is better than all before; then hundreds are equal but for the last digits."""
    generator = np.random.default_rng(3)
    rising = np.linspace(0.1, 0.9, 1_200)
    codes = np.stack([rising, np.sqrt(1 - rising**2)], axis=1).astype(np.float32)
    codes[400:1_000] = codes[1_199]
    codes[800:1_000:7] = np.nextafter(codes[1_199], np.float32(2))
    queries = unit(generator, 10, 2)
    queries[0] = (1, 0)
    queries[1] = codes[1_199]
    scores = cosines(queries, codes)
    for block, k in product((64, 4_000), (1, 30)):
        found = search({"": queries}, in_blocks({"": codes}, block), k)
        assert found.positions.tolist() == sorted_by(scores, k)


@pytest.mark.parametrize("block", [7, 400])
def test_vectors_of_any_length_are_ranked_by_their_inner_products(block: int) -> None:
    generator = np.random.default_rng(5)
    queries = 20 * unit(generator, 19, 256) * generator.random((19, 1), np.float32)
    near = 1e3 * (unit(generator, 1, 256) + 1e-6 * unit(generator, 300, 256))
    far = unit(generator, 100, 256) * np.geomspace(10, 0.1, 100, dtype=np.float32)[:, None]
    codes = np.concatenate([near, far])  # blocks come in falling order, and so the longest last
    found = search({"": queries}, in_blocks({"": codes}, block), 40)
    assert found.positions.tolist() == sorted_by(cosines(queries, codes), 40)


@pytest.mark.gpu
def test_a_gpu_is_taken_where_there_is_one_and_finds_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    generator = np.random.default_rng(7)
    queries, codes = unit(generator, 3_000, 96), unit(generator, 100_000, 96)
    found = search({"": queries}, in_memory({"": codes}), 50)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    expected = search({"": queries}, in_memory({"": codes}), 50)
    assert np.array_equal(found.positions, expected.positions)
    assert np.array_equal(found.similarities, expected.similarities)


def test_weights_scale_each_encoders_cosines_before_the_mean() -> None:
    generator = np.random.default_rng(5)
    queries = {name: unit(generator, 6, 8) for name in ("one", "other")}
    codes = {name: unit(generator, 40, 8) for name in ("one", "other")}
    codes["other"] = codes["other"] - np.float32(0.3)  # mostly negative, which peaks must see
    blocks = in_blocks(codes, 13)
    weights = max_normalisers(queries, blocks)
    found = search(queries, blocks, 5, weights)
    each = {name: cosines(queries[name], codes[name]) for name in queries}
    scaled = sum(rows / np.abs(rows).max(axis=1, keepdims=True) for rows in each.values()) / 2
    assert found.positions.tolist() == sorted_by(np.asarray(scaled), 5)
    assert found.scores[:, 0, 0].tolist() == pytest.approx(
        [each["one"][row, code] for row, code in enumerate(found.positions[:, 0])]
    )


def test_no_codes_and_no_queries_are_no_error() -> None:
    nothing = np.empty((0, 4), np.float32)
    some = unit(np.random.default_rng(0), 3, 4)
    assert search({"": some}, in_memory({"": nothing}), 5).positions.shape == (3, 0)
    assert search({"": nothing}, in_memory({"": some}), 5).positions.shape == (0, 3)
    assert max_normalisers({"": some}, in_memory({"": nothing}))[""].tolist() == [1, 1, 1]


def test_vectors_of_another_dimension_are_refused_by_the_encoders_name() -> None:
    generator = np.random.default_rng(0)
    queries = {name: unit(generator, 5, 4) for name in ("a", "b")}
    codes = {"a": unit(generator, 40, 4), "b": unit(generator, 40, 3)}
    with pytest.raises(EncoderError, match=r"a \+ b: vectors of 8 dimensions for queries and of 7"):
        search(queries, in_memory(codes), 5)


def vectors() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    generator = np.random.default_rng(1)
    queries = {name: unit(generator, 20, d) for name, d in (("a", 12), ("b", 4))}
    codes = {name: unit(generator, 500, rows.shape[1]) for name, rows in queries.items()}
    return queries, codes


def test_an_index_that_looks_everywhere_finds_what_exact_search_does() -> None:
    queries, vectors_of = vectors()
    codes = in_blocks(vectors_of, 77)
    index = ApproximateSearch(codes, 500, ("a", "b"), probes=12)
    found, exact = index.search(queries, 9), search(queries, codes, 9)
    assert np.array_equal(found.positions, exact.positions)
    assert np.array_equal(found.scores, exact.scores)
    assert np.array_equal(found.similarities, exact.similarities)
    assert index.recall(queries, 9) == 1


def test_recall_is_the_share_of_the_exact_best_and_too_few_codes_are_refused() -> None:
    queries, vectors_of = vectors()
    codes = in_blocks(vectors_of, 200)
    index = ApproximateSearch(codes, 500, ("a", "b"), probes=1)
    found, exact = index.search(queries, 9).positions, search(queries, codes, 9).positions
    shares = [len(set(one) & set(other)) / 9 for one, other in zip(found, exact, strict=True)]
    recall = index.recall(queries, 9)
    assert recall == pytest.approx(np.mean(shares))
    assert 0.1 < recall < 0.9
    with pytest.raises(SettingsError, match=r"fewer than 300 .* raise search.ivf_probes \(1\)"):
        index.search(queries, 300)
