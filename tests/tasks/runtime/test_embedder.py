"""Laws of the actors that embed."""

import pytest

from tasks.runtime.embedder import number_of_actors


@pytest.mark.parametrize(
    ("wanted", "sizes", "number"),
    [
        (8, [], 1),
        (8, [8, 8], 1),
        (8, [400, 300], 1),
        (8, [400, 400], 2),
        (2, [5_000] * 8, 2),
        (8, [5_000], 1),
        (8, [100] * 8, 2),
    ],
)
def test_an_actor_is_started_for_texts_that_are_worth_loading_an_encoder(
    wanted: int, sizes: list[int], number: int
) -> None:
    assert number_of_actors(wanted, sizes) == number
