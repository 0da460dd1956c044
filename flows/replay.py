"""``--replay``: the labels derived again, printed."""

from flows.console import console
from infra.settings import Settings
from infra.store import open_database
from tasks.replay import replay


def print_replay(settings: Settings) -> None:
    """Derive all labels of the store again and print what names them."""
    recipes = 0
    for found in replay(open_database(settings.store), settings):
        recipes += 1
        if found.made_by:
            console.print(
                f"{found.model}, recipe {found.recipe_id}: left alone, since {found.made_by} made "
                "its labels: replay them with the version that has it, or annotate again"
            )
            continue
        console.print(
            f"{found.model}, recipe {found.recipe_id}: {found.pairs:,} labels derived again from "
            f"stored replies and runs, all as they are stored (digest {found.digest})"
        )
    if not recipes:
        console.print("There are no labels of agents in this store.")
