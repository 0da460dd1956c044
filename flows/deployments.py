"""The deployments as data: what runs on a Prefect server, when, after what, and what it asks for.

``cosqa deploy`` registers them; ``prefect.yaml`` is made of them by ``cosqa deploy --yaml``. A new
deployment is one more entry here and its flow in ``flows.forms.entries``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from flows.forms import fields as ask
from flows.forms.form import Form, FormField

TAG = "cosqa"
_ENTRIES = "flows.forms.entries"
_INPUT = (ask.PRESET, ask.SOURCE, ask.PATH, ask.DISTRIBUTION, ask.QUERIES, ask.CODES)
_CANDIDATES = (ask.ENCODERS, ask.TOP_K)
_AGENTS = (ask.MODEL, ask.CONFIGURATION)
_APPROVAL = (ask.APPROVAL, ask.APPROVAL_ABOVE)
_EXTENT = (
    *(ask.LIMIT, ask.REASONS, ask.RETRY_ALL, ask.PAIRS, ask.BUDGET),
    *_APPROVAL,
    ask.BATCH,
)
# What a form begins with where a run may cost money: a person sees the plan first.
_ASK_FIRST = {"approval": "always"}
_EXPORT = (ask.OUTPUT, ask.UNLICENSED)


def entrypoint_of(name: str) -> str:
    """Return where the flow of a deployment of that name is, in this release and all before it."""
    return f"{_ENTRIES}.{name.replace('-', '_')}"


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
        form: What its form asks for.
        tags: Its tags beside that of all.
        schedules: When it runs by itself.
        after: Name of the deployment whose completed runs start it, with the same input.
        parameters: Answers that its form begins with; people may change them in the UI.
    """

    name: str
    description: str
    form: Form
    tags: tuple[str, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    after: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def entrypoint(self) -> str:
        """Where its flow is, as a module path: it does not depend on where a run works."""
        return entrypoint_of(self.name)

    @property
    def all_tags(self) -> list[str]:
        """Its tags, in alphabetical order."""
        return sorted({TAG, *self.tags})


def _deployment(
    name: str,
    description: str,
    *questions: FormField,
    tags: tuple[str, ...] = (),
    schedules: tuple[Schedule, ...] = (),
    after: str = "",
) -> Deployment:
    form = Form(questions)
    answers = _ASK_FIRST if ask.APPROVAL in questions else {}
    return Deployment(name, description, form, tags, schedules, after, answers)


DEPLOYMENTS: tuple[Deployment, ...] = (
    _deployment(
        "benchmark",
        "Run the whole pipeline: collect, annotate, publish, evaluate. What was done before is "
        "not done again.",
        *_INPUT, *_CANDIDATES, *_AGENTS, *_EXTENT, ask.METHODS, *_EXPORT,
        tags=("writes-labels",),
    ),
    _deployment(
        "collect",
        "Read queries and code, embed them, and find the candidates of each query; what has not "
        "changed is done in seconds. Runs every night at 01:00 UTC. A completed run starts "
        "`annotate` with the same input.",
        *_INPUT, ask.REREAD, *_CANDIDATES,
        tags=("writes-labels",),
        schedules=(Schedule("nightly", "0 1 * * *"),),
    ),
    _deployment(
        "annotate",
        "Let the agents judge what is pending: new queries and code, stale labels, failures. Runs "
        "after each completed `collect`, that is every night.",
        *_INPUT, *_CANDIDATES, *_AGENTS, *_EXTENT,
        tags=("writes-labels",),
        after="collect",
    ),
    _deployment(
        "audit",
        "Judge a sample of labelled pairs again, and say how stable labels are. Runs every "
        "Sunday at 04:00 UTC.",
        *_INPUT, *_CANDIDATES, *_AGENTS, ask.AUDIT_PAIRS, ask.BUDGET, *_APPROVAL,
        tags=("writes-labels",),
        schedules=(Schedule("weekly", "0 4 * * 0"),),
    ),
    _deployment(
        "generate",
        "Let a model write answers to queries without a match, for people to confirm. It asks "
        "for no approval: its form and llm.budget_usd bound what it costs.",
        *_INPUT, *_CANDIDATES, ask.MODEL, ask.ANSWERS_LIMIT, ask.OUTPUT,
        tags=("writes-labels",),
    ),
    _deployment(
        "publish",
        "Export the labelled benchmarks as Parquet and as BEIR folders, with dataset cards. It "
        "has no schedule, since people decide when labels go out. A completed run starts "
        "`evaluate` with the same input.",
        *_INPUT, *_CANDIDATES, *_EXPORT,
    ),
    _deployment(
        "evaluate",
        "Score retrieval methods on the exported benchmarks and write the report. Runs every "
        "Sunday at 06:00 UTC.",
        *_INPUT, *_CANDIDATES, ask.MODEL, ask.METHODS, ask.OUTPUT,
        schedules=(Schedule("weekly", "0 6 * * 0"),),
        after="publish",
    ),
    _deployment(
        "leaderboard",
        "Compare retrieval methods on a benchmark, with intervals and significance tests. "
        "Unjudged results to annotate cost money; approval is asked for only where the setting "
        "operation.approval says so.",
        ask.BENCHMARK, ask.METHODS, ask.RUNS, ask.METRICS, ask.UNJUDGED, ask.MODEL, ask.OUTPUT,
        tags=("writes-labels",),
    ),
    _deployment(
        "diff",
        "Compare two versions of a benchmark: queries, code, labels, scores of named methods.",
        ask.BEFORE, ask.AFTER, ask.METHODS, ask.METRICS, ask.OUTPUT,
    ),
    _deployment(
        "estimate",
        "Estimate how good encoders are on queries that nobody labelled, and what to label.",
        ask.TRAIN, ask.ASKED, ask.JUDGED, ask.METHODS, ask.HALF_WIDTH, ask.ANYWAY, ask.OUTPUT,
    ),
    _deployment(
        "compare-annotators",
        "Score annotators against known labels: models in several configurations of the agents. "
        "It asks for no approval: its form and llm.budget_usd bound what it costs.",
        ask.TRUTH, ask.MODELS, ask.CONFIGURATIONS, ask.TRUTH_LIMIT,
    ),
    _deployment(
        "study",
        "Compute the papers' tables and figures for a benchmark, beside the published ones.",
        *_INPUT, *_CANDIDATES, ask.METHODS, ask.OUTPUT,
    ),
    _deployment(
        "study-kape",
        "Compare estimates of scores on unlabelled queries with the truth: KAPE and its rivals.",
        ask.DATA, ask.ENCODERS, ask.OUTPUT,
    ),
)  # fmt: skip


def deployment_named(name: str) -> Deployment:
    """Return the deployment of a name.

    Raises:
        KeyError: There is none.
    """
    return {deployment.name: deployment for deployment in DEPLOYMENTS}[name]
