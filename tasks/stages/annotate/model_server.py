"""The server of the embedded model."""

from collections.abc import Iterator
from contextlib import contextmanager

from agents import Endpoint
from agents.llm.embedded import embedded_server, find_model_file
from infra.settings import LanguageModelSettings


@contextmanager
def served_model(settings: LanguageModelSettings) -> Iterator[Endpoint | None]:
    """Serve the embedded model during a ``with``; yield None for any other model."""
    if not settings.is_demo:
        yield None
        return
    with embedded_server(find_model_file()) as endpoint:
        yield endpoint
