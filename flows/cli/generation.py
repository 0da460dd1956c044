"""What ``cosqa generate`` does: run the flow, count for ``--dry-run``, or read a sheet back."""

from pathlib import Path

from flows.cli.console import say
from flows.cli.generation_options import GenerationOptions
from flows.generate import generate
from flows.runtime.prefect_server import prefect_api
from infra.settings import Settings
from infra.store import open_database
from tasks.stages.generate.confirm import confirm
from tasks.stages.generate.plan import GenerationPlan, plan_generation
from tasks.stages.preflight import (
    check_generation,
    check_ready,
    collected_source,
    needs_server,
)


def run(options: GenerationOptions) -> None:
    """Do what the options say, and print what came of it."""
    if options.confirmed:
        _read_back(options.confirmed, options.settings)
        return
    if options.dry_run:
        _print_plan(options.settings)
        return
    if not needs_server(options.settings):
        check_generation(options.settings)
    with prefect_api():
        found = generate(options.settings)
    if found.verified or found.refused or found.failed:
        say(
            f"{found.verified:,} answers verified, {found.refused:,} refused by the agents; "
            f"{found.failed:,} queries not answered for now."
        )
    say(_state(_plan(options.settings)))
    if found.sheet:
        say(
            f"sheet: {found.sheet}\nWrite your name, and 1 or 0 for each answer; change its code "
            f"where it falls short. Then: cosqa generate --confirmed {found.sheet}"
        )


def _plan(settings: Settings) -> GenerationPlan:
    ready = check_ready(settings)
    return plan_generation(ready.database, collected_source(ready), ready.settings)


def _print_plan(settings: Settings) -> None:
    plan = _plan(settings)
    tries = settings.generation.max_tries
    say(_state(plan))
    say(
        f"{settings.llm.model} would write answers to {plan.to_write:,} of them, at most "
        f"{plan.to_write * tries:,} in {tries} tries each; the agents of the configuration "
        f"{settings.generation.configuration} verify every one. COSQA_LLM__BUDGET_USD limits the "
        "cost."
    )


def _state(plan: GenerationPlan) -> str:
    return (
        f"{plan.without_match:,} queries of {plan.collection} have no match: "
        f"{plan.confirmed:,} have a confirmed answer, {plan.waiting:,} one that waits for people, "
        f"{plan.given_up:,} are given up."
    )


def _read_back(sheet: Path, settings: Settings) -> None:
    found = confirm(open_database(settings.store), sheet)
    say(
        f"{found.confirmed:,} answers confirmed, {found.edited:,} confirmed as changed, "
        f"{found.refused:,} refused."
    )
    if found.refused:
        say("`cosqa generate` has the refused ones written again, with your notes.")
    if found.confirmed or found.edited:
        say("`cosqa publish` exports the confirmed ones.")
