"""Laws of cached stages: Prefect's result is used only while the store confirms it.

Covers `tasks.runtime.caching`.
"""

from uuid import uuid4

import pytest
from prefect import flow

from tasks.runtime.caching import stage

RUN = uuid4().hex
STORE: set[str] = set()
DONE: list[str] = []


@stage("fill", "fill-{item}", key=lambda p: f"{RUN}-{p.item}", is_valid=lambda p: p.item in STORE)
def fill(item: str, note: str = "") -> str:
    """Put an item into the store."""
    STORE.add(item)
    DONE.append(item)
    return f"{item}{note}"


@pytest.mark.usefixtures("prefect_server")
def test_a_stage_runs_once_for_its_key_until_the_store_loses_what_it_made() -> None:
    @flow
    def several() -> list[str]:
        first = [fill("a", note=" first"), fill("a", note=" second"), fill("b")]
        STORE.discard("a")
        return [*first, fill("a", note=" third"), fill("a"), fill("b")]

    assert several() == ["a first", "a first", "b", "a third", "a third", "b"]
    assert DONE == ["a", "b", "a"]
