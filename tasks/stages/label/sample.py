"""Random samples for people: candidates, answers of several methods, and two codes to prefer from.

Each is a simple random sample without replacement that follows from its seed.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from infra.errors import SourceError
from infra.identity import CodeId, PairKey, QueryId, mark
from infra.records import Code, Criterion, Query
from infra.settings import PublishSettings
from infra.store import Database, candidates, samples
from infra.store.samples import Sample, SampleItem, Scale, Stratum
from infra.subsets import Draw
from tasks.benchmarks.runs import Rankings
from tasks.inputs.formats import read_pairs
from tasks.inputs.pairs import Pairs
from tasks.inputs.trec import read_run
from tasks.stages.coverage import current_labels_of
from tasks.stages.scoring import OpenBenchmark, open_benchmark, stored_runs

_TOP = 10  # results of a method that may be drawn


class Drawing(NamedTuple):
    """The draw of a sample, and the meaning of its grades.

    Attributes:
        number: How many pairs or queries are drawn, all if there are fewer.
        stratum: What is drawn from.
        seed: The seed of the sample.
        scale: Grades of 0 and 1, or of 0 to 3.
        criterion: What a grade of 1 says.
    """

    number: int
    stratum: Stratum = "pairs"
    seed: int = 0
    scale: Scale = "binary"
    criterion: Criterion = "exact"

    def body(self, population: int, **more: object) -> dict[str, object]:
        """Return the draw of the sample."""
        drawn: dict[str, object] = {"drawn": self.stratum, "population": population, **more}
        return drawn if self.criterion == "exact" else drawn | {"criterion": self.criterion}


def sample_candidates(database: Database, collection: str, drawing: Drawing) -> Sample:
    """Draw candidate pairs, or queries with all their judged pairs, and store them as a sample.

    Args:
        database: The store.
        collection: The collection of the candidates; "" for the only collection in the store.
        drawing: How they are drawn, of a stratum of candidates. Labels by another criterion than
            the sample's count for none.
    """
    searches = candidates.searches_by_collection(database)
    if not collection and len(searches) == 1:
        [collection] = searches
    if collection not in searches:
        raise SourceError(
            f"--collection says whose candidates are sampled: the store has "
            f"{', '.join(sorted(searches)) or 'none: run `cosqa collect` first'}"
        )
    stratum = drawing.stratum
    labels = current_labels_of(database, collection, searches[collection], drawing.criterion)
    pairs = samples.pairs_to_sample(database, labels, stratum)
    if not pairs:
        asked = "" if drawing.criterion == "exact" else f" by the criterion {drawing.criterion!r}"
        if stratum not in ("pairs", "queries"):
            raise SourceError(
                f"no pair of {collection} is of stratum {stratum}{asked}: leave --stratum out"
            )
        raise SourceError(f"no pair of {collection} is judged{asked}: run `cosqa annotate` first")
    ids = {pair: pair.query_id if stratum == "queries" else " ".join(pair) for pair in pairs}
    chosen = Draw(drawing.number, drawing.seed).of(ids.values())
    sample = Sample(
        collection=collection, scale=drawing.scale, seed=drawing.seed,
        items=items_of((pair for pair in pairs if ids[pair] in chosen), drawing.seed),
        body=drawing.body(len(set(ids.values()))),
    )  # fmt: skip
    samples.add_sample(database, sample)
    return sample


def items_of(pairs: Iterable[PairKey], seed: int) -> tuple[SampleItem, ...]:
    """Return pairs as the items of a sample, in a random order."""
    order = sorted(pairs, key=lambda pair: mark("position", str(seed), *pair))
    return tuple(
        SampleItem(query_id=pair.query_id, code_id=pair.code_id, position=position)
        for position, pair in enumerate(order, 1)
    )


def sample_results(
    database: Database,
    folder: Path,
    runs: Collection[Path],
    drawing: Drawing,
    settings: PublishSettings,
) -> Sample:
    """Draw results of methods on a benchmark, and store them as a sample.

    They are pairs of a query and one of the first ten codes of some method; or queries that all
    methods answer, with each method's first code, as in KAPE's evaluation by people. Nobody needs
    to have labelled the queries.

    Args:
        database: The store.
        folder: The benchmark that the runs are of.
        runs: Runs of methods; none takes those that are stored for the benchmark.
        drawing: How they are drawn, of a stratum of runs.
        settings: The folder of stored runs.
    """
    benchmark = open_benchmark(database, folder)
    files = {file.stem: file for file in runs} or {
        run.method: run.file for run in stored_runs(database, benchmark, settings)
    }
    if not files:
        raise SourceError(
            f"there is no run on {benchmark.name}: `cosqa leaderboard` and `cosqa evaluate` make "
            "them, or name files with --run"
        )
    by_query = drawing.stratum == "answers"
    found = {
        method: top_results(read_run(file), 1 if by_query else _TOP)
        for method, file in sorted(files.items())
    }
    answered = set.intersection(*({query for query, _ in pairs} for pairs in found.values()))
    if by_query:
        found = {method: [p for p in pairs if p[0] in answered] for method, pairs in found.items()}
    queries, codes = _texts(benchmark, {pair for pairs in found.values() for pair in pairs})
    results = {
        method: [PairKey(queries[query].query_id, codes[code].code_id) for query, code in pairs]
        for method, pairs in found.items()
    }
    ids = {
        pair: pair.query_id if by_query else " ".join(pair)
        for pairs in results.values()
        for pair in pairs
    }
    if not ids:
        raise SourceError(f"no query of {benchmark.name} is answered by all runs")
    chosen = Draw(drawing.number, drawing.seed).of(ids.values())
    drawn = {
        method: [pair for pair in pairs if ids[pair] in chosen] for method, pairs in results.items()
    }
    pairs = {pair for pairs in drawn.values() for pair in pairs}
    shown = {pair.code_id for pair in pairs}
    languages = {c.code_id: c.language for c in codes.values() if c.language and c.code_id in shown}
    more: dict[str, object] = {"languages": languages} if languages else {}
    if by_query:
        more["answers"] = {method: dict(pairs) for method, pairs in drawn.items()}
    sample = Sample(
        collection=benchmark.published.collection, kind="answers" if by_query else "pairs",
        scale=drawing.scale, seed=drawing.seed, items=items_of(pairs, drawing.seed),
        body=drawing.body(len(set(ids.values())), **more),
    )  # fmt: skip
    samples.add_sample(database, sample, [*queries.values(), *codes.values()])
    return sample


def top_results(ranked: Rankings, number: int) -> list[tuple[str, str]]:
    """Return (query, code) of the first results of each query."""
    return [(query, code) for query, code, _ in ranked.cut(number).rows()]


def _texts(
    benchmark: OpenBenchmark, pairs: Collection[tuple[str, str]]
) -> tuple[dict[str, Query], dict[str, Code]]:
    """Return the queries and codes of a benchmark's pairs by their ids there."""
    content = benchmark.content
    query_ids, code_ids = ({pair[side] for pair in pairs} for side in (0, 1))
    queries: dict[str, Query] = {
        query.query_id: Query.of(query.text)
        for query in content.queries
        if query.query_id in query_ids
    }
    codes: dict[str, Code] = {
        code.code_id: Code.of(code.text, language=code.language)
        for code in content.codes
        if code.code_id in code_ids
    }
    if lacking := sorted({*query_ids, *code_ids} - queries.keys() - codes.keys()):
        raise SourceError(
            f"a run names {lacking[0][:60]!r}, which {benchmark.name} lacks: it is of another "
            "benchmark"
        )
    return queries, codes


