"""The walk of a new user through the Prefect UI: a scheduled run waits, is approved, and succeeds.

Covers `flows.cli.server`. With ``COSQA_SCREENSHOTS=FOLDER`` it writes the README's
screenshots into that folder, as ``make screenshots`` does.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import Case, World, environment, judged, rule, screened, written
from tests.ui.local_system import LocalSystem, local_system
from tests.ui.pages import Pages, opened

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.docker, pytest.mark.slow(300)]


_DELAY_S = 0.4  # so that the run's graph shows who worked when
_PROGRAM = "from target import {name}\n\ndef test_it():\n    assert {call} == {value}\n"


def _case(query: str, call: str, value: object, body: str, *, parameters: str = "text") -> Case:
    """Return a query and the function that answers it, which the model finds out by a test."""
    name = call.partition("(")[0]
    code = f'def {name}({parameters}):\n    """{query.capitalize()}."""\n    return {body}'
    program = _PROGRAM.format(name=name, call=call, value=repr(value))
    return Case(query, code, (screened("unclear"), written(program), judged("answers")))


FORMER: tuple[Case, ...] = (
    _case("reverse the characters of a string", "reversed_text('abc')", "cba", "text[::-1]"),
    _case("count the vowels in a word", "vowels('banana')", 3, "sum(c in 'aeiou' for c in text)"),
    _case("remove spaces from a string", "without_spaces('a b')", "ab", "text.replace(' ', '')"),
    _case("check whether a word is a palindrome", "palindrome('abba')", True, "text == text[::-1]"),
    _case("first word of a sentence", "first_word('a b')", "a", "text.split()[0]"),
    _case("largest number of a list", "largest([1, 3])", 3, "max(items)", parameters="items"),
    _case("sum of the squares of a list", "squares([1, 2])", 5, "sum(n * n for n in items)",
          parameters="items"),
    _case("unique items of a list in order", "unique([2, 1, 2])", [2, 1],
          "list(dict.fromkeys(items))", parameters="items"),
)  # fmt: skip
ADDED: tuple[Case, ...] = (
    _case("merge two dictionaries", "merged({1: 2}, {3: 4})", {1: 2, 3: 4}, "{**first, **second}",
          parameters="first, second"),
    _case("celsius to fahrenheit", "fahrenheit(100)", 212, "degrees * 9 / 5 + 32",
          parameters="degrees"),
    _case("split a list into chunks", "chunks([1, 2, 3], 2)", [[1, 2], [3]],
          "[items[i:i + size] for i in range(0, len(items), size)]", parameters="items, size"),
)  # fmt: skip


def script() -> list[dict[str, Any]]:
    """Return the model's rules: a query's own function answers it, any other does not."""
    own = [
        {"query": case.query, "code": case.code.splitlines()[0]} | item
        for case in (*FORMER, *ADDED)
        for item in case.rules
    ]
    others = [rule("screener", {"reply": {"reason": "as scripted", "verdict": "clear_non_match"}})]
    return [_slow(item) for item in [*own, *({"query": "*"} | item for item in others)]]


def _slow(item: dict[str, Any]) -> dict[str, Any]:
    return item | {"steps": [step | {"delay_s": _DELAY_S} for step in item["steps"]]}


# The server looks at new schedules once a minute.
_FIRES_S, _STARTS_S, _JUDGES_S = 150.0, 900.0, 900.0
_ENDED = ("Completed", "Failed", "Crashed", "Cancelled")
_SETTINGS = """[source]
name = "jsonl"
path = "source"

[search]
top_k = 2

[annotation]
in_flight = 4  # more would reserve more than the plan expects, and what is approved bounds it

[store]
folder = "store"

[publish]
folder = "out"

