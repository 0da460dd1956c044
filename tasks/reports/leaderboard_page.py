"""The page of a leaderboard: scores with intervals, languages, and speed and price beside them."""

from collections.abc import Callable, Iterator, Sequence

from tasks.reports.circularity import circularity_section
from tasks.reports.corrected import CorrectedScores, corrected_section
from tasks.reports.document import (
    Block,
    Details,
    Document,
    Figure,
    Paragraph,
    Section,
    Span,
    Table,
    Text,
)
from tasks.reports.figures import Dot, Points, dots_figure
from tasks.reports.labels import matches_figure
from tasks.reports.leaderboard import LanguageRow, Leaderboard, Speed
from tasks.reports.text import counted
from tasks.statistics.intervals import Interval

_ABOUT = (
    "Each mean has its 95% bootstrap interval over these queries, by the rule of three where all "
    "score alike. Letters after it name the methods that score significantly lower: paired "
    "randomisation test, p < 0.05 after Holm's correction for all pairs of the column. Unjudged "
    "results count as no match. "
    "judged@10: share of a method's first 10 results that were judged."
)
_ABOUT_MUTANTS = (
    " above mutants: share of right codes that are ranked above all their mutants, where the "
    "benchmark has any."
)
_ABOUT_SPEED = {  # column → what it holds
    "texts a second": "codes of this benchmark, as all workers encoded them when their vectors "
    "were made, without loading the encoder",
    "MB": "the codes' vectors as a search reads them, 4 bytes a number",
    "US$ for 1,000 texts": "of this benchmark's codes by the price list, of encoders behind an API",
    "queries a second": "ranking alone, when the method was first scored; vectors were stored "
    "before",
}
_ABOUT_LANGUAGES = (
    "Means over the queries whose relevant code is in the language; codes of all languages are "
    "searched. In the mean of the languages each counts alike."
)
_COLUMNS: dict[str, Callable[[Speed], str]] = {
    "texts a second": lambda speed: _number(speed.texts),
    "MB": lambda speed: _number(speed.megabytes),
    "US$ for 1,000 texts": lambda speed: _number(speed.usd),
    "queries a second": lambda speed: _number(speed.queries),
}


def leaderboard_document(
    board: Leaderboard,
    unjudged: int = 0,
    after: Leaderboard | None = None,
    corrected: CorrectedScores | None = None,
) -> Document:
    """Return the leaderboard as a document.

    ``unjudged`` counts results among methods' first 10; ``after`` has the scores with them judged.
    """
    about = (
        f"{counted(board.queries, 'queries')}, {board.scored:,} of them with a match · "
        f"{counted(board.codes, 'codes')} · {counted(board.labels, 'labels')} by "
        f"{board.label_origin} · rankings of {board.depth:,} · benchmark"
    )
    methods = [row.method for row in board.rows]
    languages = language_tables(board.languages, methods, board.metrics[:2])
    dropped = "; ".join(f"{reason} ({items:,})" for reason, items in board.dropped.items())
    count = counted(unjudged, "pairs")
    pool: list[Block] = [f"Among the first 10 results of a method and never judged: {count}."]
    if after:
        pool += [Paragraph("Scores after they were judged", "h3"), score_table(after)]
    return Document(
        kind="Leaderboard",
        title=board.benchmark,
        lead=[
            Paragraph((about, Span(board.fingerprint, "code"))),
            *([f"Left out: {dropped}"] if dropped else []),
        ],
        sections=[
            Section("table", "Scores", list(_scores(board))),
            *([_speed_section(board)] if any(row.speed for row in board.rows) else []),
            *([Section("matches", "Matches", [matches_figure(board.matches)])] if board.matches
              else []),
            *([Section("languages", "Languages", [*languages, _ABOUT_LANGUAGES])]
              if board.languages else []),
            *([corrected_section(corrected)] if corrected else []),
            *([circularity_section(board.circularity)] if board.circularity else []),
            Section("unjudged", "Unjudged results", pool),
        ],
    )  # fmt: skip


