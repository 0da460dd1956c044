"""``cosqa compare-annotators``: how far labels can be trusted."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flows.cli.output import print_table, say
from flows.runtime.prefect_server import flow_result
from infra.draws import Draw
from infra.outputs import write_outputs
from infra.settings import Settings
from tasks.benchmarks.labelled_pairs import read_truth
from tasks.reports.text import counted
from tasks.stages.compare_annotators import AnnotatorScore, annotator_scores
from tasks.stages.preflight import check_annotators, needs_server

_AGREEMENT = (
    "annotator", "decided", "accuracy", "95% interval", "precision", "recall", "kappa", "alpha",
    "alpha with people", "winning rate",
)  # fmt: skip
_EVIDENCE = (
    "annotator", "executable", "valid oracles", "mutation score", "tokens", "USD", "seconds"
)  # fmt: skip
_NOTES = """\
decided: pairs with a label, of those judged; pairs whose model or container failed are left out
accuracy: share of these pairs with the right label, undecided ones count as wrong; Wilson interval
always 0, always 1: predicts the commoner label for every pair (baseline)
precision, recall, kappa (Cohen), alpha (Krippendorff): over the decided pairs
alpha with people: of all people and the annotator as coders; average human: of people alone
executable: share of the test programs whose last version ran to its end
valid oracles: share of those that passed the gates, as a valid test must
winning rate: share of the people whom the annotator may stand in for, at least one half means yes
  (alternative annotator test, Calderon et al. 2025, epsilon .2; from 3 people with 30 pairs each)
tokens, USD, seconds: mean for a pair, as if no reply had come from the store"""


def compare(settings: Settings, output: Path | None, **arguments: Any) -> None:  # noqa: ANN401
    """Score every annotator against the truth, print tables, write the figures."""
    pairs = read_truth(arguments["truth"], Draw(arguments["limit"], settings.annotation.seed))
    if not needs_server(settings.llm, settings.encoder):
        check_annotators(settings, arguments["models"], arguments["configurations"])
    judged = flow_result("compare_annotators", settings, **arguments)
    scores = list(annotator_scores(pairs, judged, settings.store))
    print_scores(scores, str(output or "--output FILE writes it"))
    if output:
        figures = [score.model_dump(mode="json") for score in scores]
        text = json.dumps(figures, indent=1, ensure_ascii=False)
        write_outputs(output.parent, {output.name: f"{text}\n"})


def print_scores(scores: Sequence[AnnotatorScore], rest: str) -> None:
    """Print for each model how well it judges, then what its labels rest on and cost.

    Args:
        scores: All annotators'.
        rest: Where columns can be seen for which the terminal is too narrow.
    """
    others = [score for score in scores if not score.model]
    for model in dict.fromkeys(score.model for score in scores if score.model):
        agents = [score for score in scores if score.model == model]
        judged = [_agreement(score) for score in (*others, *agents)]
        print_table(f"{model} against the known labels", _AGREEMENT, judged, rest=rest)
        tested = [_evidence(score) for score in agents]
        print_table(f"{model}: evidence for its labels, and cost", _EVIDENCE, tested, rest=rest)
    say(_NOTES)
    for score in scores:
        if score.failed:
            pairs = counted(score.failed, "pairs")
            say(f"{score.name}: {pairs} failed, model or container out of reach")


def _name(score: AnnotatorScore) -> str:
    return score.name.removesuffix(f" · {score.model}")


def _agreement(score: AnnotatorScore) -> list[str]:
    figures = score.agreement
    return [
        _name(score),
        f"{figures.decided:,} of {figures.pairs:,}",
        _figure(figures.accuracy),
        f"{_figure(figures.accuracy_low)} to {_figure(figures.accuracy_high)}",
        *map(_figure, (figures.precision, figures.recall, figures.kappa, figures.alpha)),
        _figure(score.alpha_with_people),
        _figure(score.alternative.winning_rate if score.alternative else None, ".2f"),
    ]


def _evidence(score: AnnotatorScore) -> list[str]:
    return [
        _name(score),
        *map(_figure, (score.executable, score.valid_oracles, score.mutation_score)),
        _figure(score.tokens, ",.0f"),
        _figure(score.usd, ".6f", "unknown"),
        _figure(score.seconds, ".2f"),
    ]


def _figure(value: float | None, form: str = ".3f", missing: str = "-") -> str:
    return missing if value is None else format(value, form)
