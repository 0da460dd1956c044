from pathlib import Path

import pytest

from agents.llm.cache import RawReply, ReplyCache

REPLY = RawReply(text="yes ✓", prompt_tokens=3, completion_tokens=1, seconds=0.5)
KEY = "ab" + "0" * 18


def test_a_kept_reply_is_found_by_every_store_on_the_folder(tmp_path: Path) -> None:
    ReplyCache(tmp_path).keep(KEY, REPLY)
    assert ReplyCache(tmp_path).find(KEY) == REPLY
    assert (tmp_path / "ab" / f"{'0' * 18}.json").is_file()


def test_what_was_not_kept_is_absent(tmp_path: Path) -> None:
    assert ReplyCache(tmp_path / "nowhere").find(KEY) is None


@pytest.mark.parametrize("content", [b"", b'{"text": "ye', b"\xff\xfe", b'{"words": "yes"}'])
def test_a_damaged_file_counts_as_absent_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    store = ReplyCache(tmp_path)
    store.keep(KEY, REPLY)
    (tmp_path / "ab" / f"{'0' * 18}.json").write_bytes(content)
    assert store.find(KEY) is None
    store.keep(KEY, REPLY)
    assert store.find(KEY) == REPLY


def test_nothing_is_left_beside_a_kept_reply(tmp_path: Path) -> None:
    ReplyCache(tmp_path).keep(KEY, REPLY)
    assert [file.name for file in (tmp_path / "ab").iterdir()] == [f"{'0' * 18}.json"]
