"""How claims are run on code of a language: the adapters that are taken, and the program."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from agents.claims import adapter, go, javascript, program
from agents.claims.claim import Claim


class Wrapper(NamedTuple):
    """The way claims are run on code of one language.

    Attributes:
        adapter_fault: Adapter and code → why the adapter cannot be used, "" where it can.
        works_on_arguments: Whether an adapter does more than to put arguments into containers.
        claims_program: Claims, adapter, code, and functions beside it → the test program.
    """

    adapter_fault: Callable[[str, str], str]
    works_on_arguments: Callable[[str], bool]
    claims_program: Callable[[Sequence[Claim], str, str, Collection[str]], str]


WRAPPERS = {
    "python": Wrapper(adapter.adapter_fault, adapter.works_on_arguments, program.claims_program),
    "go": Wrapper(go.adapter_fault, javascript.works_on_arguments, go.claims_program),
    "javascript": Wrapper(
        javascript.adapter_fault, javascript.works_on_arguments, javascript.claims_program
    ),
}
