"""What ``cosqa annotators audits`` prints: the stability of labels over time."""

from flows.cli.console import say
from flows.cli.tables import print_table
from infra.settings import Settings
from infra.store import open_database
from infra.store.audits import StoredAudit, load_audits

_NOTE = (
    "alpha: Krippendorff's for nominal data, between the labels that stood and those of the audit; "
    "95% interval by simulation. An alarm is raised below COSQA_REANNOTATION__AUDIT_MIN_ALPHA, and "
    "where the audit before lies above the interval."
)


def print_audits(settings: Settings) -> None:
    """Print all audits of the store, oldest first."""
    stored = load_audits(open_database(settings.store))
    if not stored:
        say(
            "There are no audits in this store: `cosqa annotate --reason audit --pairs 50` judges "
            "50 labelled pairs again."
        )
        return
    print_table(
        "stability audits",
        ("audited", "pairs", "alpha", "95% interval", "recipe", "collection"),
        [_row(item) for item in stored],
        rest="a wider terminal",
        note=_NOTE,
    )


def _row(item: StoredAudit) -> tuple[str, ...]:
    at = f"{item.audited_at:%Y-%m-%d %H:%M}" if item.audited_at else ""
    figures = ("undefined", "all labels are equal")
    if item.alpha is not None:
        figures = (f"{item.alpha:.3f}", f"{item.low:.3f} to {item.high:.3f}")
    return (at, f"{item.pairs:,}", *figures, item.recipe_id, item.collection)
