"""What the commands of challenges do: run a flow, print scores and where the files are."""

from pathlib import Path

from flows.cli.output import print_table, say
from flows.runtime.prefect_server import flow_result
from infra.settings import Settings
from infra.store import open_database
from tasks.benchmarks.challenge import LANGUAGES, read_grades
from tasks.reports.text import counted, tally
from tasks.stages.challenge.codesearchnet import SCORES, WrittenChallenge, write_annotations
from tasks.stages.challenge.neural_code_search import WrittenSheet
from tasks.studies import published_figures
from tasks.studies.codesearchnet_annotations import annotation_figures


def codesearchnet(settings: Settings, **arguments: object) -> None:
    """Run the challenge's flow; print its tables and where the predictions are."""
    written: WrittenChallenge = flow_result("challenge", settings, **arguments)
    say(f"functions: {tally(written.functions)}")
    print_scores(written)
    for one in written.predictions:
        say(f"{one.file}: {counted(one.predictions, 'predictions')}")
    if written.pool:
        say(
            f"sample {written.pool.sample_id}: {counted(written.pool.pairs, 'pairs')} to grade; "
            f"a sheet: cosqa label sample --sample {written.pool.sample_id} --annotator NAME"
        )


def annotations(settings: Settings, sample: str, file: Path) -> None:
    """Write people's grades of a sample, and print them by language and grade."""
    rows = write_annotations(open_database(settings.store), sample, file)
    table: dict[str, dict[str, str]] = {}
    for figure in annotation_figures(read_grades(file)):
        cell = "" if figure.value is None else f"{figure.value:.3f}".removesuffix(".000")
        table.setdefault(figure.row, {})[figure.column] = cell
    columns = list(dict.fromkeys(name for row in table.values() for name in row))
    cells = [(name, *(row.get(column, "") for column in columns)) for name, row in table.items()]
    print_table("", ("language", *columns), cells, rest="a wider terminal")
    say(f"{file}: {counted(rows, 'grades')}")


def print_scores(written: WrittenChallenge) -> None:
    """Print NDCG within and over all results: a row a method, a column a language."""
    for title, name in (("NDCG within", "within"), ("NDCG all", "everything")):
        rows = []
        for method, found in written.scores.items():
            of = {language: getattr(row, name) for language, row in found.languages.items()}
            cells = [f"{of[each]:.3f}" if each in of else "" for each in LANGUAGES]
            rows.append((method, *cells, f"{getattr(found, name):.3f}"))
        if rows:
            rest = str(written.folder / SCORES)
            print_table(title, ("method", *LANGUAGES, "mean"), rows, rest=rest)
    for method, found in written.scores.items():
        if found.missing:
            say(f"{method}: no predictions, counted as 0: {', '.join(found.missing)}")
        if not any(row.coverage for row in found.languages.values()):
            say(f"{method}: no annotated function is among the predictions, so all scores are 0")


def neural_code_search(settings: Settings, **arguments: object) -> None:
    """Run the flow of Neural Code Search; print its table, the judge and where the sheet is."""
    print_sheet(flow_result("neural_code_search", settings, **arguments))


def print_sheet(written: WrittenSheet) -> None:
    """Print each method's figures beside Table 1, and how the judge agrees with the examples."""
    columns = ("Answered@1", "Answered@5", "Answered@10", "MRR")
    rows = [
        (method, *map(str, of.answered.values()), f"{of.reciprocal_rank:.3f}")
        for method, of in written.scores.items()
    ]
    published: dict[str, dict[str, str]] = {}
    for figure in published_figures():
        if figure.study == "neural-code-search":
            published.setdefault(figure.row, {})[figure.column] = f"{figure.value}"
    rows += [
        (f"{row} (published, its own corpus)", *map(of.__getitem__, columns))
        for row, of in published.items()
    ]
    questions = next(iter(written.scores.values())).questions
    title = f"first right result of {counted(questions, 'questions')}, judged by Aroma"
    print_table(title, ("method", *columns), rows, rest=str(written.file))
    say(f"judge: accepts {written.accepted:,} of {counted(written.examples, 'examples')}")
    if written.without_code:
        say(f"answers without Java, so never found: {written.without_code:,}")
    say(f"score sheet: {written.file}")
