"""How long KAPE takes at the size of the largest published data, against plain matrix products.

    python -m tests.bench.bench_kape [--training 400000] [--test 28000] [--rounds 1]

Goes around Prefect, Ray and the store: it measures `tasks.estimators` on fabricated vectors of 768
dimensions, a twentieth of which stand twice. Prints

- the exact 10 nearest training queries of every test query, against nothing but the product of the
  two matrices (limit: 1.25 of it) and against FAISS's exact search;
- ranking each code in the 10 subsets, against the products of these subsets' queries and codes, for
  a good model and for one that knows nothing, where no score can be passed over;
- the paper's way, SciPy's cosine pair by pair, on a hundredth of both sides;
- the most memory of the process (limit: 4 GB).
"""

import argparse
import resource
from collections.abc import Callable

import faiss
import numpy as np
from rich.console import Console
from scipy.spatial import distance

from tasks.estimators import Neighbours, PairVectors, nearest, ranks_among
from tasks.search.scores import ITEMS, QUERIES, Rows, Singles
from tests.bench.measure import medians, print_table

DIMENSION, NEIGHBOURS, HUNDREDTH = 768, 10, 100


def unit_vectors(number: int, seed: int) -> Singles:
    """Return (number, DIMENSION) unit vectors, the last twentieth like the first."""
    rows = of_unit_length(
        np.random.default_rng(seed).standard_normal((number, DIMENSION), np.float32)
    )
    rows[number - number // 20 :] = rows[: number // 20]
    return rows


def near(vectors: Singles, seed: int) -> Singles:
    """Return unit vectors that have a cosine of about .7 with those of the same row."""
    rows = unit_vectors(len(vectors), seed)
    rows += vectors
    return of_unit_length(rows)


def of_unit_length(rows: Singles) -> Singles:
    """Return the rows divided by their lengths, in place, so that memory holds them once."""
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return rows


def product(queries: Singles, items: Singles) -> None:
    """Multiply the matrices in blocks of the same size as ours, and keep nothing."""
    scores = np.empty((min(QUERIES, len(queries)), ITEMS), np.float32)
    for start in range(0, len(queries), QUERIES):
        some = queries[start : start + QUERIES]
        for first in range(0, len(items), ITEMS):
            part = items[first : first + ITEMS]
            np.matmul(some, part.T, out=scores[: len(some), : len(part)])


class Subsets:
    """The pairs of the first, the second, ... neighbours of all test queries.

    Args:
        pairs: The training pairs.
        rows: (test queries, neighbours)
    """

    def __init__(self, pairs: PairVectors, rows: Rows) -> None:
        self._pairs = pairs
        self._rows = rows

    def products(self) -> None:
        """Multiply each subset's queries with its codes."""
        for rows in self._rows.T:
            product(self._pairs.queries[rows], self._pairs.codes[rows])

    def ranks(self) -> None:
        """Rank each code in its subsets."""
        for rows in self._rows.T:
            ranks_among(self._pairs, rows)


def pair_by_pair(queries: Singles, items: Singles) -> None:
    """Find the nearest as the paper does: a cosine by SciPy for each pair, then a sort."""
    for query in queries:
        cosines = [1 - distance.cosine(query, item) for item in items]
        np.argsort(cosines)[::-1][:NEIGHBOURS]


def measured(
    title: str, contenders: dict[str, Callable[[], object]], items: int, rounds: int
) -> None:
    """Print the medians of contenders, the first of which is what the others are measured by."""
    seconds = medians(contenders, rounds)
    print_table(title, seconds, items, "test queries")
    first = next(iter(seconds.values()))
    ratios = [f"{name} {taken / first:.2f}" for name, taken in list(seconds.items())[1:]]
    Console().print(f"of the time of the first: {', '.join(ratios)}\n", soft_wrap=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--training", type=int, default=400_000)
    parser.add_argument("--test", type=int, default=28_000)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    rounds, test = options.rounds, unit_vectors(options.test, 1)
    queries = unit_vectors(options.training, 0)
    size = f"{options.training:,} training, {options.test:,} test queries"
    found: list[Neighbours] = []
    measured(
        f"{NEIGHBOURS} nearest: {size}",
        {
            "matrix product alone": lambda: product(test, queries),
            "ours": lambda: found.append(nearest(test, queries, NEIGHBOURS)),
            "FAISS, exact": lambda: faiss.knn(
                test, queries, NEIGHBOURS, metric=faiss.METRIC_INNER_PRODUCT
            ),
        },
        len(test),
        rounds,
    )
    few, fewer = queries[: len(queries) // HUNDREDTH], test[: len(test) // HUNDREDTH]
    measured(
        f"the paper's way on {len(few):,} training, {len(fewer):,} test queries",
        {
            "ours": lambda: nearest(fewer, few, NEIGHBOURS),
            "SciPy, pair by pair": lambda: pair_by_pair(fewer, few),
        },
        len(fewer),
        rounds,
    )
    measure_ranks("a good model", PairVectors(queries, near(queries, 2)), found[0].rows, rounds)
    chance = PairVectors(queries, unit_vectors(len(queries), 3))
    measure_ranks("chance", chance, found[0].rows, rounds)


def measure_ranks(model: str, pairs: PairVectors, rows: Rows, rounds: int) -> None:
    """Measure the ranks in the subsets, and print the most memory so far."""
    subsets = Subsets(pairs, rows)
    measured(
        f"ranks of {len(rows):,} pairs in {NEIGHBOURS} subsets, {model}",
        {"matrix products alone": subsets.products, "ours": subsets.ranks},
        len(rows),
        rounds,
    )
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    Console().print(f"most memory so far: {most:.2f} GB")


if __name__ == "__main__":
    main()
