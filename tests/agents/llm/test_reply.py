"""Laws of kept replies: found by all, kept whole, and nothing absurd in them."""

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

from agents.llm.ledger import JournalLedger
from agents.llm.reply import RawReply
from infra.errors import UnrecordableError
from infra.journal import Journal
from infra.settings import LanguageModelSettings
from tests.fakes.journals import keep

REPLY = RawReply(text="yes ✓", prompt_tokens=3, completion_tokens=1, seconds=0.5)
KEY = "ab" + "0" * 18


def content_of(reply: RawReply) -> bytes:
    return reply.model_dump_json().encode()


async def find_reply(journal: Journal, key: str) -> RawReply | None:
    return await JournalLedger(journal, LanguageModelSettings(model="openai/x")).find(key)


def keep_reply(journal: Journal, reply: RawReply) -> None:
    keep(journal, KEY, content_of(reply)).result()


async def test_a_kept_reply_is_found_by_all_on_the_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite")
    assert await find_reply(journal, KEY) is None
    keep_reply(journal, REPLY)
    assert await find_reply(journal, KEY) == REPLY
    assert await find_reply(Journal(tmp_path / "journal.sqlite"), KEY) == REPLY


def test_what_was_not_kept_is_absent_and_looking_for_it_makes_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "nowhere" / "journal.sqlite")
    assert asyncio.run(find_reply(journal, KEY)) is None
    assert list(tmp_path.iterdir()) == []


async def test_replies_in_flight_are_kept_together(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite")
    keys = [f"{number:020x}" for number in range(300)]
    kept_soon = (keep(journal, key, content_of(RawReply(text=key))) for key in keys)
    await asyncio.gather(*map(asyncio.wrap_future, kept_soon))
    assert [found.text for key in keys if (found := await find_reply(journal, key))] == keys


DAMAGES = [
    b"",
    b'{"text": "ye',
    b"\xff\xfe",
    b'{"words": "yes"}',
    b"[1]",
    b"null",
    b"\0" * 99,
    b'{"text": 5}',
]


@pytest.mark.parametrize("content", DAMAGES)
async def test_an_unreadable_reply_is_left_out_with_a_warning_and_replaced(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    keep(Journal(tmp_path / "journal.sqlite"), KEY, content).result()
    journal = Journal(tmp_path / "journal.sqlite")
    assert await find_reply(journal, KEY) is None
    assert KEY in caplog.text
    keep_reply(journal, REPLY)
    assert await find_reply(journal, KEY) == REPLY


def test_a_reply_that_cannot_be_written_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file in the place of the folder")
    with pytest.raises(UnrecordableError, match="make room there, or make the file and its folder"):
        keep_reply(Journal(tmp_path / "store" / "journal.sqlite"), REPLY)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("cut \ud83d", "cut \ufffd"),
        ("\ude00 cut", "\ufffd cut"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\udc80\ud800", "\ufffd\ufffd"),
        ("\U0001f600 ✓", "\U0001f600 ✓"),
    ],
)
async def test_lone_surrogates_of_a_reply_are_replaced(
    tmp_path: Path, text: str, kept: str
) -> None:
    reply = RawReply(text=text)
    keep_reply(Journal(tmp_path / "journal.sqlite"), reply)
    found = await find_reply(Journal(tmp_path / "journal.sqlite"), KEY)
    assert found == reply
    assert reply.text == kept


@pytest.mark.parametrize(
    "count", [-1, 2**31, 2**70, -(2**70), 12.5, 1e300, math.inf, math.nan, "7", "many", True, [3]]
)
async def test_a_count_of_tokens_that_cannot_be_true_is_unknown(tmp_path: Path, count: Any) -> None:
    reply = RawReply(text="", prompt_tokens=count, completion_tokens=count)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.tokens) == (None, None, 0)
    keep_reply(Journal(tmp_path / "journal.sqlite"), reply)
    assert await find_reply(Journal(tmp_path / "journal.sqlite"), KEY) == reply


@pytest.mark.parametrize(("count", "known"), [(0, 0), (7, 7), (12.0, 12), (10**6, 10**6)])
def test_a_plausible_count_of_tokens_is_kept(count: Any, known: int) -> None:
    assert RawReply(text="", prompt_tokens=count).prompt_tokens == known


@pytest.mark.parametrize("cost", [-0.01, 1e9, math.inf, -math.inf, math.nan, "free", True, [1]])
def test_a_price_that_cannot_be_true_is_unknown(cost: Any) -> None:
    assert RawReply(text="", cost_usd=cost).cost_usd is None


@pytest.mark.parametrize("cost", [0, 0.0, 1e-9, 3])
def test_a_plausible_price_is_kept(cost: float) -> None:
    assert RawReply(text="", cost_usd=cost).cost_usd == cost
