"""Work that runs boxes goes where Docker is, on clusters that say where."""

import pytest
import ray

from infra.ray import box_resources


@pytest.mark.parametrize(
    ("declared", "asked"),
    [
        ({"CPU": 4.0}, {}),
        ({"CPU": 4.0, "docker": 2.0}, {"docker": 1.0}),
    ],
)
def test_docker_is_asked_for_where_some_node_declares_it(
    monkeypatch: pytest.MonkeyPatch, declared: dict[str, float], asked: dict[str, float]
) -> None:
    monkeypatch.setattr(ray, "cluster_resources", lambda: declared)
    assert box_resources() == asked
