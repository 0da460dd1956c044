"""Pairs of DeepCS's published data: Java methods as numbers of words (Gu et al. 2018).

A part is four HDF5 files of PyTables (``train.desc.h5``, also of ``methname`` or ``name``,
``apiseq`` and ``tokens``), each with all numbers in ``phrases`` and where each text begins in
``indices``, and four vocabularies (``vocab.desc.json`` or ``.pkl``). Needs the extra ``deepcs``.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from infra.errors import SettingsError, SourceError
from tasks.inputs.formats import Format, PairSplit, formats
from tasks.inputs.lines import decode_json
from tasks.inputs.pairs import Pairs
from tasks.inputs.pickles import pickled_pairs
from tasks.inputs.text import printable, read_text, regular

if TYPE_CHECKING:
    import h5py

ENDING = ".desc.h5"

_Table = npt.NDArray[Any]  # or h5py's, which is read by slices likewise
_NAMES = ("methname", "name")
_BLOCK = 10_000  # texts that are read at once
_MOST_NUMBERS = 1 << 24  # in them
_LARGEST_CHUNK = 1 << 27  # bytes, which are unpacked at once
_MOST_TEXTS = 100_000_000
_NUMBERS = TypeAdapter(dict[str, int])
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


@formats.register("deepcs")
class DeepCs(Format):
    """A part of DeepCS's published data: PART.desc.h5, with the other files beside it."""

    @classmethod
    def at(cls, path: Path, usual: str) -> Self | None:
        """Return the part that a file's name tells."""
        del usual
        return cls(path) if path.name.endswith(ENDING) else None

    @classmethod
    def places(cls, folder: Path, split: PairSplit) -> Iterable[Path]:
        """Return the file of descriptions of a part."""
        return [folder / f"{split}{ENDING}"]

    def pairs(self) -> Pairs:
        """Return the descriptions, each with its method written as a function of Python."""
        return Pairs.of(self.name, _read(self.path), Counter())


def _read(file: Path) -> Iterator[tuple[str, str]]:
    """Yield descriptions, each with its method written as a function of Python.

    The data has no code. What it has is written so that models that read code find it again: the
    words of the name, the names that the sequence of API calls has, and the set of tokens::

        def read_text_file():
            FileReader(); new(); BufferedReader(); readLine()
            # close file line text

    Args:
        file: ``PART.desc.h5``, with the other files beside it.

    Raises:
        SettingsError: The extra is not installed.
        SourceError: A file is missing, damaged or not of this form.
    """
    part = file.name.removesuffix(ENDING)
    names = next((name for name in _NAMES if file.with_name(f"{part}.{name}.h5").exists()), "name")
    fields = [
        _texts(file.with_name(f"{part}.{field}.h5"), _vocabulary(file.parent, field))
        for field in ("desc", names, "apiseq", "tokens")
    ]
    try:
        for description, words, calls, tokens in zip(*fields, strict=True):
            name = "_".join(words) if all(map(_IDENTIFIER.fullmatch, words)) else ""
            called = [
                f"{call}_()" if iskeyword(call) else f"{call}()"
                for call in calls
                if _IDENTIFIER.fullmatch(call)
            ]
            defined = f"{name}_" if iskeyword(name) else name or "_"
            comment = " ".join(" ".join(tokens).split())
            body = f"    {'; '.join(called) or 'pass'}\n    # {comment}\n"
            yield " ".join(description), f"def {defined}():\n{body}"
    except ValueError:
        raise SourceError(
            f"{printable(file)} and the files beside it have different numbers of texts: take all "
            "from one publication"
        ) from None


def _vocabulary(folder: Path, field: str) -> dict[int, str]:
    """Return number → word; marks such as ``<pad>`` are empty."""
    written = folder / f"vocab.{field}.json"
    pickled = folder / f"vocab.{field}.pkl"
    file = written if written.exists() or not pickled.exists() else pickled
    items: object
    if file == pickled:
        items = dict(pickled_pairs(file))
    else:
        items = decode_json(read_text(file), printable(file))
    try:
        words = _NUMBERS.validate_python(items, strict=True)
    except ValidationError:
        raise SourceError(
            f"{printable(file)} is no map of words to numbers: copy it again"
        ) from None
    return {
        number: "" if re.fullmatch(r"</?\w+>", word) else word for word, number in words.items()
    }


def _texts(file: Path, vocabulary: Mapping[int, str]) -> Iterator[list[str]]:
    """Yield the words of each text, in the order of ``indices``."""
    try:
        import h5py  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise SettingsError(
            f"{printable(file)} is HDF5: pip install -c constraints.txt -e '.[deepcs]' reads it"
        ) from None
    try:
        with h5py.File(regular(file), "r") as opened:
            phrases, indices = (_table(file, opened, name) for name in ("phrases", "indices"))
            for start in range(0, len(indices), _BLOCK):
                yield from _block(file, start, indices[start : start + _BLOCK], phrases, vocabulary)
    except (OSError, RuntimeError) as error:
        _refuse(file, f"cannot be read as HDF5 ({error}): copy it again")


def _table(file: Path, opened: "h5py.File", name: str) -> _Table:
    """Return a table that is in the file itself; HDF5 can name other files that hold it."""
    import h5py  # noqa: PLC0415 - an optional extra

    link = opened.get(name, getlink=True)
    found = opened[name] if isinstance(link, h5py.HardLink) else None
    if not isinstance(found, h5py.Dataset) or found.external or found.is_virtual:
        _refuse(file, f"no table {name!r} of its own: copy the published file again")
    fields = found.dtype.fields
    is_right = set(fields or ()) >= {"length", "pos"} if name == "indices" else not fields
    kinds = [each[0] for each in fields.values()] if fields else [found.dtype]
    if found.ndim != 1 or not is_right or any(each.kind not in "iu" for each in kinds):
        _refuse(file, f"the table {name!r} is no list of whole numbers: copy the file again")
    if found.chunks and found.chunks[0] * found.dtype.itemsize > _LARGEST_CHUNK:
        _refuse(file, f"the table {name!r} is in pieces of more than {_LARGEST_CHUNK:,} bytes")
    if name == "indices" and len(found) > _MOST_TEXTS:
        _refuse(file, f"{len(found):,} texts, more than the {_MOST_TEXTS:,} that are read")
    table: _Table = found
    return table


def _block(
    file: Path, start: int, indices: _Table, phrases: _Table, vocabulary: Mapping[int, str]
) -> Iterator[list[str]]:
    spans = [(int(row["pos"]), int(row["pos"]) + int(row["length"])) for row in indices]
    low, high = min(first for first, _ in spans), max(last for _, last in spans)
    lengths = [last - first for first, last in spans]
    is_apart = min(lengths) >= 0 and sum(lengths) <= high - low <= _MOST_NUMBERS
    if not is_apart or low < 0 or high > len(phrases):
        _refuse(
            file,
            f"texts {start:,} to {start + len(spans):,} overlap, or lie outside of 'phrases': copy "
            "the published file again",
        )
    numbers = phrases[low:high].tolist()
    for row, (first, last) in enumerate(spans, start):
        try:
            words = [vocabulary[number] for number in numbers[first - low : last - low]]
        except KeyError as error:
            _refuse(file, f"text {row:,} has the word {error}, which the vocabulary lacks")
        yield [word for word in words if word]


def _refuse(file: Path, problem: str) -> NoReturn:
    raise SourceError(f"{printable(file)}: {problem}")
