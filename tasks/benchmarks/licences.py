"""Names of licences from their texts, and which of them permit redistribution.

Names are SPDX's. Licences name each other: GPL-3.0 has a section on the AGPL, MPL-2.0 lists those
of GNU. So a text is under the licence that stands first in it, as a title, as a notice or by its
words, and of a file with several that is the project's own, before those of what it bundles. What
is recognised by no phrase is "unknown". Of a benchmark `without_unlicensed` keeps what may
be published.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from infra.files import leads_outside
from infra.records import Code, Label, SourceInfo
from tasks.benchmarks.benchmark import GENERATED, Benchmark, columns_of
from tasks.benchmarks.rows import Rows, Undecided

UNKNOWN = "unknown"

_Phrases = tuple[str, tuple[str, ...]]


def _titled(name: str, title: str, version: str) -> tuple[_Phrases, _Phrases]:
    """Return the phrases of a licence that has versions: "title … version 2", "version 2 of title".

    Between the two may stand what a notice has there, such as "as published by …, either", but
    neither another title nor another version.
    """
    word = r"\bv(?:ersion|\.)?\s?"
    between = rf"(?:(?!public license\b|{word}\d).)"
    number = rf"{re.escape(version)}(?:\.0)?(?!\.?\d)"
    behind = rf"{title}\b{between}{{0,200}}?(?:{word}|(?<=[\s/])(?=\d\.)){number}"
    before = rf"version {number}\b{between}{{0,60}}?\bof (?:the )?{title}"
    return (name, (behind,)), (name, (before,))


# Patterns of words. The first of a row says where the licence stands, the others stand anywhere; of
# rows at one place the upper one counts. Rows of UNKNOWN are licences that name others of these.
_PHRASES: tuple[_Phrases, ...] = (
    *_titled("AGPL-3.0", "gnu affero general public license", "3"),
    *_titled("LGPL-3.0", "gnu lesser general public license", "3"),
    *_titled("LGPL-2.1", "gnu lesser general public license", "2.1"),
    ("LGPL-2.0", ("gnu library general public license",)),
    *_titled("GPL-3.0", "gnu general public license", "3"),
    *_titled("GPL-2.0", "gnu general public license", "2"),
    *_titled("GPL-1.0", "gnu general public license", "1"),
    *_titled("MPL-2.0", "mozilla public license", "2"),
    *_titled("MPL-1.1", "mozilla public license", "1.1"),
    *_titled("EPL-2.0", "eclipse public license", "2"),
    *_titled("EPL-1.0", "eclipse public license", "1"),
    (UNKNOWN, ("european union public license",)),
    (UNKNOWN, ("cecill",)),
    ("CC-BY-SA-4.0", ("attribution-sharealike 4.0",)),
    ("CC-BY-4.0", ("attribution 4.0 international",)),
    ("CC0-1.0", ("cc0 1.0",)),
    ("CC0-1.0", ("creative commons", "public domain dedication", "affirmer")),
    *_titled("Apache-2.0", "apache license", "2"),
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
    # The name alone is a heading: prose names it for many reasons.
    (
        "MIT",
        (r"^\W*(?:license\W+|the )?mit license(?:\W+(?:mit|expat|x11))?\W*(?:copyright|https?|$)",),
    ),
)
# These count wherever they stand: what a text forbids, no other part of it permits.
_FORBIDDING: tuple[_Phrases, ...] = (
    ("CC-BY-NC-4.0", ("attribution-noncommercial",)),
    ("BUSL-1.1", ("business source license",)),
    ("SSPL-1.0", ("server side public license",)),
    ("LicenseRef-Commons-Clause", ("commons clause",)),
)
_REDISTRIBUTABLE = frozenset(name for name, _ in _PHRASES if name != UNKNOWN)
_OTHERS = frozenset({"0BSD", "Python-2.0", "CC-BY-3.0", "CC-BY-SA-3.0", "MIT-0", "C-UDA"})
_PERMITTED = frozenset(name.lower() for name in _REDISTRIBUTABLE | _OTHERS)
_SUFFIX = re.compile(r"-(only|or-later)$|\+$| with \S+$")
_STATED = re.compile(  # in the front matter of the hub's dataset cards, alone or first of a list
    r"""---\n(?:(?!---).*\n)*?license:\s*(?:-\s*)?["']?([\w.+-]+)"""
)
_BETWEEN = re.compile(r" and | or |[()]")
_LICENCE_FILE = re.compile(
    r"((un)?licen[cs]e|copying)(?!.*\.(c|cpp|css|go|h|html|java|js|json|jsx|[cm]js|php|pyi?|rb|rs|ts)$)",
    re.IGNORECASE,
)
_LONGEST = 200_000  # characters of a text that are looked at
# "not under the MIT License", but "not … except in compliance with the Apache License" permits.
_DENIED = re.compile(
    r"\b(?:not|cannot|never|no\slonger)\b(?:(?!except|unless|[.;:]).){0,60}\Z", re.DOTALL
)


