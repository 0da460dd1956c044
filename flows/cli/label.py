"""``cosqa label``: samples for people, their sheets, and people's labels."""

import re
from collections.abc import Collection, Sequence
from math import isnan
from pathlib import Path

from flows.cli.output import print_table, say
from infra.errors import SettingsError
from infra.records import Criterion
from infra.settings import SandboxSettings, StoreSettings
from infra.store import Database, open_database, samples
from infra.store.samples import Sample
from tasks.reports.text import counted, tally
from tasks.stages.estimate import read_report
from tasks.stages.label.agents import AgentsBesidePeople, agents_beside_people, write_truth
from tasks.stages.label.results import LabelResults, label_results
from tasks.stages.label.sheets import read_sheets, write_sheets
from tasks.statistics.intervals import Interval
from tasks.studies import PublishedFigure, published_figures

_REST = "a wider terminal"
_SHOWN = 20


def names_of(annotators: Sequence[str]) -> list[str]:
    """Return the names of people without repeats.

    Raises:
        SettingsError: A file cannot be called so.
    """
    for name in annotators:
        if not re.fullmatch(r"\w([\w.-]{0,62}\w)?", name):
            raise SettingsError(
                f"--annotator {name!r}: letters, digits, and . _ - between them, 64 at most"
            )
    return list(dict.fromkeys(annotators))


def write(
    database: Database,
    sample: Sample,
    annotators: Sequence[str],
    outputs: Path,
    positions: Collection[int] = (),
) -> None:
    """Write a sheet of a sample for each person, and print where it is.

    Args:
        database: The store.
        sample: The sample.
        annotators: The people.
        outputs: The folder of outputs, in which the folder of sheets is.
        positions: The items on the sheets; empty takes all.
    """
    for name in annotators:
        samples.assign(database, sample, name, positions)
    files = write_sheets(database, sample, annotators, outputs / "sheets")
    say(f"sample {sample.sample_id}: {counted(len(positions or sample.items), 'items')}")
    for file in files:
        say(str(file))
    say(
        "What grades and notes mean is in the file of guidelines beside them. `cosqa label read "
        "FILE...` reads them when they are filled in, also in part."
    )


def read(store: StoreSettings, sandbox: SandboxSettings, sheets: Sequence[Path]) -> None:
    """Store the labels of sheets; print how far people agree, and what they label."""
    database = open_database(store)
    found = read_sheets(database, sheets, sandbox)
    stored = tally({"labels": found.votes, "programs_run": found.programs})
    say(f"sample {found.sample.sample_id}: {stored}")
    print_results(found.sample, label_results(database, found.sample))


def results(
    store: StoreSettings, sample_id: str, truth: Path | None, epsilon: float, estimate: Path | None
) -> None:
    """Print the results of a sample, and how right the agents are; write the truth where asked."""
    database = open_database(store)
    sample = samples.load_sample(database, sample_id)
    found_by_people = label_results(database, sample)
    print_results(sample, found_by_people)
    if estimate:
        print_orders(found_by_people, estimate)
    if found := agents_beside_people(database, sample, epsilon):
        print_agents(found, sample.criterion)
    if truth:
        say(f"{truth}: {counted(write_truth(database, sample, truth), 'pairs')} with a majority")


def print_agents(found: AgentsBesidePeople, criterion: Criterion = "exact") -> None:
    """Print how right the agents are by the people's majority, beside the published figures."""
    rows = [
        (it.ground, f"{it.pairs:,}", *map(_interval, (it.accuracy, it.precision, it.recall)))
        for it in found.scores
    ]
    header = ("labels", "pairs", "accuracy", "precision of matches", "recall of matches")
    print_table("the agents by the majority", header, rows, rest=_REST)
    [both] = found.agreement.each_two
    alpha = _interval(found.agreement.alpha)
    say(f"agents and majority: alpha {alpha}, kappa {_interval(both.kappa)}")
    published = [
        f"{each.row}, {each.column} {each.value} ({each.source})"
        for each in published_figures()
        if _is_beside(each, criterion)
    ]
    say(f"published: {'; '.join(published)}")
    if test := found.alt_test:
        columns = ("left out", "items", "agents no worse", "person no worse", "p", "won")
        people = [
            (it.annotator, f"{it.items:,}", f"{it.judge:.3f}", f"{it.person:.3f}", f"{it.p:.4f}",
             "yes" if it.is_won else "no")
            for it in test.people
        ]  # fmt: skip
        print_table("alternative annotator test", columns, people, rest=_REST)
        told = "may" if test.is_passed else "may not"
        say(
            f"the agents {told} stand in for a person: won against {test.winning_rate:.0%} of the "
            f"people at epsilon {test.epsilon:g}, advantage {test.advantage:.3f}"
        )
    else:
        say("may the agents stand in for a person? The test needs three people who are done")


