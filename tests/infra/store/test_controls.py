"""Laws of controls: the last change of each holds, and every change stays recorded."""

from math import inf
from pathlib import Path

import pytest
from pydantic import ValidationError

from infra.settings import StoreSettings
from infra.store import Database, open_database
from infra.store.controls import (
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
    assert str(set_control(database, "budget_usd", 1.5)) == "paused, in_flight 2, budget_usd 1.5"
    set_control(database, "in_flight", None)
    assert set_control(database, "paused", value=False) == Controls(budget_usd=1.5)
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
    [("in_flight", 0), ("requests_per_minute", 0), ("budget_usd", -1), ("budget_usd", inf)],
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
