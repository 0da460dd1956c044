"""Links in folders that are read, which others may have written.

A link is followed where it leads to a place in the same folder. One that leads outside would bring
files in that the folder's author does not have, under the folder's name and licence: it is named.
"""

import os
from pathlib import Path

LINK_OUTSIDE = "link-outside"  # the rule by which items are counted that are left out for it


def leads_outside(path: Path, folder: Path) -> bool:
    """Return True if a path in a folder is, or lies behind, a link that leads outside of it.

    A folder below ``snapshots`` in the hub's cache has its files in ``blobs`` beside that.
    """
    place, found = Path(os.path.realpath(folder)), Path(os.path.realpath(path))
    caches = [parent.parent / "blobs" for parent in place.parents if parent.name == "snapshots"]
    return not any(map(found.is_relative_to, (place, *caches)))
