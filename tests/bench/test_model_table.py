"""Laws of the table of real models: its sample, its figures and its rows."""

from pathlib import Path
from typing import Any

import pytest

from infra.records import Annotation
from tests.bench.model_table import COLUMNS, figures_of, gain_of_evidence, sample, write_row
from tests.bench.provable_pairs.made import ProvedPair

HEAD = f"| {' | '.join(COLUMNS)} |\n| --- |\n"


def pair(query: int, kind: str, label: int, wrong: float = 0.0) -> ProvedPair:
    return ProvedPair(f"q{query}", f"{kind} of {query}", label, kind, wrong, {})


def judged(label: int | None, **fields: Any) -> Annotation:
    status = "undecided" if label is None else "labelled"
    given = {"query_id": "q", "code_id": "c", "recipe_id": "r", "path": "p", "status": status}
    return Annotation.model_validate({**given, "label": label, **fields})


def call(status: str = "ok") -> dict[str, Any]:
    return {
        "role": "screener", "attempt": 1, "model": "m", "prompt_digest": "d", "status": status,
        "prompt_tokens": 90, "completion_tokens": 10, "seconds": 3.0,
    }  # fmt: skip


def test_of_each_query_one_pair_is_taken_and_every_other_one_matches() -> None:
    kinds = (("answer", 1, 0.0), ("broken 1", 0, 0.9), ("broken 4", 0, 0.1), ("another's", 0, 1.0))
    pairs = [pair(query, *kind) for query in range(5) for kind in kinds]
    assert [one.kind for one in sample(pairs)] == [
        "answer", "broken 4", "answer", "another's", "answer",
    ]  # fmt: skip


def test_a_row_has_the_figures_of_all_replies_those_from_the_store_too() -> None:
    pairs = [pair(number, "answer", label) for number, label in enumerate((1, 0, 1, 0))]
    items = [
        judged(1, support="valid_oracle", calls=(call(), call())), judged(0, calls=(call(),)),
        judged(0, calls=(call(),)), judged(None, calls=(call("unreadable"), call("unreadable"))),
    ]  # fmt: skip
    assert figures_of("m", "spec", pairs, items) == [
        "m", "spec", "4", "50.0% (15.0% to 85.0%)", "0.44", "1 of 4", "2 of 6", "1", "150", "4",
    ]  # fmt: skip


def test_what_evidence_gains_is_told_against_reading_alone_whatever_it_is() -> None:
    pairs = [pair(number, "answer", 1) for number in range(4)]
    by_name = {
        "single": [judged(label) for label in (1, 1, 0, 0)],
        "spec": [judged(label) for label in (1, 0, None, 1)],
    }
    told = "spec: right where `single` is wrong 1, wrong where it is right 1, share +0.0%"
    assert gain_of_evidence(pairs, by_name) == [told]
    assert gain_of_evidence(pairs, {"spec": by_name["spec"]}) == []


@pytest.mark.parametrize(
    ("rows", "after"),
    [
        ("", "| m | spec | 2 |\n"),
        ("| m | spec | 1 |\n| z | spec | 1 |\n", "| m | spec | 2 |\n| z | spec | 1 |\n"),
        ("| m | single | 1 |\n", "| m | single | 1 |\n| m | spec | 2 |\n"),
    ],
)  # fmt: skip
def test_a_row_replaces_that_of_the_same_model_and_configuration(
    tmp_path: Path, rows: str, after: str
) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"# Page\n\n{HEAD}{rows}\nMore.\n")
    write_row(page, ["m", "spec", "2"])
    assert page.read_text() == f"# Page\n\n{HEAD}{after}\nMore.\n"
