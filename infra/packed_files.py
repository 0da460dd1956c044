"""The files of a packed store: the first one, and those that took a damaged one's place.

They are numbered without a gap, and replaced ones are removed from the lowest number on. So the one
in use is the last before a gap, whatever was removed, and copies that users name otherwise count
for nothing.
"""

import re
from itertools import count, takewhile
from pathlib import Path

_NUMBER = re.compile(r"-([1-9]\d*)$")


def files_of(first: Path) -> list[Path]:
    """Return the files of a packed store that are there, in order: the one in use is the last."""
    beside = first.parent.glob(f"{first.stem}*.sqlite")
    numbers = {_number(file): file for file in beside if first_of(file) == first}
    lowest = min(numbers, default=0)
    return [numbers[place] for place in takewhile(numbers.__contains__, count(lowest))]


def current_file(first: Path) -> Path:
    """Return the file in use; the first one, which may be absent, where there is none."""
    return (files_of(first) or [first])[-1]


def file_after(file: Path) -> Path:
    """Return the file that takes the place of a damaged one."""
    first = first_of(file)
    return first.with_stem(f"{first.stem}-{_number(file) + 1}")


def first_of(file: Path) -> Path:
    """Return the first file of the packed store that a file would belong to."""
    return file.with_stem(_NUMBER.sub("", file.stem))


def remove_packed(file: Path) -> None:
    """Remove a SQLite file with what SQLite keeps beside it, and that first of all.

    A journal that outlives its file would be applied to the next one of that name.
    """
    for suffix in ("-journal", "-wal", "-shm", ""):
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def _number(file: Path) -> int:
    found = _NUMBER.search(file.stem)
    return int(found[1]) if found else 0
