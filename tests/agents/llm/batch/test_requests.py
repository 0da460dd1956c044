"""Laws of the requests of batches: one that an earlier release collected is not collected again."""

from pathlib import Path

from agents.llm.batch.money import BatchMoney
from agents.llm.batch.records import SentBatch
from agents.llm.batch.requests import BatchRequests
from agents.llm.rate_limit import SharedLimiter
from infra.identity import former_digest
from infra.settings import LanguageModelSettings, StoreSettings

SETTINGS = LanguageModelSettings(model="openai/scripted")
KEY = "ab" * 16


def test_a_request_in_a_batch_of_an_earlier_release_is_waited_for_under_its_shorter_key(
    tmp_path: Path,
) -> None:
    store = StoreSettings(folder=tmp_path)
    requests = BatchRequests(store.replies, SETTINGS)
    former = former_digest(KEY)
    assert requests.want(former, "screener", "{}")
    limiter = SharedLimiter(store.ledgers, SETTINGS)
    ticket = BatchMoney(limiter, requests).reserve("sent", 1, 100, 0.1)
    requests.begin(SentBatch(mark="sent", requests=1, ticket=ticket), [former])
    assert requests.want(KEY, "screener", "{}"), "its reply will come by a batch"
    assert list(requests.waiting()) == [], "it is in one"
    assert not requests.is_answered(KEY)
    requests.end("sent", answered=[former])
    assert requests.is_answered(KEY)
    assert not requests.is_answered("cd" * 16)


def test_a_request_is_collected_under_its_whole_key(tmp_path: Path) -> None:
    requests = BatchRequests(StoreSettings(folder=tmp_path).replies, SETTINGS)
    other = former_digest(KEY) + "0" * 12
    for key in (KEY, other):
        assert requests.want(key, "screener", "{}")
    assert [request.key for request in requests.waiting()] == sorted([KEY, other])
