"""Samples for people: pairs by stratum, answers of several methods, and two codes to prefer from.

A stratum is drawn without replacement by a seed from its population, which has no pair of a stratum
named before it; a pair's weight is what its population has for each that was drawn. Pairs are drawn
by themselves or, where ``queries`` says so, with all of their query's.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from infra.draws import Draw
from infra.errors import SourceError
from infra.identity import mark
from infra.ids import CodeId, PairKey, QueryId
from infra.records import Code, Query, Record
from infra.registry import unknown_name
from infra.settings import PublishSettings
from infra.store import Database, candidates, samples
from infra.store.samples import STRATA_OF_STORE, Kind, Sample, SampleItem, Scale
from tasks.benchmarks import columns_of
from tasks.benchmarks.pairs import Pairs, read_pairs
from tasks.benchmarks.runs import Rankings
from tasks.benchmarks.trec import read_run
from tasks.ranking.fusion import fuse
from tasks.stages.coverage import current_labels_of
from tasks.stages.scoring import OpenBenchmark, open_benchmark, stored_runs

STRATA_OF_RUNS = ("top", "pool", "answers")
STRATA = (*STRATA_OF_STORE, *STRATA_OF_RUNS)
BY_QUERY = ("queries", "pool", "answers")
_TOP = 10  # results that count for `top`, and a query's in a language for `pool`

# What is drawn at once → its pairs: a pair, or a query with several.
Population = Mapping[str, Sequence[PairKey]]


class Wanted(Record):
    """What is to be drawn.

    Attributes:
        strata: Stratum → how many pairs, or queries of a stratum that is drawn by them; None takes
            all.
        scale: The scale of the grades.
        seed: Of the draw.
        collection: Whose candidates; "" for the only one in the store.
        benchmark: The benchmark that runs are of.
        runs: Runs of methods; none takes those that are stored for the benchmark.
    """

    strata: dict[str, int | None]
    scale: Scale = "binary"
    seed: int = 0
    collection: str = ""
    benchmark: Path | None = None
    runs: tuple[Path, ...] = ()


class _Source(NamedTuple):
    """Where pairs come from: collection, populations by stratum, texts that may be new, answers."""

    collection: str
    populations: Mapping[str, Population]
    texts: Sequence[Query | Code] = ()
    answers: Mapping[str, Mapping[QueryId, CodeId]] = MappingProxyType({})


def draw_sample(database: Database, wanted: Wanted, settings: PublishSettings) -> Sample:
    """Draw a sample of pairs and store it.

    Raises:
        SourceError: A stratum is unknown or empty, runs are missing or of another benchmark, the
            store has several collections and none is named, or answers stand beside other strata.
    """
    for name in wanted.strata:
        if name not in STRATA:
            raise SourceError(unknown_name("stratum", name, list(STRATA)))
    kind: Kind = "answers" if "answers" in wanted.strata else "pairs"
    if kind == "answers" and len(wanted.strata) > 1:
        raise SourceError("answers are a sample by themselves: leave the other strata out")
    sources = []
    if of_store := [name for name in wanted.strata if name in STRATA_OF_STORE]:
        sources.append(_from_store(database, wanted.collection, of_store))
    if len(of_store) < len(wanted.strata):
        sources.append(_from_runs(database, wanted, settings))
    populations = {name: it for source in sources for name, it in source.populations.items()}
    items, counts = drawn_items(wanted, populations)
    drawn = "+".join(counts)
    queries = {item.query_id for item in items}
    body: dict[str, object] = {
        "drawn": "pairs" if drawn == "uniform" else drawn,
        "strata": counts,
        "answers": {
            method: {query: code for query, code in first.items() if query in queries}
            for method, first in sources[-1].answers.items()
        },
    }
    sample = Sample(
        collection=sources[0].collection, kind=kind, scale=wanted.scale, seed=wanted.seed,
        body=body, items=items,
    )  # fmt: skip
    samples.add_sample(database, sample, sources[-1].texts)
    return sample


def drawn_items(
    wanted: Wanted, populations: Mapping[str, Population]
) -> tuple[tuple[SampleItem, ...], dict[str, dict[str, int]]]:
    """Return the items of all strata in a random order, and stratum → size and number drawn."""
    taken: set[PairKey] = set()
    chosen: dict[PairKey, tuple[str, float]] = {}
    counts = {}
    for name, number in wanted.strata.items():
        left = {
            unit: rest
            for unit, pairs in populations[name].items()
            if (rest := [pair for pair in pairs if pair not in taken])
        }
        if not left:
            raise SourceError(f"no pair is left for the stratum {name}: name another --stratum")
        drawn = Draw(number, wanted.seed).of(left)
        for unit in drawn:
            chosen.update(dict.fromkeys(left[unit], (name, len(left) / len(drawn))))
        taken.update(pair for pairs in left.values() for pair in pairs)
        counts[name] = {"population": len(left), "drawn": len(drawn)}
    order = sorted(chosen, key=lambda pair: mark("position", str(wanted.seed), *pair))
    items = tuple(
        SampleItem(
            query_id=pair.query_id, code_id=pair.code_id, position=position,
            stratum=chosen[pair][0], weight=chosen[pair][1],
        )
        for position, pair in enumerate(order, 1)
    )  # fmt: skip
    return items, counts


def _from_store(database: Database, collection: str, strata: Sequence[str]) -> _Source:
    searches = candidates.searches_by_collection(database)
    if not collection and len(searches) == 1:
        [collection] = searches
    if collection not in searches:
        raise SourceError(
            f"--collection says whose candidates are sampled: the store has "
            f"{', '.join(sorted(searches)) or 'none: run `cosqa collect` first'}"
        )
    labels = current_labels_of(database, collection, searches[collection])
    found = samples.pairs_by_stratum(database, labels, strata)
    return _Source(collection, {name: _units(name, pairs) for name, pairs in found.items()})


def _units(stratum: str, pairs: Iterable[PairKey]) -> Population:
    found: dict[str, list[PairKey]] = {}
    for pair in pairs:
        unit = pair.query_id if stratum in BY_QUERY else " ".join(pair)
        found.setdefault(unit, []).append(pair)
    return found


def _from_runs(database: Database, wanted: Wanted, settings: PublishSettings) -> _Source:
    """Return the pairs that methods rank high on a benchmark, with their texts."""
    if wanted.benchmark is None:
        raise SourceError(
            f"{', '.join(STRATA_OF_RUNS)} are results on a benchmark: name it with --benchmark"
        )
    benchmark = open_benchmark(database, wanted.benchmark)
    runs = {file.stem: file for file in wanted.runs} or {
        run.method: run.file for run in stored_runs(database, benchmark, settings)
    }
    if not runs:
        raise SourceError(
            f"there is no run on {benchmark.name}: `cosqa leaderboard` and `cosqa evaluate` make "
            "them, or name files with --run"
        )
    rankings = {method: read_run(file) for method, file in runs.items()}
    results = {
        name: _results(name, benchmark, rankings)
        for name in wanted.strata
        if name in STRATA_OF_RUNS
    }
    queries, codes = _texts(
        benchmark, {pair for by in results.values() for ps in by.values() for pair in ps}
    )
    keys = {
        name: {
            method: [PairKey(queries[query].query_id, codes[code].code_id) for query, code in pairs]
            for method, pairs in by_method.items()
        }
        for name, by_method in results.items()
    }
    populations = {
        name: _units(name, dict.fromkeys(chain.from_iterable(by_method.values())))
        for name, by_method in keys.items()
    }
    answers = {method: dict(pairs) for method, pairs in keys.get("answers", {}).items()}
    texts: list[Query | Code] = [*queries.values(), *codes.values()]
    return _Source(benchmark.published.collection, populations, texts, answers)


def _results(
    name: str, benchmark: OpenBenchmark, rankings: Mapping[str, Rankings]
) -> dict[str, list[tuple[str, str]]]:
    """Return method → its results in a stratum, as ids of query and code in the benchmark."""
    if name == "top":
        return {method: first_results(ranked, _TOP) for method, ranked in rankings.items()}
    if name == "answers":
        answered = set.intersection(*(set(ranked.query_ids) for ranked in rankings.values()))
        return {
            method: [pair for pair in first_results(ranked, 1) if pair[0] in answered]
            for method, ranked in rankings.items()
        }
    codes = columns_of(benchmark.content).codes
    language = dict(
        zip(codes.column("code_id").to_pylist(), codes.column("language").to_pylist(), strict=True)
    )
    longest = sum(ranked.depth for ranked in rankings.values())  # of different codes
    found: list[tuple[str, str]] = []
    seen: Counter[tuple[str, str]] = Counter()
    for query, code, _ in fuse(list(rankings.values()), longest).rows():
        place = query, language.get(code, "")
        if seen[place] < _TOP:
            seen[place] += 1
            found.append((query, code))
    return {"pool": found}


def first_results(ranked: Rankings, number: int) -> list[tuple[str, str]]:
    """Return (query, code) of the first results of each query."""
    seen: Counter[str] = Counter()
    found = []
    for query, code, _ in ranked.rows():
        seen[query] += 1
        if seen[query] <= number:
            found.append((query, code))
    return found


def _texts(
    benchmark: OpenBenchmark, pairs: Collection[tuple[str, str]]
) -> tuple[dict[str, Query], dict[str, Code]]:
    """Return the queries and codes of a benchmark's pairs by their ids there.

    Raises:
        SourceError: A run names a query or code that the benchmark lacks.
    """
    columns = columns_of(benchmark.content)
    found = []
    for rows, ids in (
        (columns.queries, {query for query, _ in pairs}),
        (columns.codes, {code for _, code in pairs}),
    ):
        name = "query_id" if rows is columns.queries else "code_id"
        chosen = rows.where(pc.is_in(rows.column(name), value_set=pa.array(sorted(ids))))
        found.append({str(getattr(row, name)): row.text for row in chosen})
        if lacking := sorted(ids - found[-1].keys()):
            raise SourceError(
                f"a run names {lacking[0][:60]!r}, which {benchmark.name} lacks: it is of another "
                "benchmark"
            )
    queries, codes = found
    return (
        {name: Query.of(text) for name, text in queries.items()},
        {name: Code.of(text) for name, text in codes.items()},
    )


def draw_preference(
    database: Database, ours: Path, theirs: Path, queries: int | None, seed: int
) -> Sample:
    """Draw queries that have a relevant code in two benchmarks, one code of each, and store them.

    As research question 1 of CoSQA+ asks (arXiv 2406.11589): of several relevant codes one is drawn
    that the other benchmark does not have for the query, and each side is as likely.

    Args:
        database: The store.
        ours: The benchmark whose share of wins is wanted: all that `read_pairs` takes.
        theirs: The rival.
        queries: How many to draw; None takes all.
        seed: Of queries, codes and sides.

    Raises:
        SourceError: A path holds no pairs, or no query has two codes to compare.
        PublishError: A file of an export is missing or changed.
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
    drawn = Draw(queries, seed).of(compared)
    items = tuple(
        SampleItem(
            query_id=QueryId(query_id),
            code_id=compared[query_id][0],
            rival_id=compared[query_id][1],
            position=position,
            swapped=int(mark("side", str(seed), query_id), 16) % 2 == 1,
            stratum="preference",
            weight=len(compared) / len(drawn),
        )
        for position, query_id in enumerate(
            sorted(drawn, key=lambda name: mark("position", str(seed), name)), 1
        )
    )
    counts = {"preference": {"population": len(compared), "drawn": len(drawn)}}
    body = {"drawn": "preference", "ours": ours.name, "theirs": theirs.name, "strata": counts}
    sample = Sample(collection="", kind="preference", seed=seed, body=body, items=items)
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