def print_orders(results: LabelResults, estimate: Path) -> None:
    """Print the methods from the best to the worst, by people and by KAPE's estimates.

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
    orders = [
        [f"{name} ({by[name]:.4g})" for name in sorted(people, key=lambda name: -by[name])]
        for by in (people, scores)
    ]
    names = [[text.rpartition(" (")[0] for text in order] for order in orders]
    is_same = "the same order" if names[0] == names[1] else "another order"
    say(f"by people: {' > '.join(orders[0])}")
    say(f"by KAPE: {' > '.join(orders[1])}: {is_same}")
    published = [
        f"{each.row} {each.column} {each.value} ({each.source})"
        for each in published_figures()
        if each.command.startswith("cosqa label sample --answers")
    ]
    say(f"published: {'; '.join(published)}")


def _is_beside(figure: PublishedFigure, criterion: Criterion) -> bool:
    """Return True if a published figure is of agents or people by a criterion."""
    if criterion == "half":
        return figure.column.endswith("50 %") and "human" in figure.row
    is_alpha = figure.column == "Krippendorff's alpha" and figure.command.startswith("cosqa label")
    return is_alpha or (figure.study, figure.row) == ("annotators", "agents")


def print_results(sample: Sample, results: LabelResults) -> None:
    """Print each annotator's progress, and the labels of annotators who are done."""
    header = ("annotator", "items", "blind", "revised")
    rows = [
        (one.annotator, f"{len(one.positions):,}", f"{one.blind:,}", f"{one.revised:,}")
        for one in results.progress
    ]
    print_table("", header, rows, rest=_REST)
    if sample.criterion == "half":
        say("a label of 1 says here that half of the demands are met (--criterion half)")
    if waiting := [one.annotator for one in results.progress if not one.is_done]:
        say(f"not done, and left out below: {', '.join(waiting)}")
    if results.agreement:
        found = results.agreement
        say(f"{found.pairs:,} items labelled blind by two or more")
        say(f"Krippendorff's alpha: {_interval(found.alpha)}")
        two = [
            (f"{it.first}, {it.second}", f"{it.pairs:,}", f"{it.equal:.1%}", _interval(it.kappa))
            for it in found.each_two
        ]
        print_table("", ("annotators", "items", "equal", "Cohen's kappa"), two, rest=_REST)
    if results.by_label and sample.kind != "preference":
        by_label = ", ".join(f"{n:,} have {label}" for label, n in results.by_label.items())
        decided = f"{results.decided:,} of {len(sample.items):,}"
        say(f"by majority {decided} items are decided: {by_label}")
    _print_of_kind(results)
    if results.conflicts:
        shown = ", ".join(map(str, results.conflicts[:_SHOWN]))
        say(
            f"in conflict: {len(results.conflicts):,} items ({shown}"
            f"{', …' if len(results.conflicts) > _SHOWN else ''}); a sheet for one more person: "
            f"cosqa label sample --conflicts-of {sample.sample_id} --annotator NAME"
        )


def _print_of_kind(results: LabelResults) -> None:
    if results.preferred:
        rows: Sequence[Sequence[str]] = [
            (it.annotator, f"{it.decided:,}", _interval(it.share)) for it in results.preferred
        ]
        header: Sequence[str] = ("annotator", "queries decided", "prefer ours")
        print_table("", header, rows, rest=_REST)
    if results.right:
        names = sorted(results.right[0].by_annotator)
        rows = [
            (
                it.method,
                f"{it.mean:.1f} of {it.queries:,}",
                *(f"{it.by_annotator[n]:,}" for n in names),
            )
            for it in results.right
        ]
        print_table("", ("method", "right on average", *names), rows, rest=_REST)


def _interval(value: Interval) -> str:
    if isnan(value.mean):
        return "undefined: all labels are equal"
    return f"{value.mean:.3f} ({value.low:.3f} to {value.high:.3f})"
