"""Laws of retries: which errors, how often, how long to wait."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llm.reply import TOO_LONG
from agents.llm.retry import Kind, RequestError, RetryClient, backoff_s
from infra.settings import LanguageModelSettings


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (RequestError(408, ""), "transient"),
        (RequestError(409, ""), "transient"),
        (RequestError(429, "slow down"), "transient"),
        (RequestError(500, ""), "transient"),
        (RequestError(529, "overloaded"), "transient"),
        (RequestError(429, "You exceeded your quota: insufficient_quota"), "rejected"),
        (RequestError(400, ""), "rejected"),
        (RequestError(401, ""), "rejected"),
        (RequestError(200, "a page"), "unreadable"),
        (RequestError(502, f"{TOO_LONG} says a server"), "unreadable"),
        (RequestError(402, "Insufficient balance"), "rejected"),
        (RequestError(403, ""), "rejected"),
        (RequestError(404, ""), "rejected"),
        (RequestError(413, ""), "too_long"),
        (RequestError(400, "", of_prompt="too_long"), "too_long"),
        (RequestError(400, "", of_prompt="filtered"), "filtered"),
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
    moment = datetime.now(UTC) + timedelta(seconds=20)
    assert_waits_until(moment, format_datetime(moment, usegmt=True))


@pytest.mark.parametrize("zone", ["", " -0000", " +0000", " GMT"])
def test_a_date_without_a_zone_is_read_as_utc(zone: str) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=20)
    assert_waits_until(moment, f"{moment:%a, %d %b %Y %H:%M:%S}{zone}")


def assert_waits_until(moment: datetime, written: str) -> None:
    """Check that a date, of whole seconds, is waited for, whenever this is run."""
    most = (moment - datetime.now(UTC)).total_seconds()
    waits = backoff_s(0, written, 60)
    assert (moment - datetime.now(UTC)).total_seconds() - 1 < waits <= most


@pytest.mark.parametrize("zone", ["", " -0000"])
def test_a_date_in_the_past_means_now(zone: str) -> None:
    assert backoff_s(0, f"Wed, 21 Oct 2015 07:28:00{zone}", 60) == 0


@pytest.mark.parametrize(
    "header",
    [
        "soon", "nan", "", " ", "-", "0x10", "Wed, 99 Oct 2026 07:28:00 GMT", "Wed, 21 Oct",
        "Wed, 21 Oct 2026 07:28:00 +99999999999", "Fri, 31 Dec 9999 23:59:59 -2359", "\ud800",
    ],
)  # fmt: skip
def test_a_senseless_retry_after_never_raises(header: str) -> None:
    assert 0 <= backoff_s(0, header, 60) <= 60


@given(st.text())
def test_any_retry_after_gives_a_wait_within_bounds(header: str) -> None:
    assert 0 <= backoff_s(0, header, 60) <= 60


def test_a_wait_after_very_many_retries_stays_within_bounds() -> None:
    assert backoff_s(5_000, None, 60) <= 60


SETTINGS = LanguageModelSettings(model="openai/x", max_retries=3)


async def test_transient_errors_are_retried_up_to_the_limit_and_then_raised(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    tries = []

    async def request() -> None:
        tries.append(1)
        raise RequestError(503, "down", retry_after="0.001")

    with pytest.raises(RequestError, match="down"):
        await RetryClient(SETTINGS).get(request)
    assert len(tries) == 4
    assert caplog.messages == ["openai/x: 503, retry in 0.0 s"] * 3


@pytest.mark.parametrize("error", [RequestError(401, "key"), RequestError(413, ""), KeyError("x")])
async def test_other_errors_are_not_retried(error: Exception) -> None:
    tries = []

    async def request() -> None:
        tries.append(1)
        raise error

    with pytest.raises(type(error)):
        await RetryClient(SETTINGS).get(request)
    assert len(tries) == 1
