"""CodeSearchNet's challenge: predictions of methods over all functions of each language, scored.

Husain et al. 2019 (arXiv 1909.09436, section 4).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from prefect.logging import get_run_logger

from infra.collected import StoredCollection
from infra.disk import OTHER_OUTPUT, space_on
from infra.errors import SourceError
from infra.ids import CodeId, PairKey, QueryId, SampleId
from infra.outputs import write_outputs
from infra.records import Record, query_id_of
from infra.store import Database, corpus, samples
from infra.store.samples import Sample
from infra.store.votes import load_votes
from tasks.benchmarks.challenge import (
    LANGUAGES,
    GradeRow,
    Prediction,
    challenge_queries,
    is_keyword,
    write_grades,
    write_predictions,
)
from tasks.benchmarks.trec import read_run
from tasks.runtime.caching import stage
from tasks.stages.challenge.rankings import Search
from tasks.stages.label.draw import Wanted, drawn_items, first_results
from tasks.stages.scoring import Run
from tasks.suites.codesearchnet import (
    ChallengeScores,
    read_predictions,
    read_relevances,
    score,
)

SCORES = "scores.csv"
_LONGEST_LIST = 2_000  # characters


class WrittenPredictions(Record):
    """A method's predictions: how many, and results left out since the query has their URL."""

    method: str
    file: Path
    predictions: int = 0
    repeated: int = 0


class Pool(Record):
    """A sample of the first results of all methods, for people to grade from 0 to 3."""

    sample_id: SampleId
    pairs: int


class WrittenChallenge(Record):
    """What methods predicted, and their scores where functions are annotated.

    Attributes:
        folder: The folder of predictions and scores.
        functions: Language → number of functions that were ranked.
        predictions: Each method's file.
        scores: Method → its scores.
        pool: The sample that people may grade, if one was drawn.
    """

    folder: Path
    functions: dict[str, int]
    predictions: tuple[WrittenPredictions, ...]
    scores: dict[str, ChallengeScores]
    pool: Pool | None = None


def asked_queries(file: Path, *, natural: bool) -> list[str]:
    """Return the queries of a file; natural ones leave out names of code (`is_keyword`).

    Raises:
        SourceError: The file is missing or malformed, or no query is left.
    """
    queries = challenge_queries(file)
    kept = [query for query in queries if not (natural and is_keyword(query))]
    if not kept:
        raise SourceError(f"{file}: all queries are names of code: leave --natural out")
    if len(kept) < len(queries):
        get_run_logger().info(
            "names of code, left out: %s", ", ".join(filter(is_keyword, queries))[:_LONGEST_LIST]
        )
    return kept


def searched_languages(database: Database, collection: StoredCollection) -> dict[str, int]:
    """Return the challenge's languages that a collection has → number of their functions.

    Raises:
        SourceError: It has none.
    """
    counts = corpus.documented_by_language(database, collection.name)
    found = {language: sum(counts[language]) for language in LANGUAGES if language in counts}
    if not found:
        raise SourceError(
            f"{collection.name} has no function in a language of the challenge "
            f"({', '.join(LANGUAGES)}): read another --path"
        )
    if missing := [language for language in LANGUAGES if language not in found]:
        get_run_logger().warning("without functions, left out: %s", ", ".join(missing))
    return found


@stage("predict", "write the predictions of {method} for {search.asked.name}")
def predict(
    database: Database, search: Search, queries: Path, method: str, runs: dict[str, Run]
) -> WrittenPredictions:
    """Write a method's predictions as the challenge takes them, whole or not at all.

    Args:
        database: The store, which knows the functions' names and URLs.
        search: The functions, and the folder where the file goes.
        queries: The file of queries.
        method: The method, after which the file is named.
        runs: Language → the method's run.
    """
    spelt = _spelt(queries)
    counts: Counter[str] = Counter()
    file = search.folder / f"{method}.csv"
    with space_on(search.folder, OTHER_OUTPUT):
        write_predictions(file, _predictions(database, search.collection, spelt, runs, counts))
    return WrittenPredictions(
        method=method, file=file, predictions=counts["written"], repeated=counts["repeated"]
    )


def _spelt(queries: Path) -> dict[QueryId, list[str]]:
    """Return query → its spellings: white space is part of a query in the challenge's files."""
    found = defaultdict(list)
    for text in challenge_queries(queries):
        found[query_id_of(text)].append(text)
    return found


def _predictions(
    database: Database,
    collection: StoredCollection,
    spelt: dict[QueryId, list[str]],
    runs: dict[str, Run],
    counts: Counter[str],
) -> Iterator[Prediction]:
    """Yield predictions by language and query, best first; of equal URLs the best alone."""
    for language, run in runs.items():
        ranked = read_run(run.file)
        places = corpus.places_of(database, collection.name, ranked.code_ids)
        seen: set[tuple[str, str]] = set()
        for query, code, _ in ranked.rows():
            name, url = places[code]
            if (query, url) in seen:
                counts["repeated"] += 1
                continue
            seen.add((query, url))
            for text in spelt[QueryId(query)]:
                counts["written"] += 1
                yield Prediction(text, language, name, url)


