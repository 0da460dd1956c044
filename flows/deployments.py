"""The deployments as data: what runs on a Prefect server, when, after what, and what it asks for.

``cosqa deploy`` registers them; ``prefect.yaml`` is made of them by ``cosqa deploy --yaml``. A new
deployment is one more entry here, with its options in `flows.options` and a flow of its name. Its
form asks for those options that have a title; what it does not ask for, and what is left empty in
it, is read from cosqa.toml and the environment where the run works. Keys are never asked for.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler
from pydantic.json_schema import SkipJsonSchema
from pydantic_core.core_schema import CoreSchema, with_default_schema

from flows import options
from flows.options import Options, Question, questions

TAG = "cosqa"
# As values, since the types of a form are made of names that are known when it runs.
_LIST: Any = list
_LITERAL: Any = Literal
_UNSEEN: Any = SkipJsonSchema
_NOTHING: Any = _UNSEEN[None]


def entrypoint_of(name: str) -> str:
    """Return where the flow of a deployment of that name is."""
    return f"flows.entries.{name.replace('-', '_')}"


@dataclass(frozen=True)
class Schedule:
    """When a deployment runs by itself.

    Attributes:
        slug: Its name within the deployment.
        cron: The times, in UTC.
    """

    slug: str
    cron: str


@dataclass(frozen=True)
class Deployment:
    """A flow as a Prefect server runs it.

    Attributes:
        name: Its name, and that of its flow.
        description: What it does, as the UI shows it.
        options: What its form asks for.
        tags: Its tags beside that of all.
        schedules: When it runs by itself.
        after: Name of the deployment whose completed runs start it, with the same input.
    """

    name: str
    description: str
    options: type[Options]
    tags: tuple[str, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    after: str = ""

    @property
    def asked(self) -> set[str]:
        """The names of its form's questions."""
        return {*form_of(self.options).parameters}

    @property
    def parameters(self) -> Mapping[str, object]:
        """Answers that its form begins with; people may change them in the UI.

        Where a run may cost money, a person sees the plan first.
        """
        return {"approve": True} if "approve" in self.asked else {}

    @property
    def entrypoint(self) -> str:
        """Where its flow is, as a module path: it does not depend on where a run works."""
        return entrypoint_of(self.name)

    @property
    def all_tags(self) -> list[str]:
        """Its tags, in alphabetical order."""
        return sorted({TAG, *self.tags})


DEPLOYMENTS: tuple[Deployment, ...] = (
    Deployment(
        "benchmark",
        "Run the whole pipeline: collect, annotate, publish, evaluate. What was done before is "
        "not done again.",
        options.Benchmark,
        tags=("writes-labels",),
    ),
    Deployment(
        "collect",
        "Read queries and code, embed them, and find the candidates of each query; what has not "
        "changed is done in seconds. Runs every night at 01:00 UTC. A completed run starts "
        "`annotate` with the same input.",
        options.Collect,
        tags=("writes-labels",),
        schedules=(Schedule("nightly", "0 1 * * *"),),
    ),
    Deployment(
        "annotate",
        "Let the agents judge what is pending: new queries and code, stale labels, failures. Runs "
        "after each completed `collect`, that is every night.",
        options.Annotate,
        tags=("writes-labels",),
        after="collect",
    ),
    Deployment(
        "generate",
        "Let a model write answers to queries without a match, for people to confirm. It asks "
        "for no approval: its form and llm.budget_usd bound what it costs.",
        options.Generate,
        tags=("writes-labels",),
    ),
    Deployment(
        "publish",
        "Export the labelled benchmarks as Parquet and as BEIR folders, with dataset cards. It "
        "has no schedule, since people decide when labels go out. A completed run starts "
        "`evaluate` with the same input.",
        options.Publish,
    ),
    Deployment(
        "evaluate",
        "Score retrieval methods on the exported benchmarks and write the report. Runs every "
        "Sunday at 06:00 UTC.",
        options.Evaluate,
        schedules=(Schedule("weekly", "0 6 * * 0"),),
        after="publish",
    ),
    Deployment(
        "leaderboard",
        "Compare retrieval methods on a benchmark, with intervals and significance tests. "
        "Unjudged results to annotate cost money; a person approves them first only where the "
        "setting operation.approve says so.",
        options.Leaderboard,
        tags=("writes-labels",),
    ),
    Deployment(
        "diff",
        "Compare two versions of a benchmark: queries, code, labels, scores of named methods.",
        options.Diff,
    ),
    Deployment(
        "estimate",
        "Estimate how good encoders are on queries that nobody labelled, and what to label.",
        options.Estimate,
    ),
    Deployment(
        "train",
        "Fine-tune an encoder on labelled pairs, or train a model from nothing, and compare it "
        "with its base.",
        options.Train,
    ),
    Deployment(
        "compare-annotators",
        "Score annotators against known labels: models in several configurations of the agents. "
        "It asks for no approval: its form and llm.budget_usd bound what it costs.",
        options.CompareAnnotators,
    ),
    Deployment(
        "study",
        "Compute the papers' tables and figures for a benchmark, beside the published ones.",
        options.Study,
    ),
    Deployment(
        "study-kape",
        "Compare estimates of scores on unlabelled queries with the truth: KAPE and its rivals.",
        options.StudyKape,
    ),
    Deployment(
        "study-training",
        "Train bases on data sets by several seeds, and compare what each data set gains.",
        options.StudyTraining,
    ),
)  # fmt: skip


class _Optional:
    """Marks what need not be answered, without a default in the schema.

    The UI would send one of null for each empty field, and the server would refuse it.
    """

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return with_default_schema(handler(source), default_factory=lambda: None)


def form_of(model: type[Options], *, is_called: bool = False) -> inspect.Signature:
    """Return the signature of which Prefect makes the schema of a form.

    Args:
        model: The options, of which those with a title are asked for.
        is_called: Return the one by which the flow is called instead.
    """
    asked = [each for each in questions(model) if each.title and each.is_shown]
    return inspect.Signature([_parameter(each, is_called=is_called) for each in asked])


def _parameter(question: Question, *, is_called: bool) -> inspect.Parameter:
    """Return a question as a parameter; one that is not required may be None.

    A list may be empty, which leaves it to the settings file, whatever the setting demands.
    """
    kind = _LITERAL[question.choices] if question.choices else question.one
    if kind is Path:
        kind = str
    if question.is_several and not question.is_one_in_form:
        kind = _LIST[kind]
    if question.bounds:
        kind = Annotated[kind, *question.bounds]
    is_required = question.default is ...
    if not is_required:
        # The schema does not say "or null": the UI would first ask which of both is meant.
        kind = Annotated[kind | _NOTHING, _Optional()]
    examples = {"examples": [*question.examples]} if question.examples else {}
    told = Field(
        description=_description(question), json_schema_extra={"title": question.title, **examples}
    )
    missing = inspect.Parameter.empty if is_required else None
    return inspect.Parameter(
        question.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=missing if is_called else told,
        annotation=kind,
    )


def _description(question: Question) -> str:
    """Return what a form says of a question, and what an empty answer means."""
    elsewhere = "as in the environment or cosqa.toml, else " * bool(question.setting)
    empty = f"If empty: {elsewhere}{question.unset}." * bool(question.unset)
    return " ".join(filter(None, (question.about, question.form, empty)))
