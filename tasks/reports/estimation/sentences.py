"""What an estimate says, in sentences."""

from tasks.estimation.records import Density, MethodEstimate
from tasks.reports import text
from tasks.reports.estimation.build import EstimationReport, LabelPrice

_PILOTS = {
    "judged": "the {} queries judged so far",
    "training": "{} training queries, each estimated from the others",
}


def summary(report: EstimationReport) -> str:
    """Return over what and how the scores were estimated."""
    first = report.estimates[0]
    judged = text.count(len(first.judged.rows)) if first.judged else "none"
    return (
        f"{text.count(first.queries)} queries, {judged} of them judged; "
        f"{text.count(first.training)} training pairs of {report.training}; k = {first.k}; "
        f"{first.level:.0%} intervals"
    )


def refusal(estimate: MethodEstimate) -> str:
    """Return that the queries are too far, and why; nothing where they are not."""
    if not estimate.distance.refused:
        return ""
    withheld = all(score.kape is None for score in estimate.scores.values())
    what = "no estimate without labels" if withheld else "an estimate not to be relied on"
    return f"{estimate.method}: {what}, since {estimate.distance.reason}."


def notes(report: EstimationReport) -> list[str]:
    """Return what a reader must know, each once."""
    of_methods = (note for estimate in report.estimates for note in estimate.notes)
    return list(dict.fromkeys((*report.notes, *of_methods)))


def plan_sentence(estimate: MethodEstimate, price: LabelPrice) -> str:
    """Return "Label 60 more queries for ± 0.02 of MRR: about $1.20 at $0.001 a pair ...".

    Args:
        estimate: Of the method; the sentence is for its plan's first half-width.
        price: Of labelling.
    """
    plan = estimate.plan
    if plan is None or not plan.rows:
        return "How many labels are needed is not known."
    row = plan.rows[0]
    goal = f"± {row.half_width:g} of {plan.measure}"
    if not row.more_combined:
        return f"The labels at hand are enough for {goal}."
    dollars = price.of(row.more_combined)
    if dollars is None:
        cost = f"{text.count(row.more_combined * price.pairs_per_query)} pairs at an unknown price"
    else:
        cost = f"about {text.cost(dollars)} at {text.cost(price.dollars_per_pair)} a pair"
    queries = "query" if row.more_combined == 1 else "queries"
    saved = row.more_alone > row.more_combined
    without = f"; {text.count(row.more_alone)} by labels alone" if saved else ""
    return (
        f"Label {text.count(row.more_combined)} more {queries} for {goal}: {cost}, "
        f"{price.pairs_per_query} pairs a query{without}."
    )


def plan_basis(estimate: MethodEstimate) -> str:
    """Return where the spread that the plan rests on is taken from."""
    plan = estimate.plan
    if plan is None:
        return "There is nothing to tell the spread of the scores from."
    return (
        f"By the spread of {_PILOTS[plan.pilot].format(text.count(plan.pilot_size))}: standard "
        f"deviation {plan.deviation:.3f}, of which the estimates leave {plan.residual:.3f}."
    )


def distance_sentence(estimate: MethodEstimate) -> str:
    """Return how far the queries are from the training queries."""
    near, distance = estimate.similarities, estimate.distance
    median = f"Median similarity to the nearest training query: {_median(near.queries)}"
    if near.training is None or distance.nearest is None:
        return f"{median}."
    return (
        f"{median}; among training queries {_median(near.training)}. Energy coefficient of these "
        f"similarities {distance.nearest.coefficient:.3f} (p = {distance.nearest.p_value:.3f}; too "
        f"far above {distance.limit:g}), of the vectors {distance.vectors.coefficient:.3f}."
    )


def _median(density: Density) -> str:
    return f"{density.quantiles['0.5']:.2f}"


def comparison_sentences(report: EstimationReport) -> list[str]:
    """Return how to read the comparison, and how well its order agrees with the truth."""
    if report.comparison is None:
        return []
    sentences = []
    if any(each.combined for each in report.comparison.differences):
        sentences.append(
            f"Intervals of the differences hold together with {report.estimates[0].level:.0%} "
            f"(each alone with {report.comparison.level:.4g}, Bonferroni)."
        )
    if report.comparison.tau is not None:
        sentences.append(
            f"Kendall's tau of this order against the truth: {report.comparison.tau:.2f}."
        )
    return sentences
