"""The filter ``testable`` for which ``self`` is no input parameter."""

from tasks.filters import filters
from tasks.filters.testable import InputAndResultRule


@filters.register("testable-without-self")
class HasInputBesideSelf(InputAndResultRule):
    """Keeps functions with an input parameter, ``self`` not counted, and a returned value."""

    def __init__(self) -> None:
        super().__init__(counts_self=False)
