"""Figures of how candidates are found and labelled: by encoders, agents and people.

Annotators against known labels are Tables IV and VI, and Tables 3 and 4 of the first version.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from tasks.studies import Annotator, Evidence, Figure, have, paper_data, studies


@studies.register("overlap")
def overlap(evidence: Evidence) -> Sequence[Figure]:
    """Return the mean overlap of each encoder; of a lone one it is 1."""
    overlaps = have(evidence.overlaps)
    note = "the only encoder" if len(overlaps) == 1 else ""
    return [
        Figure(row=encoder, column="overlap", value=mean.value, n=mean.n, note=note)
        for encoder, mean in overlaps.items()
    ]


@studies.register("matches-by-rank")
def matches_by_rank(evidence: Evidence) -> Sequence[Figure]:
    """Return the share of matches of each rank; None where nothing is labelled."""
    return [
        Figure(
            row=f"rank {facts.rank}",
            column="share",
            value=facts.matches / facts.labelled if facts.labelled else None,
            n=facts.labelled,
        )
        for facts in have(evidence.ranks)
    ]


_MISSING = "missing: the agents have labelled none of these pairs"


@studies.register("mismatched-pairs")
def mismatched_pairs(evidence: Evidence) -> Sequence[Figure]:
    """Return the share by each who labelled them."""
    by = have(evidence.mismatches)
    rows = [Figure(row=who, column="share", **share.model_dump()) for who, share in by.items()]
    missing = Figure(row="agents", column="share", value=None, note=_MISSING)
    return rows if "agents" in by else [*rows, missing]


@studies.register("rounds")
def rounds(evidence: Evidence) -> Sequence[Figure]:
    """Return the alpha of each two consecutive rounds."""
    return [
        Figure(row=f"rounds {number} and {number + 1}", column="Krippendorff's alpha", value=alpha)
        for number, alpha in enumerate(have(evidence.rounds), 1)
    ]


@studies.register("cost")
def cost_of_pairs(evidence: Evidence) -> Sequence[Figure]:
    """Return number, share, seconds and dollars of the pairs of each kind."""
    costs = have(evidence.costs)
    decided = sum(cost.pairs for kind, cost in costs.items() if kind != "all")
    figures = []
    for kind, cost in costs.items():
        figures.append(Figure(row=kind, column="pairs", value=cost.pairs))
        if kind != "all":
            share = cost.pairs / decided if decided else None
            figures.append(Figure(row=kind, column="share of pairs", value=share, n=decided))
        if cost.pairs:
            dollars = None if cost.dollars is None else cost.dollars / cost.pairs
            note = "the cost of a call is unknown" if dollars is None else ""
            figures += [
                Figure(
                    row=kind,
                    column="seconds of a pair",
                    value=cost.seconds / cost.pairs,
                    n=cost.pairs,
                ),
                Figure(
                    row=kind, column="dollars of a pair", value=dollars, n=cost.pairs, note=note
                ),
                Figure(row=kind, column="dollars", value=cost.dollars, n=cost.pairs, note=note),
            ]
    return figures


@studies.register("people")
def people(evidence: Evidence) -> Sequence[Figure]:
    """Return the share of preferences and the minutes, each where people gave any."""
    told = have(evidence.people)
    figures = []
    if told.preferences:
        share = told.preferred / told.preferences
        figures.append(Figure(row="preference", column="share", value=share, n=told.preferences))
    for row, minutes, timed in (
        ("expert", told.minutes_without_program, told.timed_without_program),
        ("expert with test program", told.minutes_with_program, told.timed_with_program),
    ):
        if minutes is not None:
            figures.append(Figure(row=row, column="minutes of a pair", value=minutes, n=timed))
    return figures


# Configuration → its row in Table VI: PS screener, TPG writer, TE executor, BF fixer, FA arbiter.
_ABLATION = {
    "single": "Single LLM",
    "arbiter": "PS + FA",
    "writer": "PS + TPG + FA",
    "executor": "PS + TPG + TE + FA",
    "simulated": "PS + TPG + simulated executor + FA",
    "paper": "PS + TPG + TE + BF + FA",
}
_AVERAGE = "average "  # the row of all people begins so
_CRITERIA = {"v1-half": "50 %", "v1-exact": "exact"}


@studies.register("annotators")
def annotators(evidence: Evidence) -> Sequence[Figure]:
    """Return the accuracy of each annotator that the files have, by the papers' names."""
    scored = have(evidence.annotators)
    files = dict.fromkeys(item.file for item in scored)
    figures = [
        figure
        for file in files
        for figure in _of_people([item for item in scored if item.file == file])
    ]
    for item in scored:
        if not item.model:
            continue
        model, differs = paper_data().name_of(item.model.rpartition("/")[2].lower())
        note = f"{item.model}: {differs}" if differs else item.model
        if item.configuration in _CRITERIA:
            criterion = _CRITERIA[item.configuration]
            figures.append(_figure(item, model, f"accuracy, {criterion}", note))
            if item.alpha_with_people is not None:
                column = f"alpha with humans, {criterion}"
                figures.append(_figure(item, model, column, note, item.alpha_with_people))
            continue
        rows = [_ABLATION.get(item.configuration, item.configuration)]
        rows += ["agents"] if item.configuration == "paper" else []
        rows += [model] if item.configuration == "single" else []
        figures += [_figure(item, row, "accuracy", note) for row in rows]
    return figures


def _of_people(of_file: Sequence[Annotator]) -> Iterator[Figure]:
    """Yield the figures of the people of one file, by the criterion of its agents."""
    people = [
        item for item in of_file if not item.model and not item.configuration.startswith(_AVERAGE)
    ]
    accuracies = [item.accuracy for item in people if item.accuracy is not None]
    if not accuracies:
        return
    found = sorted(
        {_CRITERIA[item.configuration] for item in of_file if item.configuration in _CRITERIA}
    )
    criterion = " or ".join(found)
    names = ", ".join(item.configuration for item in people)
    note = f"{Path(people[0].file).name}: {names}" if people[0].file else names
    pairs, mean = max(item.pairs for item in people), fmean(accuracies)
    if not criterion:
        row = "human without test program"
        yield Figure(row=row, column="accuracy", value=mean, n=pairs, note=note)
        return
    row = "average human"
    yield Figure(row=row, column=f"accuracy, {criterion}", value=mean, n=pairs, note=note)
    for item in of_file:
        if item.configuration.startswith(_AVERAGE) and item.alpha_with_people is not None:
            column = f"alpha with humans, {criterion}"
            yield _figure(item, "humans alone", column, note, item.alpha_with_people)


def _figure(
    item: Annotator, row: str, column: str, note: str, value: float | None = None
) -> Figure:
    shown = item.accuracy if value is None else value
    return Figure(row=row, column=column, value=shown, n=item.pairs, note=note)
