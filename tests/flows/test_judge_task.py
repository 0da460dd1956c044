"""Laws of the judge as a Prefect task: what is tried again."""

from prefect import Task, flow
from prefect.cache_policies import NO_CACHE
from prefect.settings import PREFECT_API_URL, temporary_settings

from infra.errors import BudgetExhaustedError, ModelRefusedError, SettingsError
from tasks.stages.annotate.judge import judge


def test_what_every_judge_would_meet_is_not_tried_again(prefect_server: str) -> None:
    tried: list[str] = []

    def fail(name: str, error: Exception) -> None:
        tried.append(name)
        raise error

    condition = judge.retry_condition_fn
    task = Task(fail, retries=2, retry_condition_fn=condition, cache_policy=NO_CACHE)

    @flow
    def tries() -> None:
        task("budget", BudgetExhaustedError("spent"), return_state=True)
        task("settings", SettingsError("no store"), return_state=True)
        task("model", ModelRefusedError("no key"), return_state=True)
        task("may pass", OSError("gone"), return_state=True)

    with temporary_settings({PREFECT_API_URL: prefect_server}):
        tries(return_state=True)
    assert tried == ["budget", "settings", "model", *["may pass"] * 3]
