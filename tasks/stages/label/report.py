"""The results of a sample as documents: people's labels, the agents beside them, KAPE's order."""

from collections.abc import Iterator
from math import isnan
from pathlib import Path

from infra.errors import SettingsError
from infra.records import Criterion
from infra.store.samples import Sample
from tasks.reports.document import Block, Document, Table
from tasks.reports.text import counted
from tasks.stages.estimate import read_report
from tasks.stages.label.results import AgentsBesidePeople, LabelResults
from tasks.statistics.intervals import Interval
from tasks.studies import PublishedFigure, paper_data

_SHOWN = 20


def results_document(sample: Sample, results: LabelResults) -> Document:
    """Return each annotator's progress, and the labels of annotators who are done."""
    return Document("", list(_results(sample, results)))


def _results(sample: Sample, results: LabelResults) -> Iterator[Block]:
    yield Table(
        ("annotator", "items", "blind", "revised"),
        [(one.annotator, f"{len(one.positions):,}", f"{one.blind:,}", f"{one.revised:,}")
         for one in results.progress],
    )  # fmt: skip
    if sample.criterion == "half":
        yield "a label of 1 says here that half of the demands are met (--criterion half)"
    if waiting := [one.annotator for one in results.progress if not one.is_done]:
        yield f"not done, and left out below: {', '.join(waiting)}"
    if found := results.agreement:
        yield f"{counted(found.pairs, 'items')} labelled blind by two or more"
        yield f"Krippendorff's alpha: {_interval(found.alpha)}"
        yield Table(
            ("annotators", "items", "equal", "Cohen's kappa"),
            [(f"{it.first}, {it.second}", f"{it.pairs:,}", f"{it.equal:.1%}", _interval(it.kappa))
             for it in found.each_two],
        )  # fmt: skip
    if results.by_label and sample.kind != "preference":
        by_label = ", ".join(f"{n:,} as {label}" for label, n in results.by_label.items())
        items = counted(len(sample.items), "items")
        yield f"decided by majority: {results.decided:,} of {items}, {by_label}"
    yield from _kind_tables(results)
    if results.conflicts:
        shown = ", ".join(map(str, results.conflicts[:_SHOWN]))
        yield (
            f"in conflict: {counted(len(results.conflicts), 'items')} ({shown}"
            f"{', …' if len(results.conflicts) > _SHOWN else ''}); a sheet for one more person: "
            f"cosqa label sample --conflicts-of {sample.sample_id} --annotator NAME"
        )


def _kind_tables(results: LabelResults) -> Iterator[Block]:
    if results.preferred:
        yield Table(
            ("annotator", "queries decided", "prefer ours"),
            [(it.annotator, f"{it.decided:,}", _interval(it.share)) for it in results.preferred],
        )
    if results.right:
        names = sorted(results.right[0].by_annotator)
        yield Table(
            ("method", "right on average", *names),
            [(it.method, f"{it.mean:.1f} of {it.queries:,}",
              *(f"{it.by_annotator[name]:,}" for name in names)) for it in results.right],
        )  # fmt: skip


def agents_document(found: AgentsBesidePeople, criterion: Criterion = "exact") -> Document:
    """Return the agents' accuracy by the people's majority, beside the published figures."""
    return Document("", list(_agents(found, criterion)))


def _agents(found: AgentsBesidePeople, criterion: Criterion) -> Iterator[Block]:
    yield Table(
        ("labels", "pairs", "accuracy", "precision of matches", "recall of matches"),
        [(it.ground, f"{it.pairs:,}", *map(_interval, (it.accuracy, it.precision, it.recall)))
         for it in found.scores],
        caption="the agents by the majority",
    )  # fmt: skip
    [both] = found.agreement.each_two
    alpha = _interval(found.agreement.alpha)
    yield f"agents and majority: alpha {alpha}, kappa {_interval(both.kappa)}"
    beside = [
        f"{each.row}, {each.column} {each.value} ({each.source})"
        for each in paper_data().figures
        if _is_beside(each, criterion)
    ]
    yield f"published: {'; '.join(beside)}"
    if not (test := found.alt_test):
        yield "may the agents stand in for a person? The test needs three people who are done"
        return
    yield Table(
        ("left out", "items", "agents no worse", "person no worse", "p", "won"),
        [(it.annotator, f"{it.items:,}", f"{it.judge:.3f}", f"{it.person:.3f}", f"{it.p:.4f}",
          "yes" if it.is_won else "no") for it in test.people],
        caption="alternative annotator test",
    )  # fmt: skip
    told = "may" if test.is_passed else "may not"
    yield (
        f"the agents {told} stand in for a person: won against {test.winning_rate:.0%} of the "
        f"people at epsilon {test.epsilon:g}, advantage {test.advantage:.3f}"
    )


def orders_document(results: LabelResults, estimate: Path) -> Document:
    """Return the methods from the best to the worst, by people and by KAPE's estimates.

    Raises:
        SettingsError: Not all methods of the sample have an estimate in the folder.
    """
    people = {each.method: each.mean for each in results.right}
    scores = {
        each.method: next(iter(each.scores.values())) for each in read_report(estimate).estimates
    }
    if not people or not people.keys() <= scores.keys():
        raise SettingsError(
            f"--estimate {estimate} has estimates of {', '.join(scores)}; the sample has answers "
            f"of {', '.join(people) or 'no method'}: name the folder that `cosqa estimate` wrote "
            "for the same methods"
        )
    first, second = (sorted(people, key=lambda name: -by[name]) for by in (people, scores))
    by_people = " > ".join(f"{name} ({people[name]:.4g})" for name in first)
    by_kape = " > ".join(f"{name} ({scores[name]:.4g})" for name in second)
    is_same = "the same order" if first == second else "another order"
    beside = [
        f"{each.row} {each.column} {each.value} ({each.source})"
        for each in paper_data().figures
        if each.study == "kape-people"
    ]
    lines = [f"by people: {by_people}", f"by KAPE: {by_kape}: {is_same}"]
    return Document("", [*lines, f"published: {'; '.join(beside)}"])


def _is_beside(figure: PublishedFigure, criterion: Criterion) -> bool:
    """Return True if a published figure is of agents or people by a criterion."""
    if criterion == "half":
        return figure.column.endswith("50 %") and "human" in figure.row
    return figure.study == "agreement" or (figure.study, figure.row) == ("annotators", "agents")


def _interval(value: Interval) -> str:
    if isnan(value.mean):
        return "undefined: all labels are equal"
    return f"{value.mean:.3f} ({value.low:.3f} to {value.high:.3f})"
