"""``cosqa compare-annotators``: how far labels can be trusted."""

from collections.abc import Sequence

from flows.cli.output import print_table, say
from tasks.stages.compare_annotators import AnnotatorScore

_COLUMNS = (
    "annotator", "decided", "accuracy", "95% interval", "alpha with people", "executable", "USD",
    "seconds",
)  # fmt: skip
_NOTES = """\
decided: pairs with a label, of those judged; pairs whose model or container failed are left out
accuracy: share of these pairs with the right label, undecided ones count as wrong; Wilson interval
alpha with people: Krippendorff's, of all people and the annotator as coders; average human: of
  people alone
executable: share of the test programs whose last version ran to its end
USD, seconds: mean for a pair, as if no reply had come from the store"""


def print_scores(scores: Sequence[AnnotatorScore], rest: str) -> None:
    """Print for each model how well it and people judge, and what its labels cost.

    Args:
        scores: All annotators'.
        rest: Where columns can be seen for which the terminal is too narrow.
    """
    people = [score for score in scores if not score.model]
    for model in dict.fromkeys(score.model for score in scores if score.model):
        rows = [_row(score) for score in scores if score in people or score.model == model]
        print_table(f"{model} against the known labels", _COLUMNS, rows, rest=rest)
    say(_NOTES)
    for score in scores:
        for reason in score.unlabelled:
            say(f"{score.name} by {score.model}: {reason}")


def _row(score: AnnotatorScore) -> list[str]:
    return [
        score.name,
        f"{score.decided:,} of {score.pairs:,}",
        _figure(score.accuracy),
        f"{_figure(score.accuracy_low)} to {_figure(score.accuracy_high)}",
        _figure(score.alpha_with_people),
        _figure(score.executable),
        _figure(score.usd, ".6f", "unknown" if score.model else "-"),
        _figure(score.seconds, ".2f"),
    ]


def _figure(value: float | None, form: str = ".3f", missing: str = "-") -> str:
    return missing if value is None else format(value, form)
