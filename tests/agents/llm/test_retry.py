from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from agents.llm.retry import Kind, RequestError, backoff_s


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (RequestError(408, ""), "transient"),
        (RequestError(409, ""), "transient"),
        (RequestError(429, "slow down"), "transient"),
        (RequestError(500, ""), "transient"),
        (RequestError(529, "overloaded"), "transient"),
        (RequestError(429, "You exceeded your quota: insufficient_quota"), "refused"),
        (RequestError(400, ""), "refused"),
        (RequestError(401, ""), "refused"),
        (RequestError(402, "Insufficient balance"), "refused"),
        (RequestError(403, ""), "refused"),
        (RequestError(404, ""), "refused"),
        (RequestError(413, ""), "declined"),
        (RequestError(400, "", error_type="ContextWindowExceededError"), "declined"),
        (RequestError(400, "", error_type="ContentPolicyViolationError"), "declined"),
    ],
)
def test_a_failed_request_means(error: RequestError, meaning: Kind) -> None:
    assert error.kind == meaning


def test_the_wait_doubles_with_jitter_up_to_its_limit() -> None:
    for retry, most in enumerate([0.5, 1, 2, 4, 5, 5]):
        waits = [backoff_s(retry, None, 5) for _ in range(50)]
        assert most / 2 <= min(waits) < max(waits) <= most


@pytest.mark.parametrize(("asked", "wait"), [("3", 3), ("0.25", 0.25), ("3600", 60), ("-1", 0)])
def test_retry_after_is_honoured_up_to_the_limit(asked: str, wait: float) -> None:
    assert backoff_s(0, asked, 60) == wait


def test_retry_after_may_be_a_date() -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    assert 18 < backoff_s(0, moment, 60) <= 20


def test_a_senseless_retry_after_is_ignored() -> None:
    assert 0.25 <= backoff_s(0, "soon", 60) <= 0.5
