from hypothesis import given
from hypothesis import strategies as st

from infra.batches import batched


@given(st.lists(st.integers()), st.integers(min_value=1, max_value=10))
def test_batches_hold_all_items_in_their_order_and_all_but_the_last_are_full(
    items: list[int], size: int
) -> None:
    batches = batched(items, size)
    assert [item for batch in batches for item in batch] == items
    assert all(len(batch) == size for batch in batches[:-1])
    assert all(1 <= len(batch) <= size for batch in batches)
