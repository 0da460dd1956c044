"""A stand-in for Ray that places actors at once, or as told; time passes as it is waited for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from ray.exceptions import ActorUnavailableError

from infra.summaries import EncodingEffort

_GONE = ActorUnavailableError("refused", None)


@dataclass
class FakeRay:
    """What `tasks.runtime.actors` uses of Ray; its actors answer with one vector a text.

    Attributes:
        nodes_with: (cores, GPUs) of each node.
        refused: What ``__ray_ready__`` of each actor raises, None for nothing.
        failed: What a batch raises, None for nothing.
        refuses: Whether an actor, by its number, is gone before it is placed.
        is_gone: Whether an actor, by its number, is with a node that is gone: its batches raise.
        now: Seconds that were waited for, or that a test lets pass.
        is_up: Whether an actor, by its number, answers.
    """

    nodes_with: Sequence[tuple[int, float]]
    refused: Exception | None = None
    failed: Exception | None = None
    now: float = 0.0
    is_up: Callable[[int], bool] = lambda _: True
    refuses: Callable[[int], bool] = lambda _: False
    is_gone: Callable[[int], bool] = lambda _: False
    options: list[dict[str, Any]] = field(default_factory=list)
    arguments: list[tuple[Any, ...]] = field(default_factory=list)
    batches_of: list[int] = field(default_factory=list)
    killed: list[int] = field(default_factory=list)

    def nodes(self) -> list[dict[str, Any]]:
        """Return the nodes as Ray describes them."""
        return [
            {
                "NodeID": f"{number + 1:056x}",
                "Alive": True,
                "Resources": {"CPU": cores, "GPU": gpus},
            }
            for number, (cores, gpus) in enumerate(self.nodes_with)
        ]

    def available_resources(self) -> dict[str, float]:
        """Return that nothing is free."""
        return {}

    def remote(self, _kind: type) -> Any:
        """Return a class of actors."""
        return SimpleNamespace(options=self._with_options)

    def _with_options(self, **options: Any) -> Any:
        return SimpleNamespace(remote=lambda *arguments: self._actor(options, arguments))

    def _actor(self, options: dict[str, Any], arguments: tuple[Any, ...]) -> Any:
        number = len(self.options)
        self.options.append(options)
        self.arguments.append(arguments)
        self.batches_of.append(0)

        def embed(texts: Sequence[str], _kind: str) -> "Reference":
            self.batches_of[number] += 1
            effort = EncodingEffort(texts=len(texts), seconds=6)
            failed = _GONE if self.is_gone(number) else self.failed
            return Reference(number, failed or (np.ones((len(texts), 1), np.float32), effort))

        return SimpleNamespace(
            number=number,
            __ray_ready__=SimpleNamespace(
                remote=lambda: Reference(number, _GONE if self.refuses(number) else self.refused)
            ),
            embed=SimpleNamespace(remote=embed),
        )

    def wait(
        self, references: Sequence["Reference"], *, num_returns: int, timeout: float
    ) -> tuple[list["Reference"], list["Reference"]]:
        """Return the first that are done, and the others; time passes where there is none."""
        assert 0 < num_returns <= len(references)
        done = [one for one in references if self.is_up(one.actor)][:num_returns]
        self.now += 0 if done else timeout
        return done, [one for one in references if one not in done]

    def get(self, reference: "Reference") -> Any:
        """Return or raise what was answered."""
        if isinstance(reference.answer, Exception):
            raise reference.answer
        return reference.answer

    def kill(self, handle: Any) -> None:
        """End an actor."""
        self.killed.append(handle.number)


class Reference:
    """A call of an actor, and its answer."""

    def __init__(self, actor: int, answer: Any) -> None:
        self.actor = actor
        self.answer = answer
