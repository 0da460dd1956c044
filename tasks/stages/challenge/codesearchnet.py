"""CodeSearchNet's challenge: predictions of methods over all functions of each language, scored.

Husain et al. 2019 (arXiv 1909.09436, section 4).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from prefect.logging import get_run_logger

from infra.disk import OTHER_OUTPUT, space_on
from infra.errors import SourceError
from infra.ids import QueryId
from infra.outputs import write_outputs
from infra.records import Record, query_id_of
from infra.store import Database, corpus
from infra.store.corpus import StoredCollection
from tasks.benchmarks.challenge import (
    LANGUAGES,
    Prediction,
    challenge_queries,
    write_predictions,
)
from tasks.benchmarks.trec import read_run
from tasks.runtime.caching import stage
from tasks.stages.challenge.rankings import Search
from tasks.stages.scoring import Run
from tasks.suites.codesearchnet import (
    ChallengeScores,
    read_predictions,
    read_relevances,
    score,
)

SCORES = "scores.csv"


class WrittenPredictions(Record):
    """A method's predictions: how many, and results left out since the query has their URL."""

    method: str
    file: Path
    predictions: int = 0
    repeated: int = 0


class WrittenChallenge(Record):
    """What methods predicted, and their scores where functions are annotated.

    Attributes:
        folder: The folder of predictions and scores.
        functions: Language → number of functions that were ranked.
        predictions: Each method's file.
        scores: Method → its scores.
    """

    folder: Path
    functions: dict[str, int]
    predictions: tuple[WrittenPredictions, ...]
    scores: dict[str, ChallengeScores]


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
    spelt = defaultdict(list)
    for text in challenge_queries(queries):
        spelt[query_id_of(text)].append(text)
    counts: Counter[str] = Counter()
    file = search.folder / f"{method}.csv"
    with space_on(search.folder, OTHER_OUTPUT):
        write_predictions(file, _predictions(database, search.collection, spelt, runs, counts))
    return WrittenPredictions(
        method=method, file=file, predictions=counts["written"], repeated=counts["repeated"]
    )


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
