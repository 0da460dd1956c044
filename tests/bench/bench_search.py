"""How fast candidates are found exactly: ours against sorting all cosines with NumPy.

    python -m tests.bench.bench_search [--queries 500] [--codes 100000] [--rounds 3]

Both find the same top 20. Ours reads the codes block by block, so that memory does
not grow with them; the rival holds the whole matrix of cosines.
"""

import argparse
import tracemalloc
from collections.abc import Callable

import numpy as np

from infra.records import Candidate
from tasks.encoders import Vectors
from tasks.ranking.dense import top_candidates
from tasks.stages.vectors import CODE_BATCH
from tests.bench.measure import medians, print_table

TOP, DIMENSION = 20, 384


def unit_vectors(number: int, seed: int) -> Vectors:
    """Return (number, DIMENSION) random unit vectors."""
    vectors = np.random.default_rng(seed).standard_normal((number, DIMENSION), np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def by_blocks(queries: Vectors, codes: Vectors, ids: list[str]) -> list[Candidate]:
    """Search as the candidates stage does."""
    blocks = (
        (ids[start : start + CODE_BATCH], {"minilm": codes[start : start + CODE_BATCH]})
        for start in range(0, len(ids), CODE_BATCH)
    )
    names = [f"q{number}" for number in range(len(queries))]
    return top_candidates({"minilm": queries}, blocks, names, TOP)


def by_sorting(queries: Vectors, codes: Vectors, ids: list[str]) -> list[tuple[str, float]]:
    """Compute all cosines and sort each row."""
    cosines = queries @ codes.T
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :TOP]
    return [
        (ids[column], cosines[row, column]) for row, best in enumerate(order) for column in best
    ]


def peak_mb(work: Callable[[], object]) -> float:
    """Return the most memory that Python and NumPy held during a call, in MB."""
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--codes", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    queries, codes = unit_vectors(options.queries, 0), unit_vectors(options.codes, 1)
    ids = [f"c{number:08}" for number in range(options.codes)]
    found = [candidate.similarity for candidate in by_blocks(queries, codes, ids)]
    expected = [cosine for _, cosine in by_sorting(queries, codes, ids)]
    assert np.allclose(found, expected, atol=1e-6), "both must find the same"
    contenders: dict[str, Callable[[], object]] = {
        "sorting all cosines": lambda: by_sorting(queries, codes, ids),
        "FAISS by blocks": lambda: by_blocks(queries, codes, ids),
    }
    seconds = medians(contenders, options.rounds)
    title = f"top {TOP} of {options.codes:,} codes for {options.queries:,} queries"
    print_table(title, seconds, options.queries, "queries")
    for name, work in contenders.items():
        print(f"{name}: at most {peak_mb(work):,.0f} MB beside the vectors")


if __name__ == "__main__":
    main()
