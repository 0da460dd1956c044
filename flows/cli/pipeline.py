"""What the commands of the pipeline do: run a flow, ``--plan``, ``--replay``."""

import os
from importlib import import_module
from pathlib import Path

from flows.cli.console import say
from flows.cli.options import PipelineOptions
from flows.cli.plan import left_over, print_plan
from flows.cli.rounds import print_rounds
from flows.cli.tables import print_block
from flows.runtime.prefect_server import prefect_api
from infra.settings import Settings
from infra.settings.reference import lasting_settings
from infra.store import open_database
from tasks.reports.run import BenchmarkScores, scores_table
from tasks.stages.collect import look_at
from tasks.stages.preflight import check_agents, check_ready, check_scoring, needs_server
from tasks.stages.replay import Replay, replay
from tasks.stages.report import WrittenReport, count_stage_runs, write_page
from tasks.stages.up_to_date import found_done

_ANNOTATE = ("benchmark", "annotate", "audit")
_COLLECT = ("benchmark", "collect")
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
    elif options.replay:
        print_replay(options.settings)
    else:
        run_flow(options.command, options.settings)
        _remember(options)
        if options.settings.llm.is_recorded:
            say(_NEXT)


def _remember(options: PipelineOptions) -> None:
    """Write the options of the first command that names its input into the settings file."""
    file, asked = Path("cosqa.toml"), options.lasting.get("source", {}).values()
    is_named = options.preset or any(value is not None for value in asked)
    if is_named and not file.exists() and "COSQA_CONFIG" not in os.environ:
        file.write_text(lasting_settings(options.lasting, options.preset), encoding="utf-8")
        say(f"{file} keeps these options: later commands in this folder need not be given them.")


def run_flow(name: str, settings: Settings) -> None:
    """Run a flow, if it has anything to do; what it imports is imported while a server starts."""
    if name == "annotate" and settings.reannotation.take == ("audit",):
        name = "audit"
    if not needs_server(settings) and _is_done(name, settings):
        return
    before = count_stage_runs(settings.store)
    with prefect_api(meanwhile=lambda: import_module(f"flows.{name}")):
        result = getattr(import_module(f"flows.{name}"), name)(settings)
    if count_stage_runs(settings.store) == before:
        say(_nothing_left(name, settings))
    if name in _ANNOTATE and settings.annotation.times > 1:
        print_rounds(settings)
    if name in _WRITE_REPORTS:
        print_report(result)


def _is_done(name: str, settings: Settings) -> bool:
    """Say that nothing is left to do, if so; else check input, model and engine."""
    ready = check_ready(settings)
    if name != "audit" and (done := found_done(name, ready)):
        say(_nothing_left(name, settings))
        if name in _WRITE_REPORTS:
            print_places(write_page(ready.database, *done, ready.settings)[0])
        return True
    if name in _COLLECT:
        look_at(ready.database, ready.settings.source, ready.fingerprint)
    if name in _ANNOTATE and (name != "benchmark" or settings.annotation.agents):
        check_agents(ready.settings)
    if name in _WRITE_REPORTS:
        check_scoring(ready.settings)
    return False


def _nothing_left(name: str, settings: Settings) -> str:
    """Return why a run found nothing to do: all is done, or what is left is not to be taken."""
    if name in _ANNOTATE and settings.annotation.agents and (why := left_over(settings)):
        return f"Nothing was left to do now: {why}."
    return "Nothing was left to do: everything is up to date."


def print_report(report: WrittenReport) -> None:
    """Print the scores on each benchmark; the paths come last."""
    for benchmark in report.benchmarks:
        print_scores(benchmark, str(report.file))
    print_places(report)


def print_places(report: WrittenReport) -> None:
    """Print where the benchmarks and the report are."""
    for name, folder in report.links.items():
        say(f"benchmark {name}: {folder}")
    say(f"report: {report.file}")


def print_scores(benchmark: BenchmarkScores, report: str) -> None:
    """Print a benchmark's mean scores, a row for each method."""
    about = (
        f"{benchmark.name}: {benchmark.queries:,} queries, {benchmark.codes:,} codes, "
        f"rankings of {benchmark.depth:,}"
    )
    print_block(scores_table(benchmark), title=about, rest=report)


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
