"""Laws of stages: what the cache answers, where its records lie, and what is tried again.

Covers `tasks.runtime.caching`.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import cloudpickle
import pytest
from prefect import Task, flow
from prefect.cache_policies import NO_CACHE
from prefect.settings import PREFECT_TASKS_DEFAULT_PERSIST_RESULT, temporary_settings

from infra.errors import (
    BoxLostError,
    BudgetExhaustedError,
    CosqaError,
    EncoderError,
    EncoderUnavailableError,
    EngineUnavailableError,
    ModelRefusedError,
    ModelUnavailableError,
    SettingsError,
    SourceError,
    StoreBusyError,
    StoreLockedError,
    WorkerLostError,
)
from infra.records import Record
from infra.settings import StoreSettings
from tasks.runtime import caching
from tasks.runtime.caching import Confirmed, Parameters, Retries, prepare_run, stage
from tests.flows.recording import flows_and_tasks

RUN = uuid4().hex
STORE: set[str] = set()
DONE: list[str] = []
TRIED: list[str] = []


def _key(p: Parameters) -> str:
    if p.item == "unreadable":
        raise SourceError("no such item")
    return f"{RUN}-{p.item}"


@stage("fill", "fill {item}", key=_key, is_valid=lambda p: p.item in STORE)
def fill(item: str, note: str = "") -> str:
    """Put an item into the store."""
    STORE.add(item)
    DONE.append(item)
    return item + note


@pytest.fixture(autouse=True)
def emptied() -> None:
    STORE.clear()
    DONE.clear()
    TRIED.clear()


@pytest.mark.parametrize("submitted", [False, True], ids=["called", "submitted"])
@pytest.mark.usefixtures("prefect_server")
def test_a_stage_runs_once_for_its_key_until_the_store_loses_what_it_made(
    submitted: bool, tmp_path: Path
) -> None:
    def call(item: str, note: str) -> str:
        found: str = fill.submit(item, note).result() if submitted else fill(item, note)
        return found

    @flow
    def several() -> list[str]:
        prepare_run(StoreSettings(folder=tmp_path))
        first = [call("a", " first"), call("a", " second"), call("b", "")]
        STORE.discard("a")
        return [*first, call("a", " third"), call("a", ""), call("b", "")]

    assert several() == ["a first", "a first", "b", "a third", "a third", "b"]
    assert DONE == ["a", "b", "a"]


@pytest.mark.usefixtures("prefect_server")
def test_a_second_worker_has_the_first_ones_cache_since_records_lie_in_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @flow
    def one(folder: Path) -> str:
        prepare_run(StoreSettings(folder=folder))
        return fill("shared", note=f" by {folder.name}")

    first = tmp_path / "first"
    assert one(first) == "shared by first"
    moved = first.rename(tmp_path / "moved")  # as a backup is, or a mount under another path
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "other home"))
    assert one(moved) == "shared by first"
    assert one(tmp_path / "second") == "shared by second", "another store has other records"


@pytest.mark.usefixtures("prefect_server")
def test_an_error_of_a_stage_or_a_flow_leaves_no_file_in_the_store(tmp_path: Path) -> None:
    nothing: Any = None

    @flow
    def fails() -> None:
        prepare_run(StoreSettings(folder=tmp_path))
        fill("a")
        fill(nothing)

    with pytest.raises(TypeError):
        fails()
    assert [file.name for file in (tmp_path / "results").iterdir()] == [f"{RUN}-a"]


class Kept(Record):
    """What a stage returns."""

    number: int


@stage("count", "count", key=lambda _: f"{RUN}-count")
def count() -> list[Kept]:
    """Count the calls."""
    DONE.append("count")
    return [Kept(number=len(DONE))]


def _hostile(kept: dict[str, Any], touched: Path) -> Iterator[str]:
    """Yield records that would run code, or be read in another way than they were written."""
    call = {"cmd": f"touch {touched}"}
    pickled = b64encode(cloudpickle.dumps(_Bomb(str(touched)))).decode()
    json_as = kept["metadata"]["serializer"]
    for serializer, result in (
        ({"type": "pickle", "picklelib": "cloudpickle"}, pickled),
        ({"type": "compressed/pickle", "compressionlib": "tests.flows.cases"}, pickled),
        (json_as | {"jsonlib": "cloudpickle"}, kept["result"]),
        (json_as | {"object_decoder": "subprocess.getoutput"}, kept["result"]),
        (json_as, json.dumps({"__class__": "subprocess.getoutput", "data": call})),
        (json_as, json.dumps([{"a": {"__class__": "infra.atomic.sync", "data": [str(touched)]}}])),
        (json_as, json.dumps({"__exc_type__": "builtins.SystemExit", "message": "0"})),
        (json_as, '{"__class__": ["a"], "data": 1}'),
        (json_as, "[" * 100_000),
    ):
        other = kept["metadata"] | {"serializer": serializer}
        yield json.dumps({"metadata": other, "result": result})
        yield json.dumps({"serializer": serializer, "result": result})
        # Two parsers may differ in which of two equal keys counts.
        text = json.dumps({"metadata": other, "result": result})
        yield f'{text[:-1]}, "metadata": {json.dumps(kept["metadata"])}}}'
    yield from ("", "[]", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "null")


class _Bomb:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(self.path),)


@pytest.mark.usefixtures("prefect_server")
def test_a_kept_result_is_read_as_json_of_records_alone_and_computed_anew_else(
    tmp_path: Path,
) -> None:
    touched = tmp_path / "touched"
    file = tmp_path / "results" / f"{RUN}-count"

    @flow
    def twice() -> list[list[Kept]]:
        prepare_run(StoreSettings(folder=tmp_path))
        return [count(), count()]

    assert twice() == [[Kept(number=1)]] * 2
    assert caching._is_ours(file)
    attacks = list(_hostile(json.loads(file.read_text()), touched))
    for hostile in attacks:
        file.write_text(hostile)
        assert not caching._is_ours(file), hostile[:300]
    for number, hostile in enumerate(attacks[:13:6], 2):
        file.write_text(hostile)
        assert twice() == [[Kept(number=number)]] * 2, hostile[:300]
        assert caching._is_ours(file)
    assert not touched.exists()


@pytest.mark.usefixtures("prefect_server")
def test_a_stage_whose_inputs_cannot_be_read_says_so_itself(tmp_path: Path) -> None:
    @flow
    def twice() -> None:
        prepare_run(StoreSettings(folder=tmp_path))
        fill("unreadable")
        fill("unreadable")

    twice()
    assert DONE == ["unreadable"] * 2


def test_no_task_has_a_cache_by_accident() -> None:
    with temporary_settings({PREFECT_TASKS_DEFAULT_PERSIST_RESULT: True}):
        tasks = [item for item in flows_and_tasks() if isinstance(item, Task)]
    assert len(tasks) > 20
    for task in tasks:
        assert task.cache_policy == NO_CACHE or isinstance(task.cache_policy, Confirmed), task.name
        assert task.retry_condition_fn is not None, task.name


PASSING: dict[str, tuple[Retries, set[type[CosqaError]]]] = {
    "locked": (caching.LOCKED, {StoreLockedError}),
    "vectors": (
        caching.VECTORS_AWAY,
        {StoreLockedError, EncoderUnavailableError, WorkerLostError, ModelUnavailableError},
    ),
    "model": (
        caching.MODEL_AWAY,
        {
            ModelUnavailableError, WorkerLostError, StoreLockedError, EngineUnavailableError,
            BoxLostError,
        },
    ),
}  # fmt: skip
NEVER = {
    BudgetExhaustedError, ModelRefusedError, SettingsError, SourceError, EncoderError,
    StoreBusyError,
}  # fmt: skip


@pytest.mark.parametrize("name", PASSING)
@pytest.mark.usefixtures("prefect_server")
def test_what_passes_by_itself_is_tried_again_and_nothing_else(name: str) -> None:
    retries, passing = PASSING[name]
    errors = NEVER.union(*(errors for _, errors in PASSING.values()))

    def fail(error: type[Exception]) -> None:
        TRIED.append(error.__name__)
        raise ExceptionGroup("of several", [error("gone")]) if name == "model" else error("gone")

    failing: Callable[..., object] = stage("fail", "fail", retries=retries._replace(delays_s=(0,)))(
        fail
    )

    @flow
    def tries() -> None:
        for error in errors:
            failing(error, return_state=True)

    tries(return_state=True)
    again = {error.__name__ for error in errors if TRIED.count(error.__name__) == 2}
    assert again == {error.__name__ for error in passing}
    assert set(TRIED) == {error.__name__ for error in errors}
