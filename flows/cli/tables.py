"""What a person sees of leaderboards and differences on the terminal."""

from rich import box
from rich.markup import escape
from rich.table import Table

from flows.cli.console import console
from tasks.reports.diff import Flip, rests_on
from tasks.reports.leaderboard import Leaderboard
from tasks.stages.diff import WrittenDifference

_FLIPS = 5


def print_leaderboard(board: Leaderboard, said: str) -> None:
    """Print the table: means, and the letters of the methods that each surpasses."""
    demo = ", labels by the demo model" if board.demo else ""
    title = f"{board.benchmark}{demo}{said}: {board.scored:,} queries, {board.codes:,} codes"
    table = Table(
        title=escape(title),
        title_justify="left",
        caption="letters: surpassed, p < 0.05 after Holm; the page has the intervals",
        caption_justify="left",
        box=box.SIMPLE,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("")
    table.add_column("method", overflow="fold")
    for name in (*board.metrics, "judged@10"):
        table.add_column(name.replace("@", " @"), justify="right", overflow="fold")
    for row in board.standings:
        cells = [row.cells[name] for name in board.metrics]
        words = [f"{cell.mean:.3f} {cell.surpasses}".strip() for cell in cells]
        table.add_row(row.letter, escape(row.method), *words, f"{row.judged:.3f}")
    console.print(table)


def print_difference(written: WrittenDifference) -> None:
    """Print how much changed and how the methods fare; the page holds the rest."""
    change = written.change
    for what, added, removed in (
        ("queries", change.queries_added, change.queries_removed),
        ("codes", change.codes_added, change.codes_removed),
        ("labelled pairs", change.pairs_added, change.pairs_removed),
    ):
        console.print(f"{what}: {len(added):,} added, {len(removed):,} removed")
    turned, (first, then) = len(change.flips), change.relevant
    undecided = len(change.now_undecided)
    console.print(
        f"labels: {turned:,} turned, {change.kept:,} kept, {undecided:,} now undecided; "
        f"{first:,} relevant before, {then:,} after"
    )
    for flip in change.flips[:_FLIPS]:
        _print_flip(flip)
    if turned > _FLIPS:
        console.print(f"  ... {turned - _FLIPS:,} more turned")
    parts = [_changed(part, old, new) for part, (old, new) in change.recipe.items()]
    console.print(f"recipe: {', '.join(parts) or 'the same'}", markup=False)
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("method", overflow="fold")
    for name in ("metric", "before", "after", "shared queries", "on these", "p"):
        table.add_column(name, justify="left" if name == "metric" else "right")
    for each in written.effect.methods:
        figures = (
            f"{each.before:.3f}", f"{each.after:.3f}", f"{each.queries:,}", f"{each.shared:+.3f}"
        )  # fmt: skip
        table.add_row(escape(each.method), each.metric, *figures, f"{each.p_value:.3f}")
    console.print(table)
    console.print(f"difference: {written.folder / 'difference.md'}")


def _changed(part: str, old: object, new: object) -> str:
    known = isinstance(old, str | int | float) and isinstance(new, str | int | float)
    return f"{part} ({old} → {new})" if known else part


def _print_flip(flip: Flip) -> None:
    header = next((line for line in flip.code.splitlines() if "def " in line), flip.code_id)
    console.print(f"  {flip.before:g} → {flip.after:g}  {flip.query}", markup=False)
    for name, said in (
        ("code", header.strip()),
        ("before", rests_on(flip.evidence_before)),
        ("after", rests_on(flip.evidence_after)),
    ):
        console.print(f"         {name}: {said}", markup=False)
