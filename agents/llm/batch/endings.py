"""Endings of batches: which stop a run, and what of their bill is believed."""

from agents.llm.batch.api import ProviderBatch
from agents.llm.batch.incoming import Incoming
from agents.llm.batch.messages import WAY_OUT
from agents.llm.batch.records import SentBatch
from agents.llm.question import UNSEEN_TOKENS
from infra.errors import ModelRefusedError, ModelUnavailableError

_LONGEST_S = 36 * 3600.0
_TOKEN_LIMIT = "token limit"  # noqa: S105 - in the error of an account with too much in its queue
_MIN_REFUSED = 10  # requests; fewer may be of prompts that are refused for themselves


def refuse_endless(model: str, state: ProviderBatch, seen_s: float) -> None:
    """Raise where a batch goes on for longer than any may.

    Args:
        model: The model.
        state: What the provider says.
        seen_s: Seconds since this run looked at it first.

    Raises:
        ModelUnavailableError: It goes on for too long.
    """
    if seen_s > _LONGEST_S:
        raise ModelUnavailableError(
            f"batch {state.batch_id} of {model} has been {state.status} for "
            f"{_LONGEST_S / 3600:.0f} hours, though it may take 24: cancel it at the provider and "
            f"run the same command again, or {WAY_OUT}"
        )


def refuse_failed(model: str, batch: SentBatch, state: ProviderBatch) -> None:
    """Raise where a batch failed, but not because the account's queue had no room for it.

    Raises:
        ModelRefusedError: It failed for another reason, or could not be smaller.
    """
    is_too_much = _TOKEN_LIMIT in state.problem.lower().replace("_", " ")
    if not is_too_much or batch.requests == 1:
        raise ModelRefusedError(
            f"{model}: the provider refused batch {state.batch_id} ({state.problem}): remove the "
            f"cause and run the same command again, or {WAY_OUT}"
        )


def refuse_hopeless(model: str, batch: SentBatch, state: ProviderBatch, incoming: Incoming) -> None:
    """Raise where another batch would end alike.

    Raises:
        ModelRefusedError: It was cancelled, or all of its requests were refused.
        ModelUnavailableError: It has ended without a reply.
    """
    told = f"batch {state.batch_id} of {model}"
    if state.status == "cancelled":
        raise ModelRefusedError(
            f"{told} was cancelled at the provider: the replies that had come are kept; run "
            f"the same command again to submit the others, or {WAY_OUT}"
        )
    if incoming.answered:
        return
    if state.status == "expired":
        raise ModelUnavailableError(
            f"{told} expired with none of its {batch.requests:,} requests answered: run the "
            f"same command again later, or {WAY_OUT}"
        )
    if len(incoming.missing) >= _MIN_REFUSED:
        raise ModelUnavailableError(
            f"{told} has ended without a result of {len(incoming.missing):,} of its "
            f"{batch.requests:,} requests, and without a reply: look at it at the provider, "
            f"then run the same command again, which submits them anew, or {WAY_OUT}"
        )
    if len(incoming.refused) >= _MIN_REFUSED:
        raise ModelRefusedError(
            f"{told}: all of its {batch.requests:,} requests were refused, the last with "
            f"{incoming.problem}; {WAY_OUT}"
        )


def believable(
    incoming: Incoming, batch: SentBatch, untold: tuple[float, float | None]
) -> tuple[float, float | None]:
    """Return the tokens and the price of a batch; as reserved where so much cannot be true.

    Args:
        incoming: What has come of it.
        batch: The batch.
        untold: The most that the requests took which do not tell it.
    """
    if incoming.tokens > batch.ticket.tokens + UNSEEN_TOKENS * batch.requests:
        return batch.ticket.tokens, None
    tokens, usd = untold
    known = usd is not None and incoming.usd is not None
    return incoming.tokens + tokens, (incoming.usd or 0.0) + (usd or 0.0) if known else None
