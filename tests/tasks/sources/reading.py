"""Reading of whole sources, which are small in tests."""

from infra.collected import Collected, whole
from tasks.corpus.merging import Readable


def read_whole(source: Readable) -> dict[str, Collected]:
    """Return collection name → content, whole in memory."""
    return {name: whole(content) for name, content in source.read().items()}
