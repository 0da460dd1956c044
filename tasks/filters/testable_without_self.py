"""The filter ``testable`` for which ``self`` is no input parameter."""

from typing import ClassVar

from tasks.filters import filters
from tasks.filters.testable import HasInputAndResult


@filters.register("testable-without-self")
class HasInputBesideSelf(HasInputAndResult):
    """Keeps functions with an input parameter, ``self`` not counted, and a returned value."""

    counts_self: ClassVar[bool] = False
