"""Laws of the re-ranker, against a scripted server."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from agents import Reranker, build_model
from infra.errors import UnreadableReplyError
from infra.records import Code, Query
from infra.settings import LanguageModelSettings, Settings, StoreSettings
from tests.agents.conftest import QUICK, rule
from tests.fakes.llm_server import KEY, ScriptedServer

QUERY = Query.of("python reverse a list")
CODES = [Code.of(f"def f{n}():\n    return {n}") for n in range(4)]


async def ordered(
    folder: Path, *steps: dict[str, object], codes: Sequence[Code] = CODES
) -> list[int]:
    with ScriptedServer([rule("reranker", *steps)]) as server:
        model = LanguageModelSettings.model_validate(
            QUICK | {"base_url": server.base_url, "api_key": KEY}
        )
        language_model = build_model(Settings(llm=model, store=StoreSettings(folder=folder)))
        try:
            return await Reranker(language_model).order(QUERY, codes)
        finally:
            await language_model.close()


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ([3, 1, 4, 2], [2, 0, 3, 1]),
        ([2], [1, 0, 2, 3]),
        ([9, 0, -1, 4, 4], [3, 0, 1, 2]),
        ([], [0, 1, 2, 3]),
    ],
)
async def test_an_order_holds_every_function_once(
    tmp_path: Path, reply: list[int], expected: list[int]
) -> None:
    order = await ordered(tmp_path, {"reply": {"order": reply}})
    assert order == expected


@pytest.mark.parametrize("number", [0, 1])
async def test_no_model_is_asked_for_the_order_of_fewer_than_two(
    tmp_path: Path, number: int
) -> None:
    refused = {"status": 401, "message": "no such key"}
    assert await ordered(tmp_path, refused, codes=CODES[:number]) == list(range(number))


async def test_what_cannot_be_read_is_an_error_and_no_order(tmp_path: Path) -> None:
    with pytest.raises(UnreadableReplyError):
        await ordered(tmp_path, {"text": "the third, I think"})
