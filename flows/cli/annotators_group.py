"""The table of the commands below ``cosqa annotators``."""

from typing import ClassVar

import typer

from flows.cli.lazy import Command, LazyGroup


class _Annotators(LazyGroup):
    entries: ClassVar = {
        "compare": Command(
            "Score annotators against known labels: the agents, a baseline, and people.",
            options="evaluation_options:compare_annotators",
            check="checks:compare_annotators",
            action="annotators:compare",
            details="Every model judges the pairs in every configuration of the agents. Pairs "
            "judged before by the same model and configuration are taken from the store.",
            examples=(
                "cosqa annotators compare --truth CoSQA/cosqa-dev.json --limit 100",
                "cosqa annotators compare --truth pairs.jsonl --configuration gated",
            ),
        ),
        "rounds": Command(
            "Print how far labelling rounds agree: alpha of all, and of every two.",
            options="evaluation_options:labelling_rounds",
            check="checks:labelling_rounds",
            action="annotators:print_rounds",
            details="Rounds are made by `cosqa annotate` with COSQA_ANNOTATION__ROUNDS above 1.",
            examples=("cosqa annotators rounds --store cosqa-data",),
        ),
        "audits": Command(
            "Print how stable labels are: alpha of each audit.",
            options="evaluation_options:labelling_rounds",
            check="checks:labelling_rounds",
            action="annotators:print_audits",
            details="Audits are made by `cosqa annotate --reason audit`.",
            examples=("cosqa annotators audits --store cosqa-data",),
        ),
    }


annotators = typer.Typer(cls=_Annotators, no_args_is_help=True, rich_markup_mode="rich")


@annotators.callback()
def _annotators() -> None:
    """Measure how far labels can be trusted."""
