"""TREC's run files (https://trec.nist.gov), written as trec_eval reads them."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from infra.errors import PublishError
from infra.files import atomic_write
from tasks.benchmarks.runs import NOTHING, Rankings, refuse_unfit_ids

RUNS = "runs"

_LINES_AT_ONCE = 1 << 18
_INFINITY, _INFINITY_AND_MORE = 0x7F800000, 0x7FFFFFFF  # bits of a float of 32


def run_file(folder: Path, method: str) -> Path:
    """Return the file of a method's run beside an export."""
    return folder / RUNS / f"{method}.trec"


def run_tag(file: Path) -> str | None:
    """Return the tag of a run, its lines' last column; empty without lines, None without a run."""
    try:
        with file.open(encoding="utf-8") as stream:
            fields = stream.readline().split()
    except OSError:
        return None
    return fields[-1] if fields else ""


def write_run(folder: Path, method: str, rankings: Rankings, *, tag: str = "") -> Path:
    """Write a method's rankings as a TREC run beside an export and return the file's path.

    ``trec_eval`` ignores the ranks, reads scores in single precision and breaks ties in its own
    way. Equal scores are therefore parted by the smallest step, so that it sees this order. The
    lines are put together by Arrow, some at a time: memory does not grow with the depth. A query
    without results has no line; ``trec_eval -c`` counts it as 0, as the metrics here do.

    Args:
        folder: The export's folder; the file becomes ``runs/<method>.trec``.
        method: The method's name, free of white space and slashes.
        rankings: The rankings, best first.
        tag: What the run's last column says; the method's name when not given.

    Raises:
        PublishError: The name is unfit for a file, an id or the tag has white space, or a ranking
            is not in falling order.
    """
    if not method or method.startswith(".") or set(method) & set(" \t\n/\\"):
        raise PublishError(f"method name {method!r} cannot name a run file: use letters and dashes")
    file, tag = run_file(folder, method), tag or method
    code_ids = pa.array(rankings.code_ids, pa.string())
    try:
        for names in (rankings.query_ids, [tag]):
            refuse_unfit_ids(pa.array(names, pa.string()))
        refuse_unfit_ids(code_ids)
    except ValueError as error:
        raise PublishError(f"{file} cannot be written: {error}") from None
    step = max(1, _LINES_AT_ONCE // max(rankings.depth, 1))
    with atomic_write(file) as partial, partial.open("wb") as stream:
        for start in range(0, len(rankings.query_ids), step):
            rows = slice(start, start + step)
            scores = np.pad(rankings.scores[rows], ((0, 0), (1, 0)), constant_values=np.inf)
            rising = ~(scores[:, 1:] <= scores[:, :-1]) & (rankings.codes[rows] != NOTHING)
            if rising.any():
                row, place = np.argwhere(rising)[0].tolist()
                code = rankings.code_ids[int(rankings.codes[rows][row, place])]
                raise PublishError(
                    f"the ranking of {tag!r} for {rankings.query_ids[rows][row]} is not in falling "
                    f"order: {code} has {float(scores[row, place + 1])} after "
                    f"{float(scores[row, place])}"
                )
            stream.write(_lines(rankings, rows, code_ids, tag))
    return file


def _lines(rankings: Rankings, rows: slice, code_ids: pa.Array, tag: str) -> memoryview:
    """Return the lines of some queries as bytes."""
    codes = rankings.codes[rows]
    some = codes != NOTHING
    ranks = np.cumsum(some, axis=1)
    query_ids = pa.array(rankings.query_ids[rows], pa.string())
    written = parted_scores(rankings.scores[rows], ranks, some)[some].tolist()
    lines = pc.binary_join_element_wise(
        query_ids.take(pa.array(np.nonzero(some)[0])),
        "Q0",
        code_ids.take(pa.array(codes[some])),
        pa.array(ranks[some]).cast(pa.string()),
        pa.array([f"{score:.9g}" for score in written], pa.string()),
        f"{tag}\n",
        " ",
    )
    _, ends, text = lines.buffers()
    return memoryview(text or b"")[: np.frombuffer(ends, np.int32)[len(lines)]]


def parted_scores(
    scores: npt.NDArray[np.float64], ranks: npt.NDArray[np.int64], some: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float32]:
    """Return scores in single precision, each below the one before, by a smallest step if need be.

    Finite numbers of a float's bits, read as integers, are in the order of the floats. A written
    score is the least of its own and, for each before it, that one's less a step a rank; so is the
    running minimum of numbers that have their ranks added.

    Args:
        scores: (queries, depth) in falling order.
        ranks: (queries, depth) from 1 on.
        some: (queries, depth) whether there is a result.
    """
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
    bits = single.view(np.int32).astype(np.int64)
    number = np.where(bits < 0, -(bits & _INFINITY_AND_MORE), bits)
    least = np.minimum.accumulate(np.where(some, number + ranks, _INFINITY), axis=1)
    parted = np.maximum(np.minimum(least, _INFINITY) - ranks, -_INFINITY)
    floats = np.where(parted < 0, -parted | 1 << 31, parted).astype(np.uint32).view(np.float32)
    return np.where(parted == number, single, floats)


def write_lines(file: Path, lines: Iterable[str]) -> None:
    """Write a text file whose lines all end with a line feed."""
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)
