"""Laws of a shard as a Prefect task: what is tried again, and what it gives back all the same."""

from typing import Any

from prefect import State, Task, flow
from prefect.cache_policies import NO_CACHE
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Failed

from infra.errors import (
    BudgetExhaustedError,
    JudgingError,
    ModelRefusedError,
    ModelUnavailableError,
    SettingsError,
)
from tasks.stages.annotate.shard import Judged, annotate_shard


def test_what_every_shard_would_meet_is_not_tried_again_and_no_annotation_is_lost(
    prefect_server: str,
) -> None:
    tried: list[str] = []

    def give(name: str, error: Any) -> State[Judged]:
        tried.append(name)
        if name == "raised":
            raise error
        return Failed(data=Judged([], error), message=str(error))

    condition = annotate_shard.retry_condition_fn
    task = Task(give, retries=2, retry_condition_fn=condition, cache_policy=NO_CACHE)

    @flow
    def tries() -> list[Any]:
        states = [
            task("budget", BudgetExhaustedError("spent"), return_state=True),
            task("settings", SettingsError("no store"), return_state=True),
            task("model", ModelRefusedError("no key"), return_state=True),
            task("program", JudgingError("10 in a row"), return_state=True),
            task("away", ModelUnavailableError("no connection"), return_state=True),
            task("raised", OSError("gone"), return_state=True),
        ]
        return [state.result(raise_on_failure=False) for state in states]

    with temporary_settings({PREFECT_API_URL: prefect_server}):
        *given, raised = tries()
    assert tried == ["budget", "settings", "model", "program", *["away"] * 3, "raised"]
    assert [type(judged.error) for judged in given] == [
        BudgetExhaustedError, SettingsError, ModelRefusedError, JudgingError, ModelUnavailableError,
    ]  # fmt: skip
    assert isinstance(raised, OSError)
