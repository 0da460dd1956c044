"""Laws of the resources of this machine."""

from infra.machine import physical_memory, usable_cores


def test_this_machine_has_a_core_and_memory() -> None:
    assert usable_cores() >= 1
    assert physical_memory() > 10**8
