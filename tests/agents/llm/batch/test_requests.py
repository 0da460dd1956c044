"""Laws of the requests of batches."""

from pathlib import Path

from agents.llm.batch.requests import BatchRequests
from infra.settings import LanguageModelSettings, StoreSettings

SETTINGS = LanguageModelSettings(model="openai/scripted")
KEY = "ab" * 16


def test_a_request_is_collected_under_its_whole_key(tmp_path: Path) -> None:
    requests = BatchRequests(StoreSettings(folder=tmp_path).replies, SETTINGS)
    other = KEY[:20] + "0" * 12
    for key in (KEY, other):
        assert requests.want(key, "screener", "{}")
    assert [request.key for request in requests.waiting()] == sorted([KEY, other])
