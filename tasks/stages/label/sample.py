"""Random samples for people: candidates, answers of several methods, and two codes to prefer from.

Each is a simple random sample without replacement that follows from its seed.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Literal

from infra.draws import Draw
from infra.errors import SourceError
from infra.identity import mark
from infra.ids import CodeId, PairKey, QueryId
from infra.records import Code, Query
from infra.settings import PublishSettings
from infra.store import Database, candidates, samples
from infra.store.samples import Sample, SampleItem
from tasks.benchmarks.runs import NOTHING, Rankings
from tasks.inputs.formats import read_pairs
from tasks.inputs.pairs import Pairs
from tasks.inputs.trec import read_run
from tasks.stages.coverage import current_labels_of
from tasks.stages.scoring import OpenBenchmark, open_benchmark, stored_runs


def sample_candidates(
    database: Database,
    collection: str,
    drawn: Literal["pairs", "queries"],
    number: int,
    seed: int,
) -> Sample:
    """Draw candidate pairs, or queries with all their judged pairs, and store them as a sample.

    Args:
        database: The store.
        collection: The collection of the candidates; "" for the only collection in the store.
        drawn: The unit that is sampled.
        number: Number of pairs or queries.
        seed: The seed of the sample.
    """
    searches = candidates.searches_by_collection(database)
    if not collection and len(searches) == 1:
        [collection] = searches
    if collection not in searches:
        raise SourceError(
            f"--collection says whose candidates are sampled: the store has "
            f"{', '.join(sorted(searches)) or 'none: run `cosqa collect` first'}"
        )
    by_query = drawn == "queries"
    labels = current_labels_of(database, collection, searches[collection])
    pairs = samples.pairs_to_sample(database, labels, judged=by_query)
    if not pairs:
        raise SourceError(f"no pair of {collection} is judged: run `cosqa annotate` first")
    ids = {pair: pair.query_id if by_query else " ".join(pair) for pair in pairs}
    chosen = Draw(number, seed).of(ids.values())
    sample = Sample(
        collection=collection, seed=seed,
        items=items_of((pair for pair in pairs if ids[pair] in chosen), seed),
        body={"drawn": drawn, "population": len(set(ids.values()))},
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


def sample_answers(
    database: Database,
    folder: Path,
    runs: Collection[Path],
    number: int,
    seed: int,
    settings: PublishSettings,
) -> Sample:
    """Draw queries that all methods answer, and store each method's first code as a sample.

    As in KAPE's evaluation by people.

    Args:
        database: The store.
        folder: The benchmark that the runs are of.
        runs: Runs of methods; none takes those that are stored for the benchmark.
        number: Number of queries.
        seed: The seed of the sample.
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
    first = {
        method: dict(first_results(read_run(file), 1)) for method, file in sorted(files.items())
    }
    answered = set.intersection(*map(set, first.values()))
    if not answered:
        raise SourceError(f"no query of {benchmark.name} is answered by all runs")
    queries, codes = _texts(
        benchmark, answered, {by[query] for by in first.values() for query in answered}
    )
    drawn = Draw(number, seed).of(queries[query].query_id for query in answered)
    answers = {
        method: {
            queries[query].query_id: codes[code].code_id
            for query, code in by_query.items()
            if query in answered and queries[query].query_id in drawn
        }
        for method, by_query in first.items()
    }
    pairs = {PairKey(*pair) for by_query in answers.values() for pair in by_query.items()}
    sample = Sample(
        collection=benchmark.published.collection, kind="answers", seed=seed,
        items=items_of(pairs, seed),
        body={"drawn": "answers", "population": len(answered), "answers": answers},
    )  # fmt: skip
    samples.add_sample(database, sample, [*queries.values(), *codes.values()])
    return sample


def first_results(ranked: Rankings, number: int) -> list[tuple[str, str]]:
    """Return (query, code) of the first results of each query."""
    return [
        (query, ranked.code_ids[code])
        for query, codes in zip(ranked.query_ids, ranked.codes[:, :number].tolist(), strict=True)
        for code in codes
        if code != NOTHING
    ]


def _texts(
    benchmark: OpenBenchmark, query_ids: Collection[str], code_ids: Collection[str]
) -> tuple[dict[str, Query], dict[str, Code]]:
    """Return the queries and codes of a benchmark by their ids there."""
    content = benchmark.content
    queries: dict[str, Query] = {
        query.query_id: Query.of(query.text)
        for query in content.queries
        if query.query_id in query_ids
    }
    codes: dict[str, Code] = {
        code.code_id: Code.of(code.text) for code in content.codes if code.code_id in code_ids
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
