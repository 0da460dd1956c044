"""Laws of controls: the last change of each holds, and every change stays recorded."""

import json
from math import inf
from pathlib import Path

import pytest
from pydantic import ValidationError

from infra.settings import StoreSettings
from infra.settings.operation import MOST_IN_FLIGHT, MOST_REQUESTS_PER_MINUTE
from infra.store import Database, open_database
from infra.store.runs import (
    Control,
    Controls,
    current_controls,
    last_changes,
    set_control,
)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(StoreSettings(folder=tmp_path))


def test_without_a_change_the_settings_hold(database: Database) -> None:
    assert current_controls(database) == Controls()
    assert str(Controls()) == ""
    assert last_changes(database) == []


def test_the_last_change_of_each_control_holds_until_it_is_changed_back(
    database: Database,
) -> None:
    set_control(database, "in_flight", 8, "somebody")
    set_control(database, "paused", value=True)
    set_control(database, "in_flight", 2)
    set_control(database, "budget_usd", 1.5)
    assert str(current_controls(database)) == "paused, in_flight 2, budget_usd 1.5"
    set_control(database, "in_flight", None)
    set_control(database, "paused", value=False)
    assert current_controls(database) == Controls(budget_usd=1.5)
    with database.transaction() as tx:
        assert tx.count("SELECT count(*) FROM controls") == 6, "every change stays"


def test_a_change_says_who_made_it(database: Database) -> None:
    set_control(database, "paused", value=True, set_by="Prefect's UI")
    set_control(database, "in_flight", 3)
    paused, in_flight = last_changes(database)
    assert (paused.control, paused.value, paused.set_by) == ("paused", True, "Prefect's UI")
    assert "@" in in_flight.set_by


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("in_flight", value) for value in (0, MOST_IN_FLIGHT + 1, 2**63, 10**400)),
        *(("requests_per_minute", value) for value in (0, MOST_REQUESTS_PER_MINUTE + 1, 2**63)),
        *(("budget_usd", value) for value in (-1, inf)),
    ],
)
def test_a_value_out_of_bounds_is_refused_and_not_recorded(
    database: Database, name: Control, value: float
) -> None:
    with pytest.raises(ValidationError):
        set_control(database, name, value)
    assert last_changes(database) == []


def test_a_budget_without_an_end_of_an_earlier_version_leaves_that_of_the_settings(
    database: Database,
) -> None:
    with database.transaction() as tx:
        tx.execute("INSERT INTO controls VALUES (1, 'budget_usd', 'Infinity', 'me', now())")
    assert current_controls(database).budget_usd is None


@pytest.mark.parametrize("value", [MOST_IN_FLIGHT + 1, 2**63, 10**30])
def test_a_limit_beyond_what_may_be_of_an_earlier_version_is_the_most_that_may(
    database: Database, value: int
) -> None:
    for ordinal, name in enumerate(("in_flight", "requests_per_minute")):
        with database.transaction() as tx:
            row = [ordinal, name, json.dumps(1000 * value)]
            tx.execute("INSERT INTO controls VALUES (?, ?, ?, 'me', now())", row)
    assert current_controls(database) == Controls(
        in_flight=MOST_IN_FLIGHT, requests_per_minute=MOST_REQUESTS_PER_MINUTE
    )
