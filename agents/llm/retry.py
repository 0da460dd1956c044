"""Patience with providers: what a failed request means and how long to wait."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

Meaning = Literal["transient", "declined", "refused"]

_FIRST_WAIT_S = 0.5
_TRANSIENT = {408, 409, 429}
_DECLINED_TYPES = {"ContextWindowExceededError", "ContentPolicyViolationError"}
_EXHAUSTED = "insufficient_quota"  # a 429 that no waiting mends


@dataclass(eq=False)
class RequestError(Exception):
    """A request that brought no reply, in the provider's terms."""

    status: int
    message: str
    kind: str = ""
    retry_after: str | None = None

    @property
    def meaning(self) -> Meaning:
        """Whether to ask again, to give this prompt up, or to stop the run."""
        if self.kind in _DECLINED_TYPES or self.status == 413:
            return "declined"
        if _EXHAUSTED in self.message:
            return "refused"
        is_refusal = 400 <= self.status < 500  # while a 200 is a proxy's page instead of a reply
        return "refused" if is_refusal and self.status not in _TRANSIENT else "transient"


def wait_before(retry: int, retry_after: str | None, longest_s: float) -> float:
    """Return the seconds to wait before a retry (counted from 0).

    The provider's Retry-After is honoured; without one the wait doubles each time, with jitter so
    that workers who failed together don't return together. Neither exceeds ``longest_s``.
    """
    asked = _seconds(retry_after)
    if asked is not None:
        return min(asked, longest_s)
    spread: float = random.uniform(0.5, 1)  # noqa: S311 - spreads load, guards nothing
    return min(_FIRST_WAIT_S * 2.0**retry, longest_s) * spread


def _seconds(retry_after: str | None) -> float | None:
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
