"""``cosqa suite``: figures of other people's evaluation suites, from their own files."""

from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.console import say
from flows.cli.tables import print_table
from tasks.benchmarks import annotation_sheets
from tasks.suites import codesearchnet, neural_code_search

suite = typer.Typer(
    help="Score other people's evaluation suites from their own files.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Annotations = Annotated[Path, typer.Option(help="The challenge's annotationStore.csv.")]
Predictions = Annotated[Path, typer.Option(help="A method's predictions as CSV.")]
Queries = Annotated[
    Path | None, typer.Option(help="The challenge's queries.csv, to check the other files with.")
]
Questions = Annotated[
    Path | None, typer.Option(help="The questions as JSON, to check the sheet with.")
]
Highest = Annotated[int, typer.Option(min=1, help="The best grade; the worst is 0.")]


@suite.command()
def challenge(
    *, annotations: Annotations, predictions: Predictions, queries: Queries = None
) -> None:
    """Score predictions for the CodeSearchNet challenge: NDCG within and over all, by language."""
    asked = codesearchnet.read_queries(queries) if queries else None
    scores = codesearchnet.score(
        codesearchnet.read_predictions(predictions, asked),
        codesearchnet.read_relevances(annotations, asked),
    )
    rows = [
        (
            language,
            f"{of.within:.3f}",
            f"{of.everything:.3f}",
            str(of.queries),
            f"{of.coverage:.1%}",
            f"{of.relevant_coverage:.1%}",
        )
        for language, of in scores.languages.items()
    ]
    rows.append(("mean", f"{scores.within:.3f}", f"{scores.everything:.3f}", "", "", ""))
    found = ("annotated results found", "relevant ones")
    _print(("language", "NDCG within", "NDCG all", "queries", *found), rows)
    if scores.missing:
        say(f"without predictions, counted as 0: {', '.join(scores.missing)}")
    if scores.unannotated:
        say(f"without annotations, left out: {', '.join(scores.unannotated)}")
    if scores.repeated:
        say(f"repeated within a query, counted each time: {scores.repeated:,} results")


@suite.command("score-sheet")
def score_sheet(
    sheet: Annotated[Path, typer.Argument(help="The score sheet as CSV.")],
    *,
    questions: Questions = None,
) -> None:
    """Score the Neural Code Search sheet: Answered@1, 5, 10 and MRR of each method."""
    asked = neural_code_search.read_questions(questions) if questions else None
    scores = neural_code_search.score_sheet(neural_code_search.read_score_sheet(sheet, asked))
    rows = [
        (method, *(str(number) for number in of.answered.values()), f"{of.reciprocal_rank:.3f}")
        for method, of in scores.items()
    ]
    _print(("method", "Answered@1", "Answered@5", "Answered@10", "MRR"), rows)


@suite.command()
def agreement(
    sheets: Annotated[list[Path], typer.Argument(help="Sheets that people filled in, as CSV.")],
    *,
    highest: Highest = 1,
) -> None:
    """Say how far annotators agree: Krippendorff's alpha, and Cohen's kappa of every two."""
    found = annotation_sheets.agreement(annotation_sheets.read_sheets(sheets, highest))
    say(f"{len(found.annotators)} annotators, {found.pairs:,} pairs graded by two or more")
    _figures({"alpha, nominal": found.nominal, "alpha, ordinal": found.ordinal})
    rows = [
        (f"{two.first}, {two.second}", f"{two.pairs:,}", f"{two.equal:.1%}", _said(two.kappa))
        for two in found.each_two
    ]
    _print(("annotators", "pairs", "equal", "kappa, squared weights"), rows)


def _figures(figures: Mapping[str, float]) -> None:
    for name, value in figures.items():
        say(f"{name}: {_said(value)}")


def _said(value: float) -> str:
    return f"{value:.3f}" if not isnan(value) else "undefined: all grades are equal"


def _print(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print_table("", header, rows, rest="a wider terminal, or a file: `cosqa suite ... > file`")
