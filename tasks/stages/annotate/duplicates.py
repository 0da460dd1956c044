"""Near duplicates among the candidates of a query, where it is specified: one is judged for all.

The first of them is judged, and the others take its label once it is stored. Nothing else is kept
of it: a killed run, a new candidate and a first one that failed are found by what is pending.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from agents.committee.duplicates import taken_over
from infra.batches import batched
from infra.identity import digest
from infra.ids import CodeId, PairKey, RecipeId
from infra.languages import languages
from infra.records import Annotation, Code
from infra.store import Database, annotations, open_database
from infra.store.pending import BesideLabels, pairs_beside_labels, pairs_in, write_keys
from tasks.runtime.caching import BOXES_AWAY, stage
from tasks.runtime.run_logger import run_logger
from tasks.stages.annotate.pending import RoundPending, pending_of
from tasks.stages.annotate.rounds import AnnotationRun

_LANGUAGE = "python"  # of all codes
_BATCH = 64  # queries whose texts and labels are read together


@stage("label-duplicates", "label near duplicates in {run.search.collection}", retries=BOXES_AWAY)
def label_duplicates(run: AnnotationRun) -> None:
    """Label a round's pending duplicates of labelled candidates, whatever bounds the run."""
    database = open_database(run.settings.store)
    take_over_labels(database, pending_of(database, run))


def pending_to_judge(database: Database, run: AnnotationRun) -> RoundPending:
    """Return what is pending in a round, once duplicates under specified queries took labels."""
    of_round = pending_of(database, run)
    if run.is_specified and take_over_labels(database, of_round):
        return pending_of(database, run)
    return of_round


def take_over_labels(database: Database, of_round: RoundPending) -> int:
    """Give pending duplicates of labelled pairs their labels; return how many."""
    forms = Forms()
    beside = pairs_beside_labels(database, of_round.selection)
    number = 0
    for queries in batched(beside, _BATCH):
        found = list(_duplicates(database, queries, forms))
        if found:
            annotations.add_annotations(database, found)
        number += len(found)
    if number:
        run_logger(__name__).info(
            "%s pairs have the label of another code of their query, which is the same but for its "
            "spelling", f"{number:,}",
        )  # fmt: skip
    return number


def keep_first(database: Database, collection: str, file: Path) -> int:
    """Leave in a file of keys the first of each query's duplicates; return the number of pairs.

    Args:
        database: The store.
        collection: Whose queries and codes they are.
        file: The keys, in the order in which they are judged.
    """
    forms, seen, kept, number = Forms(), set(), list[PairKey](), 0
    for pair in pairs_in(database, collection, file):
        number += 1
        form = (pair.query.query_id, forms.of(pair.code))
        if form not in seen:
            seen.add(form)
            kept.append(pair.key)
    if len(kept) < number:
        run_logger(__name__).info(
            "%s of these pairs are judged with another of their query: their code is the same but "
            "for its spelling", f"{number - len(kept):,}",
        )  # fmt: skip
    columns = {name: [getattr(key, name) for key in kept] for name in PairKey._fields}
    schema = pa.schema(dict.fromkeys(PairKey._fields, pa.string()))
    with database.space():
        return write_keys(pa.table(columns, schema=schema), file)


class Forms:
    """Digests of the canonical forms of codes, each computed once."""

    def __init__(self) -> None:
        self._language = languages.get(_LANGUAGE)()
        self._known: dict[CodeId, str] = {}

    def of(self, code: Code) -> str:
        """Return the digest of a code's form."""
        if code.code_id not in self._known:
            self._known[code.code_id] = digest(self._language.canonical_of(code.text))
        return self._known[code.code_id]


def _duplicates(
    database: Database, queries: Sequence[BesideLabels], forms: Forms
) -> Iterator[Annotation]:
    """Yield the annotations of pending duplicates of labelled pairs, with all evidence."""
    keys = [key for one in queries for key in one.pending]
    keys += [key for one in queries for key, _ in one.labelled]
    codes = {pair.key: pair.code for pair in annotations.load_pairs(database, keys)}
    taken: dict[RecipeId, list[tuple[PairKey, CodeId]]] = {}
    for one in queries:
        firsts: dict[str, tuple[PairKey, RecipeId]] = {}
        for key, recipe_id in one.labelled:
            if key in codes:
                firsts.setdefault(forms.of(codes[key]), (key, recipe_id))
        for key in one.pending:
            if key in codes and (first := firsts.get(forms.of(codes[key]))):
                taken.setdefault(first[1], []).append((first[0], key.code_id))
    for recipe_id, pairs in taken.items():
        wanted = list(dict.fromkeys(key for key, _ in pairs))
        stored = annotations.load_annotations(database, recipe_id, wanted)
        labelled = {item.key: item for item in stored}
        yield from (taken_over(labelled[key], code_id) for key, code_id in pairs)