def licence_of(texts: Iterable[str]) -> str:
    """Return the licence that the first recognisable of several texts states, or "unknown"."""
    return next((name for name in map(_recognised, texts) if name != UNKNOWN), UNKNOWN)


def permits_redistribution(licence: str) -> bool:
    """Return True if code may be published under a licence by SPDX's name.

    Args:
        licence: A name, or several with AND and OR between; all of them must permit it where
            brackets tell which may be chosen.
    """
    text = " ".join(licence.lower().split())
    choices = map(_BETWEEN.split, [text] if "(" in text else text.split(" or "))
    named = [{_SUFFIX.sub("", name.strip()) for name in names if name} for names in choices]
    return any(names and names <= _PERMITTED for names in named)


def licence_texts(files: Iterable[Path]) -> Iterator[str]:
    """Yield the texts of those files that are named like a licence, by name."""
    for file in sorted(files):
        if _LICENCE_FILE.match(file.name) and file.is_file():
            yield file.read_text("utf-8", "replace")


def licence_texts_in(folder: Path, root: Path | None = None) -> list[str]:
    """Return such texts of a folder, without files that are links to outside of it or of a root."""
    return [
        *licence_texts(file for file in folder.iterdir() if not leads_outside(file, root or folder))
    ]


def licence_of_folder(folder: Path) -> str:
    """Return the licence that a folder's own files state, or "unknown"."""
    return licence_of(licence_texts_in(folder))


def licence_of_dataset(folder: Path) -> str:
    """Return the licence that a folder's files state, or its dataset card; or "unknown"."""
    card = folder / "README.md"
    if (found := licence_of_folder(folder)) != UNKNOWN or not card.is_file():
        return found
    if leads_outside(card, folder):
        return UNKNOWN
    stated = _STATED.match(card.read_text("utf-8", "replace")[:_LONGEST])
    return stated[1] if stated else UNKNOWN


def licence_of_repository(folder: Path) -> str:
    """Return the licence that covers a folder of code: its own, else of the folders around it.

    The nearest one with a licence text counts, up to the root of the folder's repository; outside
    of a repository the folder stands alone.
    """
    own, *around = folder.resolve(), *folder.resolve().parents
    root = next((at for at in (own, *around) if (at / ".git").exists()), own)
    inside = [own, *(at for at in around if at.is_relative_to(root))]
    return licence_of(next(filter(None, map(licence_texts_in, inside)), []))


def _recognised(text: str) -> str:
    """Return the name of a text's licence, or "unknown"."""
    lines = text[:_LONGEST].lower().replace("licence", "license").splitlines()
    folded = "\n".join(filter(None, (" ".join(line.split()) for line in lines)))
    for rows in (_FORBIDDING, _PHRASES):
        found = [(place, name) for name, phrases in rows for place in _places(phrases, folded)]
        if found:
            return min(found, key=lambda item: item[0])[1]
    return UNKNOWN


