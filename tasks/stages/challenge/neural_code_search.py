"""Neural Code Search's evaluation: rankings judged by Aroma's similarity with the answers.

Li et al. 2019 (arXiv 1908.09804, section 4).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path

from infra.files import write_outputs
from infra.records import Record, query_id_of
from infra.settings import Settings
from infra.store import Database, corpus
from infra.text import words
from tasks.corpus.aroma import THRESHOLD, features_of, similarity
from tasks.corpus.merging import Readable
from tasks.corpus.neural_code_search import Question, read_questions
from tasks.encoders import encoders
from tasks.inputs.trec import read_run
from tasks.ranking.methods import renamed
from tasks.reports.document import Document, Table
from tasks.reports.text import counted
from tasks.runtime.caching import stage
from tasks.runtime.input_checks import check_challenge
from tasks.runtime.progress import get_run_logger
from tasks.sources.neural_code_search import EXAMPLES
from tasks.stages.challenge.rankings import Search
from tasks.stages.scoring import Run
from tasks.suites.neural_code_search import (
    DEEPEST,
    Ranks,
    SheetScores,
    score_sheet,
    sheet_figures,
    sheet_text,
)

SHEET = "score_sheet.csv"
POST_RANK = "_postrank (stand-in)"
_CACHED_FEATURES = 2_000  # methods, of some 50 KB each


class WrittenSheet(Record):
    """A score sheet, and how the judge agrees with the examples, some of a question's right codes.

    Attributes:
        file: The sheet.
        scores: Method → its figures.
        without_code: Questions whose answer has no token of Java to compare.
        examples: Pairs of a question and an example of it in the corpus.
        accepted: Number of these that the judge accepts.
    """

    file: Path
    scores: dict[str, SheetScores]
    without_code: int
    examples: int
    accepted: int


def open_questions(settings: Settings, questions: Path) -> Readable:
    """Return the source whose methods are ranked, once the questions were read too."""
    opened = check_challenge(settings)
    read_questions(questions)
    return opened


@stage("judge", "judge the rankings of {search.title} by Aroma")
def judge_rankings(
    database: Database, search: Search, questions: Path, runs: Sequence[Run], *, post_rank: bool
) -> WrittenSheet:
    """Find each method's first right result for each question, and write the score sheet.

    With ``post_rank`` each method has a second column, in whose first 50 results those with more
    of the question's words come first. The paper's own pass is not published.
    """
    asked = read_questions(questions)
    labels = corpus.label_columns(database, search.collection.name, EXAMPLES)
    examples: defaultdict[str, set[str]] = defaultdict(set)
    for row in labels.to_pylist():
        examples[row["query_id"]].add(row["code_id"])
    ranked: dict[str, dict[str, list[str]]] = {}
    for run in runs:
        # A column calls trained encoders by their names.
        column = renamed(
            run.method, lambda name: encoders.get(name).spec.name if encoders.has(name) else name
        )
        first = defaultdict[str, list[str]](list)
        for query, code, _ in read_run(run.file).cut(DEEPEST).rows():
            first[query].append(code)
        ranked[column] = first
    ids = {code for of in ranked.values() for codes in of.values() for code in codes}
    texts = corpus.texts_of(database, ids.union(*examples.values()))
    if post_rank:
        passes = {f"{name}{POST_RANK}": _reordered(of, asked, texts) for name, of in ranked.items()}
        ranked = dict(chain(*zip(ranked.items(), passes.items(), strict=True)))
    features = lru_cache(_CACHED_FEATURES)(lambda code: features_of(texts[code]))
    ranks: Ranks = {method: [] for method in ranked}
    counts: Counter[str] = Counter()
    for question in asked:
        query, answer = query_id_of(question.question), features_of(question.answer)
        own = examples[query]
        shown = {code for of in ranked.values() for code in of.get(query, ())}
        right = {code for code in shown | own if similarity(answer, features(code)) > THRESHOLD}
        for method, of in ranked.items():
            codes = enumerate(of.get(query, ()), 1)
            ranks[method].append(next((rank for rank, code in codes if code in right), None))
        counts.update(without_code=not answer, examples=len(own), accepted=len(own & right))
    write_outputs(search.folder, {SHEET: sheet_text(ranks, asked)})
    get_run_logger().info("%s of %s judged", counted(len(asked), "questions"), search.title)
    return WrittenSheet(file=search.folder / SHEET, scores=score_sheet(ranks), **counts)


def _reordered(
    ranked: dict[str, list[str]], asked: Sequence[Question], texts: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return rankings in which results with more of the question's words come first."""
    wanted: dict[str, set[str]] = {
        query_id_of(each.question): set(words(each.question)) for each in asked
    }
    return {
        query: sorted(codes, key=lambda code: -len(wanted[query].intersection(words(texts[code]))))
        for query, codes in ranked.items()
    }


def sheet_document(written: WrittenSheet) -> Document:
    """Return each method's figures, and how the judge agrees with the examples."""
    figures = sheet_figures(written.scores)
    questions = next(iter(written.scores.values())).questions
    title = f"first right result of {counted(questions, 'questions')}, judged by Aroma"
    judge = f"judge: accepts {written.accepted:,} of {counted(written.examples, 'examples')}"
    notes = [judge]
    if written.without_code:
        notes.append(f"answers without Java, so never found: {written.without_code:,}")
    table = Table(figures.columns, figures.rows, caption=title)
    return Document("", [table, *notes], kind="Score sheet")
