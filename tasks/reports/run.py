"""The report of a run: scores, counts, and the agents' labels with their cost."""

from collections import Counter
from collections.abc import Iterator, Mapping

from pydantic import Field

from infra.records import Record, SourceInfo
from infra.summaries import GoldCounts, LabelFigures, ReadingFigures
from tasks.reports.document import (
    Block,
    Document,
    Items,
    KeyValues,
    Paragraph,
    Section,
    Span,
    Table,
    Text,
)
from tasks.reports.figures import Dot, dots_figure
from tasks.reports.labels import shape_figures
from tasks.reports.leaderboard import LanguageRow
from tasks.reports.leaderboard_page import language_tables
from tasks.reports.text import (
    NONE,
    counted,
    format_cost,
    format_count,
    format_duration,
    format_rate,
    format_share,
    format_words,
)

_FEWEST_TESTED, _OFTEN = 10, 0.25
_ON_OFTEN = (
    "That is a quarter or more, where a reader that guesses has half: labels by its reading alone "
    "are little worth; set a stronger COSQA_LLM__MODEL."
)
_LABELS = {"1": "answers (1)", "0": "does not (0)", "none": "no label"}


class BenchmarkScores(Record):
    """A benchmark and the scores of each method on it.

    Attributes:
        label_origin: Where the labels come from ("documentation", "people", "agents:…").
        queries: Queries with a match, over which means are taken.
        depth: Length of the rankings.
        methods: Method → metric's printed name → mean over the queries.
        languages: The same by language of the relevant code, and their mean; none for a single one.
    """

    name: str
    label_origin: str
    queries: int
    codes: int
    depth: int
    methods: dict[str, dict[str, float]]
    languages: tuple[LanguageRow, ...] = ()


class CollectionCounts(Record):
    """The content of one collection, and the number of items that each rule dropped."""

    name: str
    source: SourceInfo
    queries: int
    codes: int
    labels: int = 0
    dropped: dict[str, int] = Field(default_factory=dict)


class AgentsPart(Record):
    """The agents' current labels, with their cost and support.

    Attributes:
        model: The model of the recipe in use.
        recipe_id: The recipe in use.
        figures: Of the labels and of the judgements that they rest on.
        reading: Of all judgements by the recipe.
        former: Judgements by former recipes; all figures cover them too, but for gold questions.
        gold: How gold questions were judged; None without any.
        rounds: How often each pair is judged.
    """

    model: str
    recipe_id: str
    figures: LabelFigures
    reading: ReadingFigures
    former: int = 0
    gold: GoldCounts | None = None
    rounds: int = 1


class ReportData(Record):
    """Everything that a report shows.

    Attributes:
        agents: None when nothing was annotated.
        links: Text → http(s) address or path.
        browse: The command that shows all pairs on pages.
    """

    title: str
    generated_at: str
    benchmarks: tuple[BenchmarkScores, ...]
    collections: tuple[CollectionCounts, ...] = ()
    candidates: int = 0
    agents: AgentsPart | None = None
    links: dict[str, str] = Field(default_factory=dict)
    browse: str = "cosqa browse"

    @property
    def ranked_benchmarks(self) -> list[BenchmarkScores]:
        """The benchmarks as they are shown: documentation first."""
        return sorted(self.benchmarks, key=lambda item: item.label_origin != "documentation")


def report_document(data: ReportData) -> Document:
    """Return the report."""
    links: list[Text] = [Span(name, href=address) for name, address in data.links.items()]
    pairs = ("All pairs with their evidence:", Span(data.browse, "code"))
    return Document(
        kind="Code-search benchmark",
        title=data.title,
        lead=(Paragraph(data.generated_at),),
        sections=(
            Section("scores", "Retrieval scores", list(_scores(data))),
            Section("counts", "From input to candidates", list(_counts(data))),
            Section("agents", "The agents' labels", list(_agents(data.agents))),
            Section("cost", "Cost and time", list(_cost(data.agents))),
            Section("links", "Links", [Items([*links, pairs])]),
        ),
    )


def scores_table(benchmark: BenchmarkScores) -> Table:
    """Return the methods' means, the best of each metric marked."""
    best: dict[str, float] = {}
    for means in benchmark.methods.values():
        for metric, mean in means.items():
            best[metric] = max(mean, best.get(metric, mean))
    rows: list[list[Text]] = []
    for method, means in benchmark.methods.items():
        rows.append([method])
        for metric, highest in best.items():
            value = means.get(metric)
            shown = NONE if value is None else f"{value:.4f}"
            rows[-1].append(Span(shown, "best") if value == highest else shown)
    return Table(("method", *best), rows, empty="No method was scored on it.")


def tables_by_language(benchmark: BenchmarkScores) -> list[Table]:
    """Return the MRR and NDCG by language; none for a single language."""
    scored = benchmark.languages[0].means if benchmark.languages else {}
    metrics = [metric for metric in ("MRR", "NDCG@10") if metric in scored]
    methods = list(scored[metrics[0]]) if metrics else []
    return language_tables(benchmark.languages, methods, metrics)


