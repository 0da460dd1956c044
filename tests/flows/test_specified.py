"""The law of judging by specifications: one a query, from its candidates to export and report."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.fakes.specified import SPECIFICATION
from tests.flows.world import Case, World, environment, rule

pytestmark = [
    pytest.mark.docker, pytest.mark.slow, pytest.mark.nightly, pytest.mark.usefixtures("engine"),
]  # fmt: skip

LETTERS = Case(
    "reverse the characters of a string",
    "def reverse_string(text):\n    return text[::-1]",
    (),
)
WORDS = Case(
    "python turn around a sentence",
    'def reverse_words(text):\n    return " ".join(text.split()[::-1])',
    (),
)
UNDERSPECIFIED = SPECIFICATION | {"examples": "", "clarity": "underspecified"}


def screened(case: Case, name: str, verdict: str, adapter: str = "") -> dict[str, Any]:
    reply = {"reason": "as scripted", "verdict": verdict, "adapter": adapter, "call": ""}
    return rule("screener", {"reply": reply}) | {"query": case.query, "code": name}


def of_query(role: str, case: Case, **reply: str) -> dict[str, Any]:
    return rule(role, {"reply": reply}) | {"query": case.query}


SCRIPT = [
    of_query("specifier", LETTERS, **SPECIFICATION),
    of_query("specifier", WORDS, **UNDERSPECIFIED),
    screened(
        LETTERS,
        "reverse_string",
        "clear_match",
        "def answer(text):\n    return reverse_string(text)",
    ),
    screened(
        LETTERS,
        "reverse_words",
        "unclear_behaviour",
        "def answer(text):\n    return reverse_words(text)",
    ),
    of_query("value_reader", LETTERS, reason="from the end to the beginning", value="'cba'"),
    screened(WORDS, "reverse_string", "clear_non_match"),
    screened(WORDS, "reverse_words", "unclear_query"),
    of_query("claims_arbiter", WORDS, reason="it turns the words around", verdict="answers"),
]


def test_a_query_is_specified_once_and_all_that_follows_from_it_is_shown(
    folder: Path, prefect_server: str
) -> None:
    settings = {"COSQA_ANNOTATION__CONFIGURATION": "spec", "COSQA_EVALUATION__METHODS": '["bm25"]'}
    with ScriptedServer(SCRIPT) as model:
        env = environment(model.base_url, PREFECT_API_URL=prefect_server, **settings)
        world = World(folder, env)
        world.write([LETTERS, WORDS], labels=False)
        done = world.run("benchmark", "--top-k", "2")
        assert done.returncode == 0, done.stdout[-5000:]
        asked = {role: model.count(role) for role in ("specifier", "screener", "value_reader")}
    assert asked == {"specifier": 2, "screener": 4, "value_reader": 1}
    assert sorted(world.rows("SELECT path, label, decided_by FROM annotations")) == [
        ("claims_fail", 0, "claims"),
        ("claims_hold", 1, "claims"),
        ("clear_non_match", 0, "screener"),
        ("unclear_query", 1, "arbiter"),
    ]
    export = world.output / "jsonl-agents"
    rows = pq.read_table(export / "specifications.parquet").to_pylist()
    assert sorted((len(row["examples"]), row["is_underspecified"]) for row in rows) == [
        (0, True),
        (3, False),
    ]
    counts = json.loads((export / "manifest.json").read_text())["counts"]
    assert (counts["queries_specified"], counts["queries_underspecified"]) == (2, 1)
    page = (world.output / "report.html").read_text()
    assert page.count("What the query demands") == 4
    assert page.count('<span class="badge open">underspecified</span>') == 2
    [(query, code)] = world.rows(
        "SELECT query_id, code_id FROM annotations WHERE path = 'claims_fail'"
    )
    shown = world.finish(
        [*world.command_on_folder("pair")[:2], "--store", str(world.store), str(query), str(code)]
    )
    assert "answer('abc') => 'cba' gave 'abc' · a second reader demands 'cba'" in shown.stdout
    replayed = world.run("annotate", "--replay")
    assert replayed.returncode == 0, replayed.stdout[-5000:]
