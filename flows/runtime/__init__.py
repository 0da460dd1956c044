"""Support for flows.

``prefect_server`` is the configured Prefect server or a private one, ``command_run`` the run of a
command there. ``runs`` is what all flows share, ``approval`` how people approve what they do, and
``working_folder`` keeps Prefect from settings of a folder.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prefect import State

    from tasks.runtime.input_checks import ValidatedInputs


def flow_state(name: str, ready: "ValidatedInputs", **arguments: object) -> "State[Any]":
    """Run the flow of a name and return its final state, as `command_run.flow_state`.

    It takes what its command has checked. Prefect is imported with it, which a command that has
    nothing to do never calls.
    """
    from flows.runtime import command_run  # noqa: PLC0415 - takes as long as all else
    from tasks.runtime.input_checks import handed_on  # noqa: PLC0415

    with handed_on(ready):
        return command_run.flow_state(name, settings=ready.given, **arguments)
