"""Laws of the requests of batches."""

from pathlib import Path

import pytest

from infra.errors import ReplyPendingError
from infra.settings import LanguageModelSettings, StoreSettings
from tests.fakes.journals import requests_of

SETTINGS = LanguageModelSettings(model="openai/scripted")
KEY = "ab" * 16


async def test_a_request_is_collected_under_its_whole_key(tmp_path: Path) -> None:
    requests = requests_of(StoreSettings(folder=tmp_path), SETTINGS)
    other = KEY[:20] + "0" * 12
    for key in (KEY, other):
        with pytest.raises(ReplyPendingError):
            await requests.defer(key, "screener", "{}")
    assert [request.key for request in requests.waiting()] == sorted([KEY, other])


def test_looking_for_requests_and_forgetting_them_makes_no_journal(tmp_path: Path) -> None:
    requests = requests_of(StoreSettings(folder=tmp_path), SETTINGS)
    requests.forget_waiting()
    requests.clear()
    assert (requests.roles_waiting(), requests.sent(), requests.is_new(KEY)) == ({}, [], False)
    assert list(tmp_path.iterdir()) == []