def sample_preference(
    database: Database, ours: Path, theirs: Path, number: int, seed: int
) -> Sample:
    """Draw queries that have a relevant code in two benchmarks, one code of each, and store them.

    As research question 1 of CoSQA+ asks (arXiv 2406.11589): of several relevant codes one is drawn
    that the other benchmark does not have for the query, and each side is as likely.

    Args:
        database: The store.
        ours: The benchmark whose share of wins is wanted: all that `read_pairs` takes.
        theirs: The rival.
        number: Number of queries.
        seed: The seed of queries, codes and sides.
    """
    texts: dict[str, Query | Code] = {}
    of_ours, of_theirs = (_relevant(read_pairs(path), texts) for path in (ours, theirs))
    compared = {}
    for query_id, rivals in of_theirs.items():
        own = of_ours.get(query_id, set()) - rivals
        if own and (others := rivals - of_ours[query_id]):
            compared[query_id] = tuple(
                min(codes, key=lambda code: mark(str(seed), query_id, code))
                for codes in (own, others)
            )
    if not compared:
        raise SourceError(
            f"no query has a relevant code in {ours} and another one in {theirs}: both must have "
            "the same queries, with labels above 0"
        )
    drawn = Draw(number, seed).of(compared)
    items = tuple(
        SampleItem(
            query_id=QueryId(query_id),
            code_id=compared[query_id][0],
            rival_id=compared[query_id][1],
            position=position,
            swapped=int(mark("side", str(seed), query_id), 16) % 2 == 1,
        )
        for position, query_id in enumerate(
            sorted(drawn, key=lambda name: mark("position", str(seed), name)), 1
        )
    )
    sample = Sample(
        collection="", kind="preference", seed=seed, items=items,
        body={"drawn": "preference", "population": len(compared)},
    )  # fmt: skip
    samples.add_sample(database, sample, list(texts.values()))
    return sample


def _relevant(pairs: Pairs, texts: dict[str, Query | Code]) -> dict[str, set[CodeId]]:
    """Return query → relevant codes, and note the texts."""
    found: dict[str, set[CodeId]] = {}
    for query_text, code_text in zip(pairs.queries, pairs.codes, strict=True):
        query, code = Query.of(query_text), Code.of(code_text)
        texts |= {query.query_id: query, code.code_id: code}
        found.setdefault(query.query_id, set()).add(code.code_id)
    return found
