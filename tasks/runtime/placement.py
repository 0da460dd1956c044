"""Where actors that embed are placed: a plan over the nodes of a cluster, without Ray itself."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from infra.errors import EncoderUnavailableError
from infra.settings import EncoderSettings

_MOST_ON_A_NODE = 8
_FEWEST_TEXTS = 400  # loading an encoder takes a core about as long as embedding this many texts
_ROUNDING = 1e-9


class Node(NamedTuple):
    """A live node of the cluster, with all its cores and GPUs."""

    name: str
    cores: int
    gpus: float


class Place(NamedTuple):
    """The place of one actor.

    Attributes:
        node: Name of the node.
        threads: Number of threads to compute with.
        gpus: Share of a GPU; 0 on nodes whose cores compute.
    """

    node: str
    threads: int
    gpus: float


def places_for(nodes: Sequence[Node], texts: int, settings: EncoderSettings) -> list[Place]:
    """Return the places of actors, each of which fits its node when nothing else runs there.

    If any node has a GPU, only GPUs compute: a core beside them would be the last to finish.
    Otherwise each node's cores are divided among its own actors. Few texts get few actors, since
    each loads the encoder first.

    Args:
        nodes: The cluster's live nodes.
        texts: Number of texts to embed.
        settings: Maximum number of actors, and the share of a GPU for each.

    Raises:
        EncoderUnavailableError: No node has a core or a GPU.
    """
    share = settings.gpu_share
    on_one = int(1 / share + _ROUNDING)  # an actor's share is of one GPU
    slots = {node: int(node.gpus + _ROUNDING) * on_one for node in nodes}
    on_gpus = any(slots.values())
    if not on_gpus:
        share = 0.0
        most = _MOST_ON_A_NODE if not settings.actors else settings.actors
        slots = {node: min(node.cores, most) for node in nodes}
    total = sum(slots.values())
    if not total:
        raise EncoderUnavailableError(
            "no node of the Ray cluster offers a core or a GPU to encoders; start one that does, "
            "such as `ray start --num-cpus 4`, or unset RAY_ADDRESS to use this machine"
        )
    wanted = min(settings.actors or total, total, max(1, texts // _FEWEST_TEXTS))
    taken: Counter[Node] = Counter()
    for _ in range(wanted):
        free = [node for node in nodes if taken[node] < slots[node]]
        taken[max(free, key=lambda node: (_power(node, share) / (taken[node] + 1), node.name))] += 1
    return [
        Place(node.name, max(1, node.cores // number), share)
        for node, number in taken.items()
        for _ in range(number)
    ]


def _power(node: Node, share: float) -> float:
    return node.gpus if share else float(node.cores)
