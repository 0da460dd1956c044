"""``cosqa compare-annotators`` and ``check-model``: how far labels can be trusted."""

from collections.abc import Sequence

from flows.cli.output import print_blocks, print_table, say
from infra.settings import Settings
from tasks.reports.document import KeyValues
from tasks.reports.text import format_cost, format_duration
from tasks.stages.check_model import Judge, check_judge, pairs_to_judge, refuse_by_chance
from tasks.stages.compare_annotators import AnnotatorScore
from tasks.stages.preflight import checked_judge

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


def print_check(settings: Settings, pairs: int | None) -> None:
    """Check the model of the settings, and print what it is worth and what a run would take.

    Args:
        settings: The agents, their model, and the store that keeps their replies.
        pairs: Number of pairs of that run; None takes those of its plan.
    """
    known, recipe = checked_judge(settings)
    check = check_judge(Judge(known.committee, recipe, known.store), say)
    counts, share = check.counts, check.interval
    about = "as given" if pairs else ""
    if not pairs:
        pairs, about = pairs_to_judge(settings)
    seconds, usd = pairs * check.seconds, check.usd and pairs * check.usd
    values = {
        "right labels": f"{check.right} of {counts.asked}: {share.mean:.1%} (95% interval "
        f"{share.low:.1%} to {share.high:.1%}); by chance 50%, by counting shared words "
        f"{check.by_words / counts.asked:.1%}",
        "wrong": f"{counts.false_passes} false passes, {counts.false_fails} false fails, "
        f"{counts.undecided} without a label",
        "unreadable replies": f"{check.unreadable} of {check.replies}",
        "programs": f"of {check.ran} pairs one ran, of {check.accepted} one was accepted",
        "a pair": f"{check.seconds:.1f} s, {check.tokens:,.0f} tokens, {format_cost(check.usd)}",
        f"{pairs:,} pairs ({about})": f"{format_duration(seconds)} one after another, less where "
        f"the server answers several at once; {pairs * check.tokens:,.0f} tokens, "
        f"{format_cost(usd)}",
    }
    say(f"{recipe.model} ({known.annotation.configuration})", style="bold")
    print_blocks([KeyValues(values)])
    refuse_by_chance(recipe.model, check)


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
