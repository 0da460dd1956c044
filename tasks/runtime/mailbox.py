"""The queue by which Ray workers send annotations to the flow's process."""

from typing import Any, Protocol

import ray

from infra.records import Annotation


class Recipient(Protocol):
    """Where annotations go the moment they are made."""

    def put(self, annotation: Annotation) -> bool:
        """Take one annotation; tell whether more are wanted."""
        ...


class Outbox(Recipient, Protocol):
    """A shard's way to the flow's process (`tasks.runtime.embedder.Mailbox`)."""

    def drain(self) -> list[Annotation]:
        """Return what has come in since the last call."""
        ...

    def finished(self) -> set[tuple[str, str]]:
        """Return (query, code) of all finished pairs that came in."""
        ...

    def close(self) -> None:
        """Want no more annotations."""
        ...


class Letterbox:
    """The actor that takes annotations from the shards the moment they are made."""

    def __init__(self) -> None:
        self._waiting: list[Annotation] = []
        self._finished: set[tuple[str, str]] = set()
        self._open = True

    def put(self, annotation: Annotation) -> bool:
        """Take one annotation; tell whether more are wanted."""
        self._waiting.append(annotation)
        if annotation.status != "failed":
            self._finished.add((annotation.query_id, annotation.code_id))
        return self._open

    def close(self) -> None:
        """Want no more; what is on its way is still taken."""
        self._open = False

    def drain(self) -> list[Annotation]:
        """Give away what has come in since the last call."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def finished(self) -> set[tuple[str, str]]:
        """Return (query, code) of all finished pairs that came in, for a shard that is retried."""
        return self._finished


class Mailbox:
    """A shard's way to the flow's process; it can be sent to workers."""

    def __init__(self) -> None:
        self._actor: Any = ray.remote(num_cpus=0)(Letterbox).remote()

    def put(self, annotation: Annotation) -> bool:
        """Send one annotation; return, when it has arrived, whether more are wanted."""
        return bool(ray.get(self._actor.put.remote(annotation)))

    def close(self) -> None:
        """Want no more annotations."""
        ray.get(self._actor.close.remote())

    def drain(self) -> list[Annotation]:
        """Return what has come in since the last call."""
        return list(ray.get(self._actor.drain.remote()))

    def finished(self) -> set[tuple[str, str]]:
        """Return (query, code) of all finished pairs that came in."""
        return set(ray.get(self._actor.finished.remote()))
