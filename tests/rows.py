"""Rows of a law, of which the first tier runs the first few."""

from collections.abc import Iterable
from typing import Any

import pytest


def first_rows(number: int, rows: Iterable[Any]) -> list[object]:
    """Return rows for ``parametrize``: all after the first are left to `make test-all`."""
    return [
        pytest.param(row, marks=() if place < number else pytest.mark.exhaustive)
        for place, row in enumerate(rows)
    ]
