"""Random runs for the laws of metrics: ties, grades, missing queries, empty rankings."""

import numpy as np

from tasks.benchmarks.runs import Rankings
from tests.fakes.benchmarks import rank_scores

CODES = [f"c{n:02}" for n in range(30)]
Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def random_case(seed: int) -> tuple[Rankings, Qrels]:
    """Return rankings with ties and graded labels; some queries unranked, some without labels."""
    generator = np.random.default_rng(seed)
    queries = [f"q{n}" for n in range(6)]
    scores = generator.integers(0, 8, size=(6, 30)).astype(float)
    rankings = rank_scores(queries[:5], CODES, scores[:5], int(generator.integers(1, 31)))
    rankings.codes[1] = -1  # an empty ranking
    return rankings, {query: random_grades(generator) for query in queries[1:]}


def random_grades(generator: np.random.Generator) -> dict[str, int]:
    """Return grades 0 to 3 of up to 12 codes, no relevant one among them now and then."""
    number = int(generator.integers(1, 13))
    codes = generator.choice(CODES, number, replace=False)
    grades = generator.integers(0, 4, number)
    return {str(code): int(grade) for code, grade in zip(codes, grades, strict=True)}


def as_run(rankings: Rankings) -> Run:
    """Return the run with scores that fall from rank to rank, so that nobody's tie rule matters."""
    run: Run = {}
    for query, code, _ in rankings.rows():
        run.setdefault(query, {})[code] = 1000.0 - len(run.get(query, {}))
    return run
