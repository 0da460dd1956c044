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
from functools import partial, wraps
from typing import Annotated, Any, get_args

from prefect import Flow
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.states import Cancelled, Completed
from pydantic import Field

from flows.cli import commands
from flows.options import fields_of, folders, is_given, settings_of
from flows.runtime.approval import DeclinedError
from flows.runtime.runs import SIDE_BY_SIDE, ends_by_budget, flow_of, name_by
from flows.runtime.working_folder import enter_working_folder
from infra.errors import CosqaError, StoreBusyError


def _entry(command: Callable[..., None]) -> Flow[..., Any]:
    """Return the flow of a deployment, whose parameters are those of the command."""

    @wraps(command)
    def run(**answers: object) -> object:
        try:
            return _called(command, answers)
        except StoreBusyError as busy:
            get_run_logger().warning("this run ends without having done anything: %s", busy)
            return Cancelled(message=f"Skipped: {busy}")
        except DeclinedError as declined:
            return Completed(message=str(declined))
        except CosqaError as error:  # other commands have more to do than to judge
            if command is not commands.annotate or not ends_by_budget(error):
                raise
            return Completed(message=str(error))

    name = command.__name__.replace("_", "-")
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
    flow = flow_of(command.__name__)
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


def form_of(command: Callable[..., None]) -> inspect.Signature:
    """Return the parameters of a command that a form asks for, as Prefect makes its schema of them.

    Each has its texts in place of a default: with one of None the UI would send null.
    """
    asked = []
    for parameter, field in fields_of(command):
        kind = get_args(parameter.annotation)[0]
        if parameter.default is not parameter.empty:
            kind = kind | None
        texts = Field(json_schema_extra=field.form_text())
        if field.title:
            kind = Annotated[kind, field]
            asked.append(inspect.Parameter(parameter.name, parameter.KEYWORD_ONLY,
                                           default=texts, annotation=kind))  # fmt: skip
    return inspect.Signature(asked)


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
