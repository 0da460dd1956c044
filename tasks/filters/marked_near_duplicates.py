"""The filter that names near duplicates among functions, and keeps them."""

from typing import ClassVar

from tasks.filters import filters
from tasks.filters.near_duplicates import NearDuplicates


@filters.register("marked-near-duplicates")
class MarkedNearDuplicates(NearDuplicates):
    """Keeps all functions, and names near duplicates: of one's own code none is to lack."""

    is_left_out: ClassVar[bool] = False
