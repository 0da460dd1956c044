"""CodeSearchNet's challenge: predictions of methods over all functions of each language, scored.

Husain et al. 2019 (arXiv 1909.09436, section 4).
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from infra.collected import StoredCollection
from infra.errors import SourceError
from infra.files import OTHER_OUTPUT, space_on, write_outputs
from infra.identity import CodeId, PairKey, QueryId, SampleId
from infra.records import Record, query_id_of
from infra.settings import Settings
from infra.store import Database, corpus, samples
from infra.store.samples import Sample
from infra.store.votes import load_votes
from tasks.corpus.merging import Readable
from tasks.inputs.challenge import (
    GRADE_COLUMNS,
    LANGUAGES,
    GradeRow,
    Prediction,
    challenge_queries,
    read_grades,
    write_rows,
)
from tasks.inputs.trec import read_run
from tasks.reports.document import Block, Document, Table
from tasks.reports.text import counted, tally
from tasks.runtime.caching import stage
from tasks.runtime.input_checks import check_challenge
from tasks.runtime.progress import get_run_logger
from tasks.stages.challenge.rankings import Search
from tasks.stages.label.sample import items_of, top_results
from tasks.stages.scoring import Run
from tasks.suites.codesearchnet import ChallengeScores, read_predictions, read_relevances, score

SCORES = "scores.csv"


class WrittenPredictions(Record):
    """A method's file of predictions, and their number."""

    method: str
    file: Path
    predictions: int


class Pool(Record):
    """A sample of the first results of all methods, for people to grade from 0 to 3."""

    sample_id: SampleId
    pairs: int


class WrittenChallenge(Record):
    """Methods' predictions, and their scores where functions are annotated.

    Attributes:
        folder: The folder of predictions and scores.
        functions: Language → number of functions that were ranked.
        predictions: Each method's file.
        scores: Method → its scores.
        unknown: Language → annotated functions whose URL no function of the corpus has.
        pool: The sample that people may grade, if one was drawn.
    """

    folder: Path
    functions: dict[str, int]
    predictions: tuple[WrittenPredictions, ...]
    scores: dict[str, ChallengeScores]
    unknown: dict[str, int] = Field(default_factory=dict)
    pool: Pool | None = None


def open_challenge(settings: Settings, queries: Path, annotations: Path | None) -> Readable:
    """Return the source whose functions are ranked, once queries and grades were read too."""
    opened = check_challenge(settings)
    challenge_queries(queries)
    if annotations:
        read_grades(annotations)
    return opened


def searched_languages(database: Database, collection: StoredCollection) -> dict[str, int]:
    """Return the challenge's languages that a collection has → number of their functions."""
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


@stage("predict", "write the predictions of {method} for {search.name}")
def predict(
    database: Database, search: Search, queries: Path, method: str, runs: dict[str, Run]
) -> WrittenPredictions:
    """Write a method's predictions as the challenge takes them, whole or not at all.

    Of several functions with one URL a query gets the best. ``runs`` has the method's run by
    language.
    """
    written_as = _written_as(queries)
    predictions: dict[tuple[str, str, str], Prediction] = {}
    for language, run in runs.items():
        ranked = read_run(run.file)
        places = corpus.places_of(database, search.collection.name, ranked.code_ids)
        for query, code, _ in ranked.rows():
            name, url = places[code]
            for text in written_as[QueryId(query)]:
                prediction = Prediction(text, language, name, url)
                predictions.setdefault((language, text, url), prediction)
    file = search.folder / f"{method}.csv"
    with space_on(search.folder, OTHER_OUTPUT):
        write_rows(file, Prediction._fields, predictions.values())
    return WrittenPredictions(method=method, file=file, predictions=len(predictions))


def _written_as(queries: Path) -> dict[QueryId, list[str]]:
    """Return query → its texts in the file: white space is part of a query in the challenge."""
    found = defaultdict(list)
    for text in challenge_queries(queries):
        found[query_id_of(text)].append(text)
    return found


