"""Models that score a query and a code together, by sentence-transformers, from a folder.

``cross:FOLDER`` is a cross-encoder, which reads both at once: ``bm25>cross:FOLDER`` re-ranks by it.
``late:FOLDER`` is a multi-vector encoder with late interaction (Khattab and Zaharia 2020, SIGIR): a
vector for each token, compared by MaxSim. It re-ranks too, or ranks all codes itself, some at a
time, so that their vectors are not kept. ``cross:NAME=FOLDER`` gives a name of its own. A GPU is
used where there is one; no code of a folder is run.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from infra.errors import EncoderError
from infra.records import Code, Query
from infra.subsets import batched
from tasks.benchmarks.runs import NOTHING, Positions, Rankings, rankings_of
from tasks.encoders import check_checkpoint, content_digest

KINDS = ("cross", "late")
PAIR_SYNTAX = "cross:FOLDER after > to re-rank (bm25>cross:FOLDER), late:FOLDER alone or after >"
RERANKED = 100  # first results that are re-ranked
_AT_ONCE = 256  # queries and codes whose vectors are compared at once
_LIBRARY = "sentence_transformers."

Scores = npt.NDArray[np.float64]
Advance = Callable[[int], None]


class PairModels:
    """The models of this process by reference, and by name once they are adopted."""

    def __init__(self) -> None:
        self._folders: dict[str, Path] = {}

    def has(self, name: str) -> bool:
        """Return True if a name or a reference is that of a pair model."""
        kind, colon, target = name.partition(":")
        return bool(kind in KINDS and colon and target)

    def adopt(self, reference: str) -> str:
        """Return the name of a model, such as ``cross:mine``; it is found by it from then on."""
        if reference in self._folders:
            return reference
        kind, _, target = reference.partition(":")
        given, equals, place = target.partition("=")
        given, place = (given, place) if equals else ("", target)
        folder = Path(place).expanduser().absolute()
        name = f"{kind}:{given or folder.name}"
        check_checkpoint(folder, name)
        self._folders[name] = folder
        return name

    def revision(self, name: str) -> str:
        """Return the digest of a model's files."""
        return content_digest(self._folders[self.adopt(name)])

    def load(self, name: str) -> "CrossModel | LateModel":
        """Return a model."""
        folder = self._folders[self.adopt(name)]
        try:
            _refuse_foreign_modules(folder)
            return (CrossModel if name.startswith("cross") else LateModel)(folder)
        except EncoderError:
            raise
        except Exception as error:  # libraries raise errors of many kinds for damaged files
            raise EncoderError(f"cannot load {name!r} from {folder}: {error}") from error


pair_models = PairModels()


def _refuse_foreign_modules(folder: Path) -> None:
    """Refuse a folder whose modules are not the library's: it would import what they name."""
    file = folder / "modules.json"
    types = [each["type"] for each in json.loads(file.read_bytes())] if file.is_file() else []
    foreign = [kind for kind in types if not str(kind).startswith(_LIBRARY)]
    if foreign:
        raise EncoderError(
            f"{file} names {foreign[0]!r}, which is none of sentence-transformers' own modules"
        )


class CrossModel:
    """A cross-encoder."""

    def __init__(self, folder: Path) -> None:
        from sentence_transformers import CrossEncoder  # noqa: PLC0415 - takes seconds

        self._model = CrossEncoder(str(folder), local_files_only=True)
        if (outputs := self._model.num_labels) != 1:
            raise EncoderError(f"{folder} gives {outputs} scores for a pair: one is needed")

    def scores(self, query: str, codes: Sequence[str]) -> Scores:
        """Return (codes,) scores, the higher the better."""
        pairs = [(query, code) for code in codes]
        found: Scores = np.asarray(self._model.predict(pairs, show_progress_bar=False), np.float64)
        return found


class LateModel:
    """A multi-vector encoder."""

    def __init__(self, folder: Path) -> None:
        from sentence_transformers import MultiVectorEncoder  # noqa: PLC0415 - takes seconds

        self._model = MultiVectorEncoder(str(folder), local_files_only=True)

    def scores(self, query: str, codes: Sequence[str]) -> Scores:
        """Return (codes,) scores, the higher the better."""
        found: Scores = self._compared(self._of_queries([query]), codes)[0]
        return found

    def rank(
        self, queries: Sequence[Query], codes: Sequence[Code], depth: int, advance: Advance
    ) -> Rankings:
        """Return the ``depth`` best codes of each query.

        Args:
            queries: The queries.
            codes: The codes that are ranked.
            depth: Length of the rankings.
            advance: Told how many codes were compared.
        """
        asked = sorted(queries, key=lambda query: query.query_id)
        vectors = self._of_queries([query.text for query in asked])
        order = sorted(range(len(codes)), key=lambda row: codes[row].code_id)
        found: Positions = np.empty((len(asked), 0), np.int64)
        scores: Scores = np.empty((len(asked), 0))
        for rows in batched(range(len(order)), _AT_ONCE):
            texts = [codes[order[row]].text for row in rows]
            scores = np.hstack((scores, self._compared(vectors, texts)))
            found = np.hstack((found, np.broadcast_to(rows, (len(asked), len(rows)))))
            best = np.argsort(-scores, axis=1, kind="stable")[:, :depth]  # ties by ascending id
            scores = np.take_along_axis(scores, best, 1)
            found = np.take_along_axis(found, best, 1)
            advance(len(rows))
        ids = [codes[row].code_id for row in order]
        return Rankings([query.query_id for query in asked], ids, found, scores)

    def _of_queries(self, texts: list[str]) -> list[Any]:
        return list(self._model.encode_query(texts, show_progress_bar=False))

    def _compared(self, queries: Sequence[Any], codes: Sequence[str]) -> Scores:
        """Return (queries, codes) sums of each query token's highest similarity."""
        vectors = self._model.encode_document(list(codes), show_progress_bar=False)
        parts = [
            self._model.similarity(list(some), vectors).float().cpu().numpy()
            for some in batched(queries, _AT_ONCE)
        ]
        return np.vstack(parts).astype(np.float64)


def rerank(
    ranked: Rankings,
    model: CrossModel | LateModel,
    queries: Sequence[Query],
    codes: Sequence[Code],
    advance: Advance,
) -> Rankings:
    """Return rankings whose first results stand in a model's order, the others below as they were.

    Args:
        ranked: The rankings.
        model: It scores the first hundred of each.
        queries: The queries of the rankings.
        codes: Their codes.
        advance: Told how many queries were re-ranked.
    """
    text_of: dict[str, str] = {query.query_id: query.text for query in queries}
    place: dict[str, int] = {code.code_id: row for row, code in enumerate(codes)}
    run: dict[str, dict[str, float]] = {}
    for query, row in zip(ranked.query_ids, ranked.codes.tolist(), strict=True):
        found = [ranked.code_ids[code] for code in row if code != NOTHING]
        first = found[:RERANKED]
        texts = [codes[place[code]].text for code in first]
        scores = model.scores(text_of[query], texts).tolist() if first else []
        below = min(scores, default=0.0)
        rest = {code: below - number for number, code in enumerate(found[RERANKED:], 1)}
        run[query] = dict(zip(first, scores, strict=True)) | rest
        advance(1)
    return rankings_of(run)
