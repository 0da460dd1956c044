"""What `cosqa annotate --plan` prints."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from flows.cli import commands
from flows.cli.app import app
from flows.cli.pipeline import left_over
from flows.options import overrides_of
from infra.records import Candidate
from infra.settings import load_settings
from infra.store import candidates, corpus, open_database
from tasks.reports.plan import RunPlan
from tasks.runtime.input_checks import check, check_source
from tasks.sources import open_source
from tasks.stages.candidates import search_identity
from tasks.stages.preflight import annotation_plan


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Options of a collected source with three queries, each with one candidate."""
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("COSQA_ANNOTATION__CONFIGURATION", "single")
    rows = {
        "queries": [{"id": str(number), "query": f"add {number}"} for number in range(3)],
        "codes": [{"id": "c", "code": "def plus(x, y):\n    return x + y"}],
    }
    for name, items in rows.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in items))
    store = tmp_path / "store"
    settings = load_settings(
        {"source": {"name": "jsonl", "path": tmp_path}, "store": {"folder": store}}
    )
    source, database = open_source(settings.source), open_database(settings.store)
    corpus.replace_collections(database, source.fingerprint(), source.read(), "jsonl")
    search = search_identity(database, "jsonl", settings.search)
    (code,) = corpus.load_codes(database, "jsonl")
    found = [
        Candidate(
            query_id=query.query_id, code_id=code.code_id, rank=1, similarity=1, by_encoder={}
        )
        for query in corpus.load_queries(database, "jsonl")
    ]
    candidates.record_search(database, search, "jsonl", ["minilm"], 20)
    candidates.add_candidates(database, search, found)
    return ["--source", "jsonl", "--path", str(tmp_path), "--store", str(store)]


def test_a_plan_shows_pairs_by_reason_and_what_they_may_cost(options: list[str]) -> None:
    done = CliRunner().invoke(app, ["annotate", "--plan", "--model", "openai/gpt-4o", *options])
    assert done.exit_code == 0, done.output
    assert "3 of 3 pending pairs of jsonl: new queries 3" in done.output
    assert "openai/gpt-4o (single) judges" in done.output
    (row,) = [line for line in done.output.splitlines() if line.startswith("new queries")]
    assert row.split()[2:4] == ["3", "3"]
    assert "cost about $" in done.output


def test_a_plan_counts_each_round_and_the_limit(options: list[str]) -> None:
    def planned(**changed: dict[str, object]) -> RunPlan:
        given: dict[str, dict[str, object]] = {
            "source": {"name": "jsonl", "path": options[3]},
            "store": {"folder": options[5]},
            "llm": {"model": "openai/gpt-4o-mini"},
        }
        return annotation_plan(check(load_settings(given | changed), check_source))

    once = planned()
    assert (once.taken, once.pending) == (3, 3)
    assert once.expected.basis == (
        "built in for single; the server's pace is not known before its first replies; "
        "litellm's price list has the price of openai/gpt-4o-mini"
    )
    assert planned(annotation={"limit": 1}).taken == 1
    assert planned(reannotation={"pairs": 2}).taken == 2
    thrice = planned(annotation={"rounds": 3})
    assert once.expected.usd
    assert thrice.expected.usd
    assert thrice.expected.usd.expected == pytest.approx(3 * once.expected.usd.expected)


def test_a_plan_asks_for_what_was_not_collected_or_has_changed(
    options: list[str], tmp_path: Path
) -> None:
    def planned(*given: str) -> Result:
        words = ["annotate", "--plan", "--model", "openai/gpt-4o", *given]
        return CliRunner().invoke(app, words)

    assert "3 of 3 pending pairs of jsonl: new queries 3" in planned(*options).output
    assert "0 of 3 pending pairs" in planned(*options, "--reason", "outdated").output
    with (tmp_path / "queries.jsonl").open("a") as file:
        file.write('{"id": "3", "query": "add 3"}\n')
    assert "run `cosqa collect`" in str(planned(*options).exception)
    other = [*options[:-1], str(tmp_path / "none")]
    assert "run `cosqa collect`" in str(planned(*other).exception)


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        ([], {}),
        (["outdated"], {"take": ("outdated",)}),
        (["failed"], {"take": ("failed",), "retry_all": True}),
    ],
)
def test_options_say_which_reasons_are_taken(
    reasons: list[str], expected: dict[str, object]
) -> None:
    given = overrides_of(commands.annotate, {"reasons": reasons})
    assert given.get("reannotation", {}) == expected


def test_a_run_that_did_nothing_says_which_pairs_it_has_left() -> None:
    assert left_over(0, 0) == ""
    assert left_over(1, 0) == (
        "waiting for another try: 1 failed pair (`--reason failed` takes them now)"
    )
    assert left_over(0, 3) == (
        "pending for reasons that are not taken: 3 pairs (`--plan` shows them)"
    )
