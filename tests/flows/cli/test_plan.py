"""What `cosqa annotate --plan` prints."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli import commands
from flows.cli.main import app
from flows.cli.pipeline import left_over
from flows.options import overrides_of
from infra.records import Candidate
from infra.settings import load_settings
from infra.store import candidates, corpus, open_database
from tasks.sources import open_source
from tasks.stages.candidates import search_identity


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


def test_a_plan_shows_pairs_by_reason_and_what_they_may_cost(
    options: list[str],
) -> None:
    done = CliRunner().invoke(app, ["annotate", "--plan", "--model", "openai/gpt-4o", *options])
    assert done.exit_code == 0, done.output
    assert "3 of 3 pending pairs of jsonl: new queries 3" in done.output
    assert "by openai/gpt-4o (single)" in done.output
    (row,) = [line for line in done.output.splitlines() if line.startswith("new queries")]
    assert row.split()[2:4] == ["3", "3"]
    assert "cost about $" in done.output


def test_a_plan_before_anything_is_collected_makes_no_store(
    tmp_path: Path, options: list[str]
) -> None:
    other = [*options[:-1], str(tmp_path / "none"), "--model", "openai/gpt-4o"]
    done = CliRunner().invoke(app, ["annotate", "--plan", *other], catch_exceptions=False)
    assert "3 of 3 pending pairs of jsonl: new queries 3" in done.output
    stale = [*other, "--reason", "stale"]
    done = CliRunner().invoke(app, ["annotate", "--plan", *stale], catch_exceptions=False)
    assert "0 of 3 pending pairs" in done.output
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("reasons", "pairs", "expected"),
    [
        ([], None, {}),
        (["stale"], 5, {"take": ("stale",), "pairs": 5}),
        (["failed"], None, {"take": ("failed",), "retry_all": True}),
    ],
)
def test_options_say_which_reasons_are_taken(
    reasons: list[str], pairs: int | None, expected: dict[str, object]
) -> None:
    given = overrides_of(commands.annotate, {"reasons": reasons, "pairs": pairs})
    assert given.get("reannotation", {}) == expected


def test_a_run_that_did_nothing_says_which_pairs_it_has_left() -> None:
    assert left_over(0, 0) == ""
    assert left_over(1, 0) == (
        "waiting for another try: 1 failed pair (`--reason failed` takes them now)"
    )
    assert left_over(0, 3) == (
        "pending for reasons that are not taken: 3 pairs (`--plan` shows them)"
    )
