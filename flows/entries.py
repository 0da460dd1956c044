"""The flows that deployments run: each reads its form and calls the flow of its name.

A new one is a line at the end, with its options in `flows.options`, and an entry in prefect.yaml.
Its form asks for those options that have a title; what it does not ask for, and what is left empty
in it, is read from cosqa.toml and the environment where the run works. Keys are never asked for.

A run that finds another one writing into the store ends as cancelled with that run's name: for a
schedule this is no failure. One whose plan is declined ends as completed. Flows are imported when
they run, each run in a process of its own.
"""

import inspect
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from prefect import Flow
from prefect.logging import get_run_logger
from prefect.states import Cancelled, Completed
from pydantic import Field, GetCoreSchemaHandler
from pydantic.json_schema import SkipJsonSchema
from pydantic_core.core_schema import CoreSchema, with_default_schema

from flows import options
from flows.options import Options, Question, questions
from flows.runtime.approval import DeclinedError
from flows.runtime.runs import SIDE_BY_SIDE, arguments_of, run_name
from infra.errors import StoreBusyError

# As values, since the types of a form are made of names that are known when it runs.
_LIST: Any = list
_LITERAL: Any = Literal
_UNSEEN: Any = SkipJsonSchema
_NOTHING: Any = _UNSEEN[None]


def _entry(name: str, form: type[Options]) -> Flow[..., Any]:
    """Return the flow of a deployment, whose parameters are the questions of its form."""
    module = name.replace("-", "_")

    def run(**answers: object) -> object:
        try:
            return _called(module, form.of_form(answers))
        except StoreBusyError as busy:
            get_run_logger().warning("this run ends without having done anything: %s", busy)
            return Cancelled(message=f"Skipped: {busy}")
        except DeclinedError as declined:
            return Completed(message=str(declined))

    run.__name__ = run.__qualname__ = module
    run.__signature__ = form_of(form, is_called=True)  # type: ignore[attr-defined]
    flow = Flow(run, name=name, flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
    flow.__signature__ = form_of(form)  # type: ignore[attr-defined]
    return flow


def _called(name: str, given: Options) -> object:
    """Return what a flow of this folder returns, called within this run."""
    flow: Flow[..., Any] = getattr(import_module(f"flows.{name}"), name)
    return flow.fn(**arguments_of(flow, given))


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
    if question.is_several:
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


benchmark = _entry("benchmark", options.Benchmark)
collect = _entry("collect", options.Collect)
annotate = _entry("annotate", options.Annotate)
generate = _entry("generate", options.Generate)
publish = _entry("publish", options.Publish)
evaluate = _entry("evaluate", options.Evaluate)
leaderboard = _entry("leaderboard", options.Leaderboard)
diff = _entry("diff", options.Diff)
estimate = _entry("estimate", options.Estimate)
train = _entry("train", options.Train)
compare_annotators = _entry("compare-annotators", options.CompareAnnotators)
study = _entry("study", options.Study)
study_kape = _entry("study-kape", options.StudyKape)
study_training = _entry("study-training", options.StudyTraining)
