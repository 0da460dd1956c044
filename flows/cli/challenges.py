"""Output of the commands of challenges: scores, and where their files are."""

from flows.cli.output import print_table, say
from tasks.inputs.challenge import LANGUAGES
from tasks.reports.text import counted, tally
from tasks.stages.challenge.codesearchnet import SCORES, WrittenChallenge
from tasks.stages.challenge.neural_code_search import WrittenSheet


def print_challenge(written: WrittenChallenge) -> None:
    """Print the tables of a challenge, and where the predictions are."""
    say(f"functions: {tally(written.functions)}")
    print_scores(written)
    for one in written.predictions:
        say(f"{one.file}: {counted(one.predictions, 'predictions')}")
    if written.pool:
        say(
            f"sample {written.pool.sample_id}: {counted(written.pool.pairs, 'pairs')} to grade; "
            f"a sheet: cosqa label sample --sample {written.pool.sample_id} --annotator NAME"
        )


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
    if written.unknown:
        say(f"annotated functions that are not in the corpus: {tally(written.unknown)}")
    for method, found in written.scores.items():
        if found.missing:
            say(f"{method}: no predictions, counted as 0: {', '.join(found.missing)}")
        if not any(row.coverage for row in found.languages.values()):
            say(f"{method}: no annotated function is among the predictions, so all scores are 0")


def print_sheet(written: WrittenSheet) -> None:
    """Print each method's figures, and how the judge agrees with the examples."""
    columns = ("Answered@1", "Answered@5", "Answered@10", "MRR")
    rows = [
        (method, *map(str, of.answered.values()), f"{of.reciprocal_rank:.3f}")
        for method, of in written.scores.items()
    ]
    questions = next(iter(written.scores.values())).questions
    title = f"first right result of {counted(questions, 'questions')}, judged by Aroma"
    print_table(title, ("method", *columns), rows, rest=str(written.file))
    say(f"judge: accepts {written.accepted:,} of {counted(written.examples, 'examples')}")
    if written.without_code:
        say(f"answers without Java, so never found: {written.without_code:,}")
    say(f"score sheet: {written.file}")
