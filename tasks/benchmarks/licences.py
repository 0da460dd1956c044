"""Names of licences from their texts, and which of them permit redistribution.

Names are SPDX's. A text is recognised by phrases that stand in one licence and in none of those
asked before it; what is recognised by none is "unknown".
"""

import re
from collections.abc import Iterable

UNKNOWN = "unknown"

# In this order: phrases of the later ones stand in the earlier ones too. All must be there.
_PHRASES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("AGPL-3.0", ("gnu affero general public license", "version 3")),
    ("LGPL-3.0", ("gnu lesser general public license", "version 3")),
    ("LGPL-2.1", ("gnu lesser general public license", "version 2.1")),
    ("LGPL-2.0", ("gnu library general public license",)),
    ("GPL-3.0", ("gnu general public license", "version 3")),
    ("GPL-2.0", ("gnu general public license", "version 2")),
    ("MPL-2.0", ("mozilla public license", "2.0")),
    ("EPL-2.0", ("eclipse public license", "2.0")),
    ("EPL-1.0", ("eclipse public license", "1.0")),
    ("CC-BY-NC-4.0", ("attribution-noncommercial",)),
    ("CC-BY-SA-4.0", ("attribution-sharealike 4.0",)),
    ("CC-BY-4.0", ("attribution 4.0 international",)),
    ("CC0-1.0", ("cc0 1.0",)),
    ("CC0-1.0", ("creative commons", "public domain dedication", "affirmer")),
    ("Apache-2.0", ("apache license", "version 2.0")),
    ("Artistic-2.0", ("artistic license 2.0",)),
    ("BSL-1.0", ("boost software license",)),
    ("PSF-2.0", ("python software foundation license",)),
    ("WTFPL", ("do what the fuck you want to public license",)),
    ("Unlicense", ("this is free and unencumbered software released into the public domain",)),
    ("Zlib", ("altered source versions must be plainly marked", "misrepresented")),
    ("BSD-4-Clause", ("redistribution and use in source and binary forms", "all advertising")),
    ("BSD-3-Clause", ("redistribution and use in source and binary forms", "endorse or promote")),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms", "binary form must")),
    ("ISC", ("permission to use, copy, modify, and/or distribute this software for any purpose",)),
    ("ISC", ("permission to use, copy, modify, and distribute this software for any purpose",)),
    ("MIT", ("permission is hereby granted, free of charge, to any person obtaining a copy",)),
    ("MIT", ("the mit license",)),
    ("MIT", ("mit license",)),
)
_REDISTRIBUTABLE = frozenset(name for name, _ in _PHRASES if "-NC" not in name)
_OTHERS = frozenset({"0BSD", "Python-2.0", "CC-BY-3.0", "CC-BY-SA-3.0", "MIT-0", "GPL-1.0"})
_PERMITTED = frozenset(name.lower() for name in _REDISTRIBUTABLE | _OTHERS)
_SUFFIX = re.compile(r"-(only|or-later)$|\+$")
_LONGEST = 200_000  # characters of a text that are looked at


def licence_of(texts: Iterable[str]) -> str:
    """Return the licence that the first recognisable of several texts states, or "unknown"."""
    return next((name for name in map(_recognised, texts) if name), UNKNOWN)


def permits_redistribution(licence: str) -> bool:
    """Return whether code may be published under a licence by SPDX's name.

    Args:
        licence: "" is that of code which the licence of its whole source covers: True.
    """
    return not licence or _SUFFIX.sub("", licence.strip().lower()) in _PERMITTED


def _recognised(text: str) -> str:
    folded = " ".join(text[:_LONGEST].lower().split())
    for name, phrases in _PHRASES:
        if all(phrase in folded for phrase in phrases):
            return name
    return ""