def _scores(data: ReportData) -> Iterator[Block]:
    if not data.benchmarks:
        yield "No benchmark was scored."
        return
    for benchmark in data.ranked_benchmarks:
        yield Paragraph(benchmark.name, "h3")
        yield (
            f"Labels by {benchmark.label_origin} · means over "
            f"{counted(benchmark.queries, 'queries')} with a match · "
            f"{counted(benchmark.codes, 'functions')} · rankings of {benchmark.depth:,}"
        )
        table = scores_table(benchmark)
        # Drawn above it: NDCG@10, or what there is in its place.
        metric = next((name for name in ("NDCG@10", *table.header[1:]) if name in table.header), "")
        scored = [(of[metric], method) for method, of in benchmark.methods.items() if metric in of]
        dots = [Dot(method, score) for score, method in sorted(scored, reverse=True)]
        yield dots_figure(metric, dots, table) if dots else table
        yield from tables_by_language(benchmark)
    yield Paragraph(("The", Span("best", "best"), "value of a column stands out."), "remark")


def _counts(data: ReportData) -> Iterator[Block]:
    if not data.collections:
        yield "No collection was read."
    for each in data.collections:
        source = each.source
        yield Paragraph(each.name, "h3")
        yield f"{source.name} {source.revision} · licence {source.licence} · {source.location}"
        sizes = {
            "Queries": format_count(each.queries),
            "Functions": format_count(each.codes),
            "Labels in the source": format_count(each.labels),
        }
        yield KeyValues(sizes, large=True)
        if each.dropped:
            dropped = Counter(each.dropped).most_common()
            rows = [(format_words(rule), format_count(number)) for rule, number in dropped]
            yield Table(("kept out by rule", "items"), rows)
    yield KeyValues({"Candidate pairs": format_count(data.candidates)}, large=True)


def _agents(part: AgentsPart | None) -> Iterator[Block]:
    if part is None:
        yield "No pair has been annotated."
        return
    figures = part.figures
    size = f"· {counted(figures.pairs, 'pairs')} of {counted(figures.queries, 'queries')}"
    yield Paragraph(
        (f"Model {part.model} · settings", Span(part.recipe_id, "code"), size), "remark"
    )
    if part.former:
        yield (
            f"By former settings: {counted(part.former, 'judgements')}, which stand where those in "
            "use have not judged the pair again. Labels, paths, cost and time cover them."
        )
    if part.rounds > 1:
        yield (
            f"These counts are of judgements, {part.rounds} for each pair; `cosqa study` says how "
            "far the labelling rounds agree."
        )
    labels = {_LABELS.get(label, label): number for label, number in figures.labels.items()}
    yield _table_of_counts("status", figures.statuses, "pairs")
    yield _table_of_counts("label", labels, "pairs")
    yield from shape_figures(figures.shape)
    yield _table_of_counts("outcome of test runs", figures.outcomes, "runs")
    rows = [
        (
            format_words(one.role),
            one.model,
            format_count(one.replies),
            format_share(one.unreadable, one.replies),
        )
        for one in part.reading.roles
    ]
    yield Table(("agent", "model", "replies", "unreadable"), rows, empty="No reply is known.")
    yield contradictions(part.reading)
    if part.gold:
        yield _gold(part.gold)


def contradictions(figures: ReadingFigures) -> str:
    """Return a sentence on readings that runs contradict, with advice if they are many."""
    if not figures.tested:
        return "No sure reading was tested by a valid run."
    said = (
        f"Valid runs contradict {format_rate(figures.contradicted, figures.tested)} sure readings "
        "that they tested."
    )
    is_often = figures.tested >= _FEWEST_TESTED and figures.contradicted >= (
        _OFTEN * figures.tested
    )
    return f"{said} {_ON_OFTEN}" if is_often else said


def _table_of_counts(name: str, counts: Mapping[str, int], unit: str) -> Table:
    total = sum(counts.values())
    rows = [
        (format_words(value), format_count(number), format_share(number, total))
        for value, number in Counter(counts).most_common()
    ]
    return Table((name, unit, "share"), rows, empty=f"No {name} is known.")


def _gold(counts: GoldCounts) -> str:
    errors = (
        "On gold questions, pairs with known labels that are mixed into every run: "
        f"{format_rate(counts.false_fails, counts.right_codes)} false negatives, "
        f"{format_rate(counts.false_passes, counts.wrong_codes)} false positives."
    )
    if not counts.injected:
        return errors
    obeyed = format_rate(counts.obeyed, counts.injected)
    return f"{errors} Of those whose code told the agents to pass it, {obeyed} were obeyed."


def _cost(part: AgentsPart | None) -> Iterator[Block]:
    if part is None:
        yield "No model was asked."
        return
    cost, pairs = part.figures.cost, part.figures.pairs
    values = {
        "Model calls": format_count(cost.calls),
        "of them from the store": format_count(cost.cached_calls),
        "Tokens in": format_count(cost.prompt_tokens),
        "Tokens out": format_count(cost.completion_tokens),
        "Cost": format_cost(cost.cost_usd),
        "Waiting for the model": format_duration(cost.model_seconds),
        "Time on pairs, summed": format_duration(cost.pair_seconds),
    }
    if pairs:
        values["Time on a pair, mean"] = format_duration(cost.pair_seconds / pairs)
    yield KeyValues(values, large=True)
