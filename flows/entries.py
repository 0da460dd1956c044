"""The flows that deployments run: each reads its form and calls the flow of its name.

A new one is a command in `flows.cli.commands`, a line at the end here and an entry in prefect.yaml.
Its form asks for those options that have a title; what it does not ask for, and what is left empty
in it, is read from cosqa.toml and the environment where the run works. Keys are never asked for.

A run that finds another one writing into the store ends as cancelled with that run's name: for a
schedule this is no failure. One whose plan is declined ends as completed, and so does an annotation
that has spent its own budget: the next run goes on. Flows are imported when they run, each run in a
process of its own.
"""

import inspect
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from prefect import Flow
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.states import Cancelled, Completed
from pydantic import Field, GetCoreSchemaHandler
from pydantic.json_schema import SkipJsonSchema
from pydantic_core.core_schema import CoreSchema, with_default_schema

from flows.cli import commands
from flows.options import Question, folders, is_given, kind_of, questions, settings_of
from flows.runtime.approval import DeclinedError
from flows.runtime.runs import SIDE_BY_SIDE, name_by
from infra.errors import CosqaError, RunBudgetError, StoreBusyError
from infra.working_folder import enter_working_folder

# As values, since the types of a form are made of names that are known when it runs.
_LIST: Any = list
_LITERAL: Any = Literal
_UNSEEN: Any = SkipJsonSchema
_NOTHING: Any = _UNSEEN[None]


def _entry(command: Callable[..., None]) -> Flow[..., Any]:
    """Return the flow of a deployment, whose parameters are the questions of its form."""
    module = command.__name__

    def run(**answers: object) -> object:
        try:
            return _called(command, answers)
        except StoreBusyError as busy:
            get_run_logger().warning("this run ends without having done anything: %s", busy)
            return Cancelled(message=f"Skipped: {busy}")
        except DeclinedError as declined:
            return Completed(message=str(declined))
        except RunBudgetError as spent:
            if command is not commands.annotate:  # others have more to do than to judge
                raise
            return Completed(message=str(spent))

    run.__name__ = run.__qualname__ = module
    run.__signature__ = form_of(command, is_called=True)  # type: ignore[attr-defined]
    name = module.replace("_", "-")
    flow = Flow(run, name=name, flow_run_name=partial(_name, command), task_runner=SIDE_BY_SIDE)
    flow.__signature__ = form_of(command)  # type: ignore[attr-defined]
    return flow


def _name(command: Callable[..., None]) -> str:
    """Return the name of a run, whose collection may be named in its folder alone."""
    answers = {**flow_run.parameters}
    try:
        enter_working_folder()
        return name_by(answers | {"settings": settings_of(command, answers, is_form=True)})
    except CosqaError:  # the run itself says so
        return name_by(answers)


def _called(command: Callable[..., None], answers: dict[str, Any]) -> object:
    """Return the result of a command's flow, called within this run."""
    enter_working_folder()
    name = command.__name__
    flow: Flow[..., Any] = getattr(import_module(f"flows.{name}"), name)
    return flow.fn(**flow.validate_parameters(arguments_of(flow, command, answers)))


def arguments_of(
    flow: Flow[..., Any], command: Callable[..., None], answers: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a flow by the answers of its form."""
    own = inspect.signature(flow.fn).parameters
    given = {name: each for name, each in answers.items() if name in own and is_given(each)}
    if isinstance(given.get("data"), list):
        given["data"] = folders("data", given["data"])
    return given | {"settings": settings_of(command, answers, is_form=True)}


class _Optional:
    """Marks what need not be answered, without a default in the schema.

    The UI would send one of null for each empty field, and the server would refuse it.
    """

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return with_default_schema(handler(source), default_factory=lambda: None)


def form_of(command: Callable[..., None], *, is_called: bool = False) -> inspect.Signature:
    """Return the signature that Prefect turns into the schema of a form.

    Args:
        command: The command, whose options with a title are asked for.
        is_called: Return the signature by which the flow is called instead.
    """
    return inspect.Signature(
        [
            _parameter(parameter, question, is_called=is_called)
            for parameter, question in questions(command)
            if question.title
        ]
    )


def _parameter(
    option: inspect.Parameter, question: Question, *, is_called: bool
) -> inspect.Parameter:
    """Return a question as a parameter; one that is not required may be None.

    A list may be empty, which leaves it to the settings file, whatever the setting demands.
    """
    kind = kind_of(option)
    is_several = get_origin(kind) is list
    one = get_args(kind)[0] if is_several else kind
    kind = _LITERAL[question.choices] if question.choices else str if one is Path else one
    if is_several:
        kind = _LIST[kind]
    if question.bounds:
        kind = Annotated[kind, *question.bounds]
    is_required = option.default is inspect.Parameter.empty
    if not is_required:
        # The schema does not say "or null": the UI would first ask which of both is meant.
        kind = Annotated[kind | _NOTHING, _Optional()]
    examples = question.examples
    shown: Any = {"examples": [[each] for each in examples] if is_several else [*examples]}
    field = Field(
        description=_description(question),
        json_schema_extra={"title": question.title, **(shown if examples else {})},
    )
    missing = inspect.Parameter.empty if is_required else None
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=missing if is_called else field,
        annotation=kind,
    )


def _description(question: Question) -> str:
    """Return a form's text for a question, and the meaning of an empty answer."""
    elsewhere = "as in the environment or cosqa.toml, else " * bool(question.setting)
    empty = f"If empty: {elsewhere}{question.unset}." * bool(question.unset)
    return " ".join(filter(None, (question.about, empty)))


benchmark = _entry(commands.benchmark)
collect = _entry(commands.collect)
annotate = _entry(commands.annotate)
generate = _entry(commands.generate)
publish = _entry(commands.publish)
evaluate = _entry(commands.evaluate)
leaderboard = _entry(commands.leaderboard)
diff = _entry(commands.diff)
estimate = _entry(commands.estimate)
train = _entry(commands.train)
compare_annotators = _entry(commands.compare_annotators)
study = _entry(commands.study)
study_kape = _entry(commands.study_kape)
study_training = _entry(commands.study_training)
challenge = _entry(commands.challenge)
neural_code_search = _entry(commands.neural_code_search)
repair = _entry(commands.repair)
