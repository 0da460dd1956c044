"""What a person sees of leaderboards and differences on the terminal."""

from rich import box
from rich.markup import escape
from rich.table import Table

from flows.console import console
from tasks.compare_versions import WrittenDifference
from tasks.leaderboard import Leaderboard


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
    turned = len(change.flips)
    console.print(f"labels: {turned:,} turned, {change.kept:,} kept")
    console.print(f"recipe: {', '.join(change.recipe) or 'the same'}")
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("method", overflow="fold")
    for name in ("metric", "before", "after", "shared queries", "p"):
        table.add_column(name, justify="left" if name == "metric" else "right")
    for each in written.effect.methods:
        figures = (f"{each.before:.3f}", f"{each.after:.3f}", f"{each.shared:+.3f}")
        table.add_row(escape(each.method), each.metric, *figures, f"{each.p_value:.3f}")
    console.print(table)
    console.print(f"difference: {written.folder / 'difference.md'}")
