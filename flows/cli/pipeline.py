"""The commands of the pipeline: run a flow, or plan it, and print its results."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from flows.cli.checks import COLLECTING, JUDGING
from flows.cli.output import print_document, say
from flows.options import SAMPLE, Overrides, settings_of
from flows.runtime import flow_state
from infra.errors import CosqaError
from infra.settings import StoreSettings
from infra.settings.origins import read_toml
from infra.settings.reference import lasting_settings
from infra.store import open_database
from tasks.reports.plan import plan_document
from tasks.reports.run import ReportData, report_document
from tasks.reports.text import counted
from tasks.runtime.input_checks import ValidatedInputs, check, check_model_name, check_source
from tasks.sources import lacks_written
from tasks.stages.generate.confirm import confirm
from tasks.stages.generate.queries import is_unwritten, writing_plan
from tasks.stages.generate.write import plan_generation, verifying_committee
from tasks.stages.preflight import (
    annotation_plan,
    check_committee,
    check_writer,
    collected_source,
    needs_server,
)
from tasks.stages.report import WrittenReport, report_file
from tasks.stages.up_to_date import found_done

_WRITE_REPORTS = ("benchmark", "evaluate")
NEXT = """This was the packaged sample: AI assistants wrote its replies, its programs ran here.
Next, your code and queries (lines as {"query": "python parse iso date"}) by a model of yours;
the second line says what that would cost, the third has it judge:
  cosqa collect --path CODE --queries FILE --model openai/gpt-4o-mini
  cosqa benchmark --limit 10 --plan
  COSQA_LLM__API_KEY=... cosqa benchmark --limit 10"""


def remember(lasting: Overrides, preset: str | None) -> None:
    """Write the options of the first command that names its input into the settings file.

    What limits one run alone is left out. The sample names none: its file gives way to others.
    """
    file = Path("cosqa.toml")
    lasting.pop("reannotation", None)
    for section, key in (
        ("source", "reread"),
        ("annotation", "limit"),
        ("publish", "accept_gold"),
        ("evaluation", "answers"),
    ):
        lasting.get(section, {}).pop(key, None)
    is_new = not file.exists() or (preset != SAMPLE and read_toml(file) == {"preset": SAMPLE})
    if (preset or lasting["source"]) and is_new and "COSQA_CONFIG" not in os.environ:
        file.write_text(lasting_settings(lasting, preset), encoding="utf-8")
        say(f"{file} keeps these options: later commands in this folder need not be given them.")


def say_what_later_commands_take(command: Callable[..., None], ready: ValidatedInputs) -> None:
    """Say that later commands need the same options, if they take another collection without."""
    settings = ready.given
    try:
        later = settings_of(command, {})
        sources = [
            each.source.model_dump(mode="json", exclude={"reread"}) for each in (later, settings)
        ]
        if (later.search, later.store) == (settings.search, settings.store) and (
            sources[0] == sources[1] or check(later, check_source).fingerprint == ready.fingerprint
        ):
            return
    except (CosqaError, OSError):  # which later commands are answered with
        return
    other = f"the collection {later.source.title}"
    if later.source.title == settings.source.title:
        other = "other input or candidates, or another store"
    say(
        f"Without these options later commands take {other}: give them the same ones, or set them "
        "(`cosqa settings` shows what holds without)."
    )


def run_flow(name: str, ready: ValidatedInputs) -> None:
    """Run the flow of a command, or say that nothing is left to do."""
    settings = ready.given
    if name in JUDGING and settings.annotation.agents:
        check_model_name(settings.llm)
    if not needs_server(settings.llm, settings.encoder):
        if done := found_done(name, ready):
            what, left = settings.source.title, left_over(done.waiting, done.pending)
            why = f"now for {what}: {left}" if left else f"for {what}: everything is up to date"
            say(f"Nothing was left to do {why}.")
            print_exports({each.name: each.folder for each in done.published})
            if name in _WRITE_REPORTS:
                say(f"report: {report_file(settings.publish.folder)}")
            return
        if name in COLLECTING:
            check_writer(ready)
        if name in JUDGING and (name != "benchmark" or settings.annotation.agents):
            check_committee(ready)
    ended = flow_state(name, ready)
    result = ended.result()
    if ended.message:
        say(ended.message)
    if name in _WRITE_REPORTS:
        print_report(result)
    elif name == "publish":
        print_exports({each.name: each.folder for each in result})


def left_over(waiting: int, pending: int) -> str:
    """Return the pairs left by a run that found nothing to do, "" without any."""
    parts = [
        f"waiting for another try: {counted(waiting, 'failed pairs')} (`--reason failed` takes "
        "them now)" * bool(waiting),
        f"pending for reasons that are not taken: {counted(pending, 'pairs')} (`--plan` shows "
        "them)" * bool(pending),
    ]
    return " and ".join(filter(None, parts))


def print_report(report: WrittenReport) -> None:
    """Print the scores on each benchmark; the paths come last."""
    scores = ReportData(title="", generated_at="", benchmarks=report.benchmarks)
    print_document(report_document(scores), parts=("scores",), rest=str(report.file))
    print_exports(report.links)
    say(f"report: {report.file}")


def print_exports(links: Mapping[str, str]) -> None:
    """Print the folder of each benchmark."""
    for name, folder in links.items():
        say(f"benchmark {name}: {folder}")


def print_plan(name: str, ready: ValidatedInputs) -> None:
    """Print the plan of a run by these inputs; nothing is run, and no server is started."""
    source, llm = ready.settings.source, ready.settings.llm
    unwritten = name in COLLECTING and lacks_written(source)
    if unwritten and ready.given.store.database.is_file():  # a plan makes no store
        unwritten = is_unwritten(ready.database, source, ready.fingerprint)
    if unwritten:
        llm.require_model()
        say(writing_plan(source, llm))
        return
    if name == "collect":
        say("Nothing is asked of a model: no queries are to be written (--queries written).")
        return
    if ready.settings.annotation.agents:
        check_model_name(llm)
    plan = annotation_plan(ready)
    if not plan.candidates:
        say(
            f"There is nothing to plan: {plan.collection} has no candidates by these settings: "
            "give the options that they were found with (--encoder, --top-k, --preset), or find "
            "them by `cosqa collect`."
        )
        return
    print_document(plan_document(plan))


def generate(ready: ValidatedInputs) -> None:
    """Run the flow that writes answers, and print what came of it."""
    settings = ready.given
    configuration = settings.generation.configuration
    check_committee(ready, verifying_committee(ready.settings.committee, configuration))
    found = flow_state("generate", ready).result()
    if found.verified or found.refused or found.failed:
        say(
            f"{counted(found.verified, 'answers')} verified, {found.refused:,} refused by the "
            f"agents; {counted(found.failed, 'queries')} not answered for now."
        )
    source, model = collected_source(ready), settings.llm.model
    plan = plan_generation(ready.database, source, model, settings.generation)
    say(
        f"{plan.collection} has {counted(plan.without_match, 'queries')} without a match: "
        f"{plan.confirmed:,} have a confirmed answer, {plan.waiting:,} one that waits for people, "
        f"{plan.given_up:,} are given up."
    )
    if found.sheet:
        say(
            f"sheet: {found.sheet}\nWrite your name, and 1 or 0 for each answer; change its code "
            f"where it falls short. Then: cosqa generate --confirmed {found.sheet}"
        )


def read_back(sheet: Path, store: StoreSettings) -> None:
    """Store what people say of answers on a sheet."""
    found = confirm(open_database(store), sheet)
    say(
        f"{counted(found.confirmed, 'answers')} confirmed, {found.edited:,} confirmed as changed, "
        f"{found.refused:,} refused."
    )
    if found.refused:
        say("`cosqa generate` has the refused ones written again, with your notes.")
    if found.confirmed or found.edited:
        say("`cosqa publish` exports the confirmed ones.")