@stage("challenge-scores", "score the predictions over {collection}")
def score_predictions(
    collection: str, written: Sequence[WrittenPredictions], annotations: Path, folder: Path
) -> dict[str, ChallengeScores]:
    """Return method → its scores by annotations, and write them as a table.

    Raises:
        SourceError: A line of the annotations is malformed.
    """
    relevances = read_relevances(annotations)
    scores = {one.method: score(read_predictions(one.file), relevances) for one in written}
    lines = ["method,language,NDCG within,NDCG all,queries,found,relevant found"]
    for method, found in scores.items():
        lines += [
            f"{method},{name},{row.within:.6f},{row.everything:.6f},{row.queries},"
            f"{row.coverage:.6f},{row.relevant_coverage:.6f}"
            for name, row in found.languages.items()
        ]
        lines.append(f"{method},mean,{found.within:.6f},{found.everything:.6f},,,")
    write_outputs(folder, {SCORES: "".join(f"{line}\n" for line in lines)})
    get_run_logger().info("%s: scored by %s", collection, annotations.name)
    return scores


@stage("pool", "draw the first {first} results for {search.asked.name} into a sample")
def draw_pool(
    database: Database, search: Search, queries: Path, runs: Sequence[Run], first: int, seed: int
) -> Pool | None:
    """Store a sample of the first results of all methods in each language, in random order.

    There is none where no method has found anything.

    Husain et al. 2019, section 4: ten functions for each query and language, graded from 0 to 3.

    Args:
        database: The store.
        search: The functions and the queries.
        queries: The file of queries.
        runs: Of all methods and languages.
        first: Results of each query, language and method.
        seed: Of the order.
    """
    pairs: dict[str, dict[PairKey, None]] = defaultdict(dict)
    for run in runs:
        for query, code in first_results(read_run(run.file), first):
            pairs[query][PairKey(QueryId(query), CodeId(code))] = None
    if not pairs:
        get_run_logger().warning("no method has a result: there is nothing to grade")
        return None
    wanted = Wanted(strata={"pool": None}, scale="graded", seed=seed)
    population = {query: list(found) for query, found in sorted(pairs.items())}
    items, counts = drawn_items(wanted, {"pool": population})
    asked = {query.query_id: query for query in search.asked.read()}
    spelt = {
        query: texts
        for query, texts in _spelt(queries).items()
        if query in pairs and texts != [asked[query].text]
    }
    sample = Sample(
        collection=search.collection.name, scale=wanted.scale, seed=seed, items=items,
        body={"drawn": "pool", "strata": counts, "spelt": spelt},
    )  # fmt: skip
    samples.add_sample(database, sample, list(asked.values()))
    return Pool(sample_id=sample.sample_id, pairs=len(items))


def write_annotations(database: Database, sample_id: str, file: Path) -> int:
    """Write what people say of a sample as the challenge's annotation file; return its rows.

    Of each person and pair it is the last grade; undecided ones are left out. The file names no
    person, and grades of one pair stand below one another.

    Raises:
        SourceError: There is no such sample, it is none of a challenge, or nobody has graded it.
    """
    sample = samples.load_sample(database, sample_id)
    spelt = sample.body.get("spelt")
    if not isinstance(spelt, dict):
        raise SourceError(f"sample {sample_id} is not of a challenge: draw one with --pool")
    votes = sorted(load_votes(database, sample.origin), key=lambda vote: vote.phase)
    last = {(vote.key, vote.annotator): vote for vote in votes}
    given = {where: vote for where, vote in last.items() if vote.relevance is not None}
    if not given:
        raise SourceError(f"nobody has graded sample {sample_id}: `cosqa label read` reads sheets")
    codes = {
        code.code_id: code
        for code in corpus.load_codes(
            database, sample.collection, sorted({vote.code_id for vote in given.values()})
        )
    }
    places = corpus.places_of(database, sample.collection, list(codes))
    texts = corpus.texts_of(database, {vote.query_id for vote in given.values()})
    rows = [
        GradeRow(
            codes[vote.code_id].language or "python", text, places[vote.code_id][1],
            int(vote.relevance or 0), "; ".join(filter(None, (", ".join(vote.notes), vote.note))),
        )
        for _, vote in sorted(given.items(), key=lambda item: item[0])
        for text in spelt.get(vote.query_id, [texts[vote.query_id]])
    ]  # fmt: skip
    with space_on(file.parent, OTHER_OUTPUT):
        write_grades(file, sorted(rows, key=lambda row: (row.language, row.query)))
    return len(rows)