def _places(phrases: Sequence[str], text: str) -> list[int]:
    """Return the first undenied place of the first phrase, if the text has the others too."""
    first, *others = phrases
    granted = (at for at in _starts(first, text) if not _DENIED.search(text, max(0, at - 80), at))
    found = list(islice(granted, 1))
    return found if all(any(True for _ in _starts(other, text)) for other in others) else []


def _starts(phrase: str, text: str) -> Iterator[int]:
    """Yield where a phrase of whole words stands, whatever line breaks are in it."""
    for match in _pattern(phrase).finditer(text):
        start = match.start()
        if not text[max(0, start - 1) : start].isalnum():
            yield start


@cache
def _pattern(phrase: str) -> re.Pattern[str]:
    # Without \b in front, which would keep the search from looking for the first word alone.
    return re.compile(phrase.replace(" ", r"\s") + r"(?!\w)", re.DOTALL | re.MULTILINE)


UNLICENSED = "code whose licence is unknown or does not permit redistribution"
PAIR_OF_UNLICENSED = "judged pair of such code"
ONLY_UNLICENSED = "query all of whose judged pairs are of such code"


def without_unlicensed(benchmark: Benchmark) -> Benchmark:
    """Return a benchmark without code that may not be redistributed, and all that refers to it.

    What is left out is counted in ``dropped``. Code without a licence of its own is under that of
    its source; written answers stay.
    """
    columns = columns_of(benchmark)
    permitted = _permitted(columns.codes, benchmark.sources)
    if pc.all(permitted, min_count=0).as_py():
        return benchmark
    codes = columns.codes.where(permitted)
    kept = codes.column("code_id").combine_chunks()
    labels = columns.labels.among("code_id", kept)
    undecided = columns.undecided.among("code_id", kept)
    lost = _queries_of(columns.labels, columns.undecided) - _queries_of(labels, undecided)
    is_lost = pc.is_in(
        columns.queries.column("query_id"), value_set=pa.array(sorted(lost), pa.string())
    )
    queries = columns.queries.where(pc.invert(is_lost))
    dropped = Counter(benchmark.dropped)
    dropped[UNLICENSED] += len(columns.codes) - len(codes)
    dropped[PAIR_OF_UNLICENSED] += (
        len(columns.labels) + len(columns.undecided) - len(labels) - len(undecided)
    )
    dropped[ONLY_UNLICENSED] += len(columns.queries) - len(queries)
    return benchmark.model_copy(
        update={
            "codes": codes,
            "labels": labels,
            "stale": columns.stale.among("code_id", kept),
            "undecided": undecided,
            "queries": queries,
            "specifications": columns.specifications.among("query_id", queries.column("query_id")),
            "evidence": benchmark.evidence.filter_codes(kept),
            "dropped": dict(+dropped),
        }
    )


def _permitted(codes: Rows[Code], sources: Sequence[SourceInfo]) -> pa.ChunkedArray:
    """Return for each code whether it may be published."""
    licences, known = codes.column("licence"), {source.name for source in sources}
    refusing = {source.name for source in sources if not permits_redistribution(source.licence)}
    covering = sorted(known - refusing if refusing else {*known, ""})
    own = [name for name in pc.unique(licences).to_pylist() if permits_redistribution(name)]
    by_source = pc.and_(
        pc.equal(licences, ""),
        pc.is_in(codes.column("source"), value_set=pa.array(covering, pa.string())),
    )
    by_itself = pc.is_in(licences, value_set=pa.array(own, pa.string()))
    written = pc.starts_with(codes.column("origin"), GENERATED)
    return pc.or_(pc.or_(by_itself, by_source), written)


def _queries_of(labels: Rows[Label], undecided: Rows[Undecided]) -> set[str]:
    return {*labels.column("query_id").to_pylist(), *undecided.column("query_id").to_pylist()}
