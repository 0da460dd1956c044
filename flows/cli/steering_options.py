"""The options of the commands that watch and steer runs: status, pause, resume, limit, approve."""

from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import Store
from infra.errors import SettingsError
from infra.settings import Settings, load_settings
from infra.settings.operation import MOST_IN_FLIGHT, MOST_REQUESTS_PER_MINUTE

if TYPE_CHECKING:
    from infra.store.controls import Control

_LIMITS, _ANSWER = "Limits", "Answer"

Run = Annotated[
    str | None,
    typer.Argument(
        metavar="[RUN]",
        help="Name or id of the run, or how they begin; not needed where one run waits.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class StatusOptions:
    """What `cosqa status` is to show."""

    settings: Settings
    once: bool


@dataclass(frozen=True)
class ControlOptions:
    """Which controls to change: control → value, None leaving it to the settings again."""

    settings: Settings
    changes: "dict[Control, float | bool | None]"


@dataclass(frozen=True)
class ResumeOptions:
    """Which deployments to resume; none resumes annotation itself."""

    controls: ControlOptions
    deployments: tuple[str, ...] = ()


@dataclass(frozen=True)
class AnswerOptions:
    """The answer to a run that waits: field of the form → value, and the reasons to take.

    Reasons of None are all of the plan; none at all decline it.
    """

    run: str
    answer: dict[str, object] = field(default_factory=dict)
    reasons: tuple[str, ...] | None = None


def _of_store(store: object) -> Settings:
    return load_settings({"store": {"folder": store}})


def status(
    *,
    store: Store = None,
    once: Annotated[
        bool, typer.Option("--once", help="Print once and end, as into a file or a pipe.")
    ] = False,
) -> StatusOptions:
    """Return what `cosqa status` is to show."""
    return StatusOptions(_of_store(store), once)


def pause(*, store: Store = None) -> ControlOptions:
    """Return that no pairs are to be handed out."""
    return ControlOptions(_of_store(store), {"paused": True})


def resume(
    *,
    deployment: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Resume a deployment that is paused on the Prefect server, as for a spent "
            "budget, and not annotation itself. Repeat it for several.",
            show_default=False,
        ),
    ] = None,
    store: Store = None,
) -> ResumeOptions:
    """Return that pairs are to be handed out again, or which deployments are to be resumed."""
    names = tuple(dict.fromkeys(deployment or ()))
    return ResumeOptions(ControlOptions(_of_store(store), {"paused": False}), names)


def limit(
    *,
    in_flight: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_IN_FLIGHT, metavar="N", help="Pairs that annotation judges at once.",
            rich_help_panel=_LIMITS, show_default=False,
        ),
    ] = None,
    requests_per_minute: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_REQUESTS_PER_MINUTE, metavar="N",
            help="Requests a minute to the model, over all workers.",
            rich_help_panel=_LIMITS, show_default=False,
        ),
    ] = None,
    budget_usd: Annotated[
        float | None,
        typer.Option(
            min=0.0, metavar="X",
            help="US dollars that all runs together may spend on the model, in place of "
            "COSQA_LLM__BUDGET_USD. A run's own budget holds besides.",
            rich_help_panel=_LIMITS, show_default=False,
        ),
    ] = None,
    clear: Annotated[
        bool,
        typer.Option(
            "--clear",
            help="Drop all limits set by hand but those given here: the settings hold again.",
            rich_help_panel=_LIMITS,
        ),
    ] = False,
    store: Store = None,
) -> ControlOptions:  # fmt: skip
    """Return which limits are to change.

    Raises:
        SettingsError: The budget has no end.
    """
    _refuse_endless(budget_usd)
    given: dict[Control, float | bool | None] = {
        "in_flight": in_flight,
        "requests_per_minute": requests_per_minute,
        "budget_usd": budget_usd,
    }
    changes = {name: value for name, value in given.items() if clear or value is not None}
    return ControlOptions(_of_store(store), changes)


def approve(
    run: Run = None,
    *,
    budget_usd: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="The most US dollars that the run may cost, above 0.",
            rich_help_panel=_ANSWER, show_default="as planned",
        ),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="The most pairs that the run may judge.",
            rich_help_panel=_ANSWER, show_default="as planned",
        ),
    ] = None,
    reason: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Reason of the plan to take, such as stale. Repeat it for several.",
            rich_help_panel=_ANSWER, show_default="all reasons of the plan",
        ),
    ] = None,
) -> AnswerOptions:  # fmt: skip
    """Return the approval of a run that waits.

    Raises:
        SettingsError: The budget has no end, or is none.
    """
    _refuse_endless(budget_usd)
    if budget_usd is not None and budget_usd <= 0:
        raise SettingsError(
            f"--budget-usd {budget_usd:g} lets the run judge nothing: give more than 0, or run "
            "`cosqa decline`"
        )
    given: dict[str, object] = {"budget_usd": budget_usd, "pairs": pairs}
    answer = {name: value for name, value in given.items() if value is not None}
    return AnswerOptions(run or "", answer, tuple(reason) if reason else None)


def _refuse_endless(budget_usd: float | None) -> None:
    """Refuse a budget that would be none."""
    if budget_usd is not None and not isfinite(budget_usd):
        raise SettingsError(
            f"--budget-usd {budget_usd:g} is no budget: give a number of US dollars"
        )


def decline(run: Run = None) -> AnswerOptions:
    """Return the refusal of a run that waits."""
    return AnswerOptions(run or "", reasons=())


@dataclass(frozen=True)
class PairOptions:
    """Which pair to show."""

    settings: Settings
    query: str
    code: str


def pair(
    query: Annotated[str, typer.Argument(help="How the query's id begins, or a part of its text.")],
    code: Annotated[str, typer.Argument(help="How the code's id begins, or a part of its text.")],
    *,
    store: Store = None,
) -> PairOptions:
    """Return which pair to show.

    Raises:
        SettingsError: One is empty.
    """
    if not (query and code):
        raise SettingsError("a pair is named by the ids of its query and of its code")
    return PairOptions(_of_store(store), query, code)