def _scores(board: Leaderboard) -> Iterator[Block]:
    if not board.scored:
        yield f"There is nothing to score: no query of {board.benchmark} has a match."
    queries = counted(board.queries, "queries")
    title = f"Means over the {board.scored:,} of {queries} that have a match"
    figures = []
    for metric in board.metrics:
        cells = sorted(
            ((row.cells[metric], f"{row.letter}  {row.method}") for row in board.rows),
            key=lambda each: -each[0].mean,
        )
        dots = [Dot(name, cell.mean, cell) for cell, name in cells]
        rows = [(dot.name, str(dot)) for dot in dots]
        table = Table(("method", metric), rows, caption=metric)
        figures.append(dots_figure(metric, dots, table))
    first, *others = figures
    yield Figure(first.image, first.alt, score_table(board, title))
    if unranked := [f"{row.method} {row.unranked:,}" for row in board.rows if row.unranked]:
        yield (
            f"Queries without any result, of {board.scored:,}: {', '.join(unranked)}. Each counts "
            "as 0, as by trec_eval -c."
        )
    yield _ABOUT + (_ABOUT_MUTANTS if any(row.mutants for row in board.rows) else "")
    if others:
        yield Details("The other metrics, drawn", others)


def score_table(board: Leaderboard, caption: str = "") -> Table:
    """Return a row for each method: its means with their intervals, and whom it surpasses."""
    shares = [row.mutants for row in board.rows if row.mutants]
    rows = [
        (
            row.letter,
            row.method,
            *(_cell(cell, cell.surpasses) for cell in row.cells.values()),
            f"{row.judged:.3f}",
            *([_cell(row.mutants)] if row.mutants else []),
        )
        for row in board.rows
    ]
    header = ("", "method", *board.metrics, "judged@10", *(["above mutants"] if shares else []))
    return Table(header, rows, text_columns=2, caption=caption)


def _cell(found: Interval, surpasses: str = "") -> Text:
    interval = Span(f"[{found.low:.3f}, {found.high:.3f}]", "note")
    letters = (Span(surpasses, "soft"),) if surpasses else ()
    return (f"{found.mean:.3f}", interval, *letters)


def _speed_section(board: Leaderboard) -> Section:
    """Return a table of speeds and prices, and scores over speeds: which method to take."""
    figures = [
        _speed_figure(board, "texts encoded a second", lambda speed: speed.texts),
        _speed_figure(board, "queries ranked a second", lambda speed: speed.queries),
    ]
    first, *others = [figure for figure in figures if figure]
    metric, speeds = board.metrics[0], [row.speed or Speed() for row in board.rows]
    columns = {name: [show(speed) for speed in speeds] for name, show in _COLUMNS.items()}
    machines = [", ".join(speed.machines) for speed in speeds]
    if len({*machines} - {""}) > 1:  # else their speeds compare
        columns["encoded by"] = machines
    known = {name: cells for name, cells in columns.items() if any(cells)}
    rows = [
        (row.letter, row.method, _cell(row.cells[metric], row.cells[metric].surpasses), *cells)
        for row, *cells in zip(board.rows, *known.values(), strict=True)
    ]
    header, caption = ("", "method", metric, *known), f"{metric}, speed and price"
    table = Table(header, rows, text_columns=2, caption=caption)
    about = " ".join(f"{name}: {_ABOUT_SPEED[name]}." for name in header if name in _ABOUT_SPEED)
    return Section(
        "speed", "Which to take", [Figure(first.image, first.alt, table), *others, about]
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _speed_figure(
    board: Leaderboard, pace: str, speed_of: Callable[[Speed], float | None]
) -> Figure | None:
    """Return scores over a speed, None where none is known."""
    metric = board.metrics[0]
    measured = [
        (row.letter, (speed, row.cells[metric].mean))
        for row in board.rows
        if row.speed and (speed := speed_of(row.speed))
    ]
    if not measured:
        return None
    marks, places = zip(*measured, strict=True)
    told = f"{metric} of {counted(len(marks), 'methods')} over {pace}"
    return Figure(Points(pace, metric, places, marks), told)


def language_tables(
    rows: Sequence[LanguageRow], methods: Sequence[str], metrics: Sequence[str]
) -> list[Table]:
    """Return a table of each metric with a row for each language; none without rows."""
    tables = []
    for metric in metrics if rows else ():
        cells = []
        for row in rows:
            means = (f"{row.means[metric][method]:.3f}" for method in methods)
            cells.append((row.language, f"{row.queries:,}", *means))
        header = ("language", "queries", *methods)
        tables.append(Table(header, cells, caption=f"{metric} by language"))
    return tables