[operation]
approve = true
"""


@pytest.fixture
def system(tmp_path: Path) -> Iterator[LocalSystem]:
    """Yield the system over a store with an earlier round of labels, by another model."""
    with ScriptedServer(script()) as model:
        # litellm knows this model's price, so that plans say what they cost.
        world = World(tmp_path, environment(model.base_url, COSQA_LLM__MODEL="openai/gpt-4o"))
        (tmp_path / "cosqa.toml").write_text(_SETTINGS, encoding="utf-8")
        world.write(FORMER)
        with local_system(world) as started:
            earlier = {"COSQA_OPERATION__APPROVE": "false"}
            started.command("cosqa", "benchmark", "--model", "openai/gpt-4o-mini", **earlier)
            yield started


@pytest.fixture
def pages(system: LocalSystem, tmp_path: Path) -> Iterator[Pages]:
    screenshots = Path(os.environ.get("COSQA_SCREENSHOTS", tmp_path / "screenshots")).absolute()
    with opened(system.ui, screenshots) as found:
        found.log_in(system.password)
        yield found


def test_a_scheduled_run_fires_waits_for_approval_goes_on_and_succeeds(
    system: LocalSystem, pages: Pages
) -> None:
    everything_is_deployed(pages)
    the_earlier_run_is_drawn(system, pages)
    the_form_can_be_filled_in(pages)
    things_change(system)
    run = a_scheduled_run_waits(system, pages)
    the_plan_is_approved(pages)
    the_run_succeeds(system, pages, run)
    its_artifacts_are_shown(pages)
    assert pages.complaints == []
    assert system.end() == [], "Ctrl-C leaves no process behind"
    assert system.process.returncode == 0
    what_was_approved_is_stored(system.world)


def everything_is_deployed(pages: Pages) -> None:
    pages.visit("/deployments")
    for name in ("annotate", "benchmark", "collect", "evaluate"):
        pages.see(name)
    pages.screenshot("deployments", height=1000)
    pages.follow("collect")
    pages.see("nightly")


def the_earlier_run_is_drawn(system: LocalSystem, pages: Pages) -> None:
    pages.visit("/runs")
    pages.follow("benchmark jsonl")
    pages.see("Completed")
    pages.screenshot("graph", height=1000, shows=names_of(system, run_of(pages)))


def run_of(pages: Pages) -> str:
    """Return the id of the run whose page is open."""
    return pages.page.url.rpartition("/")[2].partition("?")[0]


def names_of(system: LocalSystem, run: str) -> list[str]:
    """Return the names of a run and of its tasks, as its page and its graph have them."""
    kinds = ("flow_runs", "task_runs")
    found = [each for kind in kinds for each in system.ask(kind, flow_runs={"id": {"any_": [run]}})]
    return [each["name"] for each in found]


def the_form_can_be_filled_in(pages: Pages) -> None:
    pages.visit("/deployments")
    pages.follow("annotate")
    pages.press("Run")
    pages.press("Custom run")
    pages.see("Language model")
    text = pages.text()
    for title in ("Preset", "Source", "Encoders", "Queries to annotate at most"):
        assert title in text
    assert "settings" not in [line.strip().removesuffix(" (Optional)") for line in text.split("\n")]
    questions = pages.page.locator(".schema-form-property").all_inner_texts()
    titles = [each.partition("\n")[0].removesuffix(" (Optional)") for each in questions]
    pages.screenshot("form", height=1500, shows=titles)


def things_change(system: LocalSystem) -> None:
    """Add queries and functions, as a source does from time to time."""
    system.world.write([*FORMER, *ADDED])
    system.command("cosqa", "collect")


def a_scheduled_run_waits(system: LocalSystem, pages: Pages) -> str:
    """Return the id of the run, once its page says that it waits."""
    system.schedule("annotate", _FIRES_S)
    pages.visit("/deployments")
    pages.follow("annotate")
    system.until_a_run_is("annotate", ("Suspended", *_ENDED), _STARTS_S)
    pages.page.reload()
    pages.see("Suspended")
    pages.follow("annotate jsonl, ")
    run = run_of(pages)
    pages.see("pending pairs of jsonl: new queries")
    pages.see("waits for approval")
    pages.screenshot("waiting")
    (found,) = system.ask("flow_runs", flow_runs={"id": {"any_": [run]}})
    assert found["auto_scheduled"], "the schedule has made it"
    return run


def the_plan_is_approved(pages: Pages) -> None:
    pages.press("Resume")
    plan = pages.page.locator(".p-modal__body article").first
    row = plan.get_by_text("outdated", exact=True)
    row.wait_for()
    shown, inside = row.bounding_box(), plan.bounding_box()
    assert shown
    assert inside
    assert shown["y"] + shown["height"] <= inside["y"] + inside["height"], "the plan can be read"
    pages.press("Submit")


def the_run_succeeds(system: LocalSystem, pages: Pages, run: str) -> None:
    system.until_a_run_is("annotate", _ENDED, _JUDGES_S)
    (found,) = system.ask("flow_runs", flow_runs={"id": {"any_": [run]}})
    assert found["state_name"] == "Completed", system.log[-3_000:]
    pages.visit(f"/runs/flow-run/{run}")
    pages.see("Completed")
    pages.screenshot("run", height=1000, shows=names_of(system, run))


def its_artifacts_are_shown(pages: Pages) -> None:
    pages.turn_to("Artifacts")
    pages.follow("plan-jsonl")
    pages.see("in all")
    pages.screenshot("artifact")


def what_was_approved_is_stored(world: World) -> None:
    last = world.rows(
        "SELECT (SELECT count(*) FROM annotations a WHERE a.recipe_id = u.rounds[1] "
        "AND status = 'labelled') FROM recipe_uses u ORDER BY used_at DESC LIMIT 1"
    )
    assert last == [(2 * (len(FORMER) + len(ADDED)),)]
