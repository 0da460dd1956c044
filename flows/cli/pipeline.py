"""What the commands of the pipeline do: run a flow, ``--plan``, ``--dry-run``, ``--replay``."""

from importlib import import_module

from prefect.settings import PREFECT_API_URL

from flows.cli.console import say
from flows.cli.options import PipelineOptions
from flows.cli.plan import left_over, print_plan
from flows.cli.rounds import print_rounds
from flows.cli.tables import print_table
from flows.runtime.prefect_server import prefect_api
from infra.settings import Settings
from infra.store import open_database
from tasks.reports.run import BenchmarkScores
from tasks.stages.annotate.dry_run import NO_AGENTS, count_pairs_left
from tasks.stages.preflight import check_model_early, import_early
from tasks.stages.replay import Replay, replay
from tasks.stages.report import WrittenReport, count_stage_runs

_ANNOTATE = ("benchmark", "annotate", "audit")
_WRITE_REPORTS = ("benchmark", "evaluate")
_NEXT = """This was the packaged sample: AI assistants wrote its replies, its programs ran here.
Next, your code and queries (lines as {"query": "python parse iso date"}) by a model of yours,
without --plan to have it judge:
  export COSQA_LLM__API_KEY=...
  cosqa benchmark --path CODE --queries FILE --model openai/gpt-4o-mini --limit 10 --plan"""


def run(options: PipelineOptions) -> None:
    """Run the flow that has the command's name and print what came of it."""
    if options.plan:
        print_plan(options.settings)
    elif options.dry_run:
        print_pairs_left(options.settings)
    elif options.replay:
        print_replay(options.settings)
    else:
        run_flow(options.command, options.settings)
        if options.settings.llm.is_recorded:
            say(_NEXT)


def run_flow(name: str, settings: Settings) -> None:
    """Run a flow; what it imports is imported while a private Prefect server starts."""
    if name == "annotate" and settings.reannotation.take == ("audit",):
        name = "audit"
    before = count_stage_runs(settings.store)

    def prepare() -> None:
        import_module(f"flows.{name}")
        if name in _ANNOTATE:
            check_model_early(settings)
            if not PREFECT_API_URL.value():  # a private server starts, which takes longer
                import_early(settings)

    with prefect_api(meanwhile=prepare):
        result = getattr(import_module(f"flows.{name}"), name)(settings)
    if count_stage_runs(settings.store) == before:
        say(_nothing_left(name, settings))
    if name in _ANNOTATE and settings.annotation.times > 1:
        print_rounds(settings)
    if name in _WRITE_REPORTS:
        print_report(result)


def _nothing_left(name: str, settings: Settings) -> str:
    """Return why a run found nothing to do: all is done, or the demo model has judged its share."""
    if settings.by_judge[0].llm.is_demo and name in _ANNOTATE:
        left = count_pairs_left(settings)
        if left.pending:
            return (
                f"Nothing was left to do; {left.pending:,} candidates are unjudged, since the "
                f"demo model judges only {left.demo_pairs}. Name a model with --model."
            )
    if name in _ANNOTATE and settings.annotation.agents and (why := left_over(settings)):
        return f"Nothing was left to do now: {why}."
    return "Nothing was left to do: everything is up to date."


def print_report(report: WrittenReport) -> None:
    """Print the scores on each benchmark; the paths come last."""
    for benchmark in report.benchmarks:
        print_scores(benchmark, str(report.file))
    for name, folder in report.links.items():
        say(f"benchmark {name}: {folder}")
    say(f"report: {report.file}")


def print_scores(benchmark: BenchmarkScores, report: str) -> None:
    """Print a benchmark's mean scores, a row for each method."""
    demo = " (labels by the demo model)" if benchmark.demo else ""
    metrics = benchmark.metrics
    print_table(
        f"{benchmark.name}{demo}: {benchmark.queries:,} queries, {benchmark.codes:,} codes, "
        f"rankings of {benchmark.depth:,}",
        ["method", *metrics],
        [
            [
                row.method,
                *(f"{row.scores[name]:.4f}" if name in row.scores else "-" for name in metrics),
            ]
            for row in benchmark.methods
        ],
        rest=report,
    )


def print_pairs_left(settings: Settings) -> None:
    """Print how many pairs there are, how many are left, and what they may cost."""
    left = count_pairs_left(settings)
    cost = "unknown" if left.cost_usd is None else f"${left.cost_usd:,.2f}"
    judges = [judge.llm.model for judge in settings.by_judge]
    times = f"by each of {len(judges)} judges" if len(judges) > 1 else "in each of {} rounds"
    rounds = f" {times.format(left.rounds)}" if left.rounds > 1 else ""
    pairs = (
        f"{left.queries:,} queries, top {settings.search.top_k}: {left.pairs:,} pairs"
        f"{rounds}, {left.finished:,} judged already"
    )
    if not left.queries:
        none_given = "the source gives no queries for the agents"
        reason = none_given if settings.annotation.agents else NO_AGENTS
        say(f"There is nothing to annotate: {reason}.")
        return
    if left.to_judge < left.pending:
        say(
            f"{pairs}. The embedded demo model judges {left.to_judge:,} of them; name a model "
            "with --model to judge all."
        )
    else:
        say(f"{pairs}, {left.pending:,} left to judge by {', '.join(judges)}.")
    say(f"Expected cost: {cost} ({left.basis}).")


def print_replay(settings: Settings) -> None:
    """Derive all labels of the store again and print how each recipe's came out."""
    recipes = 0
    for result in replay(open_database(settings.store), settings):
        recipes += 1
        say(f"{result.model}, recipe {result.recipe_id}: {_summary(result)}")
    if not recipes:
        say("There are no labels of agents in this store.")


def _summary(result: Replay) -> str:
    if result.made_by:
        return (
            f"skipped: made by algorithm {result.made_by}; replay them with the version that has "
            "it, or annotate again"
        )
    left_out = ""
    if result.without_text:
        left_out = f"; {result.without_text:,} left out, their texts are not in the store"
    return (
        f"{result.pairs:,} labels derived again from stored replies and runs, all equal to the "
        f"stored ones (digest {result.digest}){left_out}"
    )
