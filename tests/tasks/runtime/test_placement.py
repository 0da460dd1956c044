"""Laws of where actors are placed."""

import pytest

from infra.errors import EncoderError
from infra.settings import EncoderSettings
from tasks.runtime.placement import Node, places_for

MANY = 100_000


def places(nodes: list[tuple[int, float]], texts: int, **settings: float) -> list[tuple[str, int]]:
    named = [Node(f"n{number}", *node) for number, node in enumerate(nodes)]
    found = places_for(named, texts, EncoderSettings.model_validate(settings))
    for name, cores, gpus in named:
        own = [place for place in found if place.node == name]
        assert sum(place.gpus for place in own) <= gpus
        assert any(place.gpus for place in own) or sum(place.threads for place in own) <= cores
    return sorted((place.node, place.threads) for place in found)


@pytest.mark.parametrize(
    ("nodes", "texts", "settings", "expected"),
    [
        ([(2, 0)], MANY, {}, [("n0", 1)] * 2),
        ([(16, 0)], MANY, {}, [("n0", 2)] * 8),
        ([(3, 0)] * 3, MANY, {"actors": 2}, [("n1", 3), ("n2", 3)]),
        ([(8, 0)] * 2, MANY, {"actors": 5}, [("n0", 4)] * 2 + [("n1", 2)] * 3),
        ([(3, 0), (8, 0), (0, 0)], MANY, {"actors": 4}, [("n0", 3)] + [("n1", 2)] * 3),
        ([(2, 0)], MANY, {"actors": 9}, [("n0", 1)] * 2),
        ([(8, 0)], 799, {}, [("n0", 8)]),
        ([(8, 0)], 800, {}, [("n0", 4)] * 2),
        ([(4, 1)], MANY, {"actors": 2}, [("n0", 4)]),
        ([(4, 1)], MANY, {"gpu_share": 0.3}, [("n0", 1)] * 3),
        ([(8, 2)], MANY, {"gpu_share": 0.4}, [("n0", 2)] * 4),
        ([(8, 8)], MANY, {"gpu_share": 0.6}, [("n0", 1)] * 8),
        ([(8, 2), (64, 0), (4, 1)], MANY, {}, [("n0", 4)] * 2 + [("n2", 4)]),
        ([(0, 2)], MANY, {}, [("n0", 1)] * 2),
    ],
)
def test_each_actor_fits_its_node_beside_the_others(
    nodes: list[tuple[int, float]],
    texts: int,
    settings: dict[str, float],
    expected: list[tuple[str, int]],
) -> None:
    assert places(nodes, texts, **settings) == expected


def test_a_cluster_without_cores_is_an_error_that_says_what_to_start() -> None:
    with pytest.raises(EncoderError, match=r"no node .* core or a GPU.*ray start --num-cpus"):
        places([(0, 0.0)], MANY)
