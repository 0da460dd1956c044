"""Laws of stored plans."""

from pathlib import Path

from infra.ids import RecipeId
from infra.settings import StoreSettings
from infra.store import open_database
from infra.store.runs import last_plans, load_plan, record_plan


def test_plans_come_back_newest_first(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path))
    first = record_plan(database, "c", RecipeId("r"), {"pairs": 3})
    second = record_plan(database, "c", RecipeId("r"), {"pairs": 4})
    found = last_plans(database, 2)
    assert [item.plan_id for item in found] == [second, first]
    assert found[1].body == load_plan(database, first) == {"pairs": 3, "plan_id": first}
    assert last_plans(database) == found[:1]
