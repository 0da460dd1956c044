"""The deferral of requests to a batch: those without a reply are collected, not sent."""

import asyncio

from agents.llm.batch.requests import BatchRequests
from infra.errors import ReplyPendingError


class Deferral:
    """Collects a model's requests for the next batch.

    Args:
        requests: Where they are collected.
    """

    def __init__(self, requests: BatchRequests) -> None:
        self._requests = requests

    async def defer(self, key: str, role: str, question: str) -> None:
        """Collect a request; return where batches have failed to answer it: it is to be sent.

        Args:
            key: The reply's key.
            role: Which agent asks.
            question: The request as JSON.

        Raises:
            ReplyPendingError: The reply will come with a batch.
        """
        if await asyncio.to_thread(self._requests.want, key, role, question):
            raise ReplyPendingError(f"the reply to the {role} will come with a batch")

    def is_new(self, key: str) -> bool:
        """Return whether the reply of that key was paid for by this run."""
        return self._requests.is_answered(key)
