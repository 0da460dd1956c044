"""Laws of a query's specification: examples that cannot be read are asked for once more.

Covers `agents.roles.specify`.
"""

import pytest

from agents.committee.trace import TracedModel
from agents.llm.structured_output import schema_of
from agents.roles.judge import GatedArbiter
from agents.roles.read import ExactJudge, Screener
from agents.roles.specify import (
    ClaimsArbiter,
    Specification,
    SpecifiedScreener,
    Specifier,
    ValueReader,
)
from infra.records import LanguageModelCall, Query
from tests.agents.conftest import Bench, rule
from tests.fakes.specified import SPECIFICATION

QUERY = Query.of("python first n items")
GOOD = "f([3, 1, 2], 2) => [3, 1]\nf([4], 5) => [4]\nf([], 1) => []"


async def specified(bench: Bench, *replies: dict[str, object]) -> tuple[Specification, list[str]]:
    bench.serve([rule("specifier", *replies)])
    calls: list[LanguageModelCall] = []
    found = await Specifier(TracedModel(bench.model(), calls)).specify(QUERY)
    return found, [str(call["messages"][1]["content"]) for call in bench.server.calls]


def with_examples(examples: str) -> dict[str, object]:
    return {"reply": SPECIFICATION | {"examples": examples}}


@pytest.mark.parametrize(
    "examples",
    [GOOD, f"Such as these:\n{GOOD}", GOOD.replace("=>", "->")],
    ids=["good", "in prose", "another arrow"],
)
async def test_a_reply_whose_examples_are_read_is_enough(bench: Bench, examples: str) -> None:
    found, asked = await specified(bench, with_examples(examples))
    assert found.examples == examples
    assert len(asked) == 1


ONE, TWO = GOOD.partition("\n")[0], GOOD.partition("\n")[2]


@pytest.mark.parametrize("examples", ["", ONE, TWO])
async def test_too_few_examples_are_asked_for_once_more(bench: Bench, examples: str) -> None:
    found, asked = await specified(bench, with_examples(examples), with_examples(GOOD))
    assert found.examples == GOOD
    assert len(asked) == 2


@pytest.mark.parametrize("reason", [{"cannot_show": "network"}, {"clarity": "underspecified"}])
async def test_a_query_that_examples_cannot_show_is_asked_about_once(
    bench: Bench, reason: dict[str, str]
) -> None:
    found, asked = await specified(bench, {"reply": SPECIFICATION | {"examples": ONE} | reason})
    assert (found.examples, len(asked)) == (ONE, 1)


@pytest.mark.parametrize(
    ("examples", "unread"),
    [
        ("the first two of three", "the first two of three"),
        ("[4], 5 => [4]\n[3, 1, 2] => […]\n[] => […]", "[3, 1, 2] => […]"),
    ],
)
async def test_examples_that_cannot_be_read_are_asked_for_once_more_by_the_rule_they_broke(
    bench: Bench, examples: str, unread: str
) -> None:
    found, (first, second) = await specified(bench, with_examples(examples), with_examples(GOOD))
    assert found.examples == GOOD
    assert first in second
    assert f"\n{unread}\n" in second
    assert "a call of f, =>, its value" in second
    assert second.count("f([3, 1, 2], 2) => [3, 1]\\nf(") == 1, "two whole examples, as in JSON"


@pytest.mark.parametrize(
    "second", [{"text": "no JSON"}, with_examples("none again")], ids=["unreadable", "no better"]
)
async def test_the_first_reply_stands_where_the_second_is_no_better(
    bench: Bench, second: dict[str, object]
) -> None:
    found, asked = await specified(bench, with_examples("1 => 2\nand so on"), second, second)
    assert [*map(str, found.claims)] == ["1 => 2"]
    assert len(asked) in (2, 3)


def test_texts_of_spec_end_where_a_server_decodes_by_the_schema_and_the_papers_have_no_bound() -> (
    None
):
    for agent in (Specifier, SpecifiedScreener, ValueReader, ClaimsArbiter):
        fields = schema_of(agent.reply_type, None)["properties"]
        free = [field for field in fields.values() if "enum" not in field]
        assert all(field["maxLength"] <= 1_200 for field in free), agent.role
        assert next(iter(fields)) in ("reason", "reading"), "it thinks before it judges"
        bounded = schema_of(agent.reply_type, 90)["properties"].values()
        assert {field["maxLength"] for field in bounded if "enum" not in field} == {90}
    for reader in (Screener, ExactJudge, GatedArbiter):
        fields = schema_of(reader.reply_type, None)["properties"].values()
        assert not any("maxLength" in field for field in fields), reader.role