@stage("challenge-scores", "score the predictions over {collection}")
def score_predictions(
    collection: str, written: Sequence[WrittenPredictions], annotations: Path, folder: Path
) -> dict[str, ChallengeScores]:
    """Return method → its scores by annotations, and write them as a table."""
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


def unknown_functions(
    database: Database, collection: StoredCollection, annotations: Path
) -> dict[str, int]:
    """Return language → number of annotated functions whose URL no function of a corpus has."""
    annotated = {
        language: {url for by_url in by_query.values() for url in by_url}
        for language, by_query in read_relevances(annotations).items()
    }
    wanted = sorted(set().union(*annotated.values()))
    known = corpus.known_places(database, collection.name, wanted)
    return {name: len(urls - known) for name, urls in sorted(annotated.items()) if urls - known}


@stage("pool", "draw the first {first} results for {search.name} into a sample")
def draw_pool(
    database: Database, search: Search, queries: Path, runs: Sequence[Run], first: int, seed: int
) -> Pool | None:
    """Store a sample of the first results of all methods in each language, if there are any.

    Husain et al. 2019, section 4: ten functions for each query and language, graded from 0 to 3.
    """
    pairs = {
        PairKey(QueryId(query), CodeId(code))
        for run in runs
        for query, code in top_results(read_run(run.file), first)
    }
    if not pairs:
        get_run_logger().warning("no method has a result: there is nothing to grade")
        return None
    sample = Sample(
        collection=search.collection.name, scale="graded", seed=seed, items=items_of(pairs, seed),
        body={"drawn": "pool", "queries": _written_as(queries)},
    )  # fmt: skip
    samples.add_sample(database, sample, search.read_queries())
    return Pool(sample_id=sample.sample_id, pairs=len(pairs))


def write_annotations(database: Database, sample_id: str, file: Path) -> int:
    """Write people's grades of a sample as the challenge's annotation file; return its rows.

    The last grade of each person and pair counts; undecided ones are left out. The file names no
    person, and grades of one pair stand below one another.
    """
    sample = samples.load_sample(database, sample_id)
    written_as = sample.body.get("queries")
    if not isinstance(written_as, dict):
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
    rows = [
        GradeRow(
            codes[vote.code_id].language or "python", text, places[vote.code_id][1],
            int(vote.relevance or 0), "; ".join(filter(None, (", ".join(vote.notes), vote.note))),
        )
        for _, vote in sorted(given.items(), key=lambda item: item[0])
        for text in written_as[vote.query_id]
    ]  # fmt: skip
    rows.sort(key=lambda row: (row.language, row.query))
    with space_on(file.parent, OTHER_OUTPUT):
        write_rows(file, GRADE_COLUMNS, rows)
    return len(rows)


def challenge_document(written: WrittenChallenge) -> Document:
    """Return the scores of a challenge, a row a method and a column a language, and its files."""
    tables: list[Block] = []
    for title, name in (("NDCG within", "within"), ("NDCG all", "everything")):
        rows = []
        for method, found in written.scores.items():
            of = {language: getattr(row, name) for language, row in found.languages.items()}
            cells = [f"{of[each]:.3f}" if each in of else "" for each in LANGUAGES]
            rows.append((method, *cells, f"{getattr(found, name):.3f}"))
        tables += [Table(("method", *LANGUAGES, "mean"), rows, caption=title)] * bool(rows)
    notes = []
    if written.unknown:
        notes.append(f"annotated functions that are not in the corpus: {tally(written.unknown)}")
    for method, found in written.scores.items():
        if found.missing:
            notes.append(f"{method}: no predictions, counted as 0: {', '.join(found.missing)}")
        if not any(row.coverage for row in found.languages.values()):
            notes.append(
                f"{method}: no annotated function is among the predictions, so all scores are 0"
            )
    notes += [f"{it.file}: {counted(it.predictions, 'predictions')}" for it in written.predictions]
    if pool := written.pool:
        notes.append(
            f"sample {pool.sample_id}: {counted(pool.pairs, 'pairs')} to grade; "
            f"a sheet: cosqa label sample --sample {pool.sample_id} --annotator NAME"
        )
    return Document("", [f"functions: {tally(written.functions)}", *tables, *notes])
