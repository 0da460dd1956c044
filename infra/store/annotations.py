"""Tables of the annotate stage: annotations with their model calls and executions, and recipes.

A recipe is everything that could change a label of the agents; when it was in use is stored too.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import duckdb

from infra.errors import StoreError
from infra.identity import PairKey, RecipeId
from infra.records import Annotation, Code, Execution, GivenVote, Pair, Query, Record
from infra.store.corpus import insert_texts
from infra.store.database import Database, Transaction, statements_beside
from infra.store.votes import record_votes

PAIR = ("query_id", "code_id", "recipe_id")
RecipeBody = Mapping[str, object]
_Key = tuple[str, str, str]
_FILE_FAULTS = (duckdb.OperationalError, duckdb.InternalError, duckdb.FatalException)
_SQL = statements_beside(__file__)


class _Replaced(NamedTuple):
    """The facts about annotations that give way to others of their pairs."""

    failures: dict[_Key, int]  # how often they had failed
    paid: dict[_Key, set[str]]  # prompts of the replies that were paid for


def add_annotations(database: Database, annotations: Sequence[Annotation]) -> None:
    """Store annotations with their evidence; each replaces what is stored of its pair.

    No key of the tables keeps a pair from being stored twice, this does: nothing else may write to
    them. Of several annotations of one pair the last is stored. A cached reply that the annotation
    it replaces had paid for is stored as paid for: the money of a try that failed is not forgotten.

    Raises:
        StoreError: The file cannot be written for another reason; nothing was stored.
        Exception: A value that no column accepts, by DuckDB, Arrow or Python.
    """
    annotations = list({(item.key, item.recipe_id): item for item in annotations}.values())
    if not annotations:
        return
    try:
        with database.transaction() as tx:
            replaced = _delete_stored(tx, annotations)
            rows = [_row(item, replaced.failures) for item in annotations]
            with tx.table("incoming", {name: [row[name] for row in rows] for name in rows[0]}):
                tx.execute(_SQL["insert"])
            calls = [row for item in annotations for row in _call_rows(item, replaced.paid)]
            tx.insert("llm_calls", calls)
            executions = [
                _key(item) | {"ordinal": ordinal} | _execution_row(run)
                for item in annotations
                for ordinal, run in enumerate(item.executions)
            ]
            tx.insert("executions", executions)
    except _FILE_FAULTS as error:
        raise StoreError(
            f"{database.settings.database} cannot be written: {error}; nothing of the last batch "
            "was stored: remove the cause and run the same command again"
        ) from error


def _row(item: Annotation, failures: Mapping[_Key, int]) -> dict[str, object]:
    """Return an annotation's row; one that failed once more counts its tries, others begin anew."""
    before = failures.get((*item.key, item.recipe_id), 0)
    left_out = {"calls", "executions", "annotator", "replicate", "kind", "language"}
    return item.model_dump(exclude=left_out) | {
        "roles_asked": item.roles_asked,
        "tries": before + 1 if item.status == "failed" else 1,
    }


def _call_rows(
    item: Annotation, paid_before: Mapping[_Key, set[str]]
) -> Iterator[dict[str, object]]:
    paid = set(paid_before.get((*item.key, item.recipe_id), ()))
    for ordinal, call in enumerate(item.calls):
        cached = call.cached and call.prompt_digest not in paid
        paid.discard(call.prompt_digest)  # once
        yield _key(item) | {"ordinal": ordinal} | call.model_dump() | {"cached": cached}


def _execution_row(run: Execution) -> dict[str, object]:
    details = {
        "tests": [case.model_dump(exclude_defaults=True) for case in run.result.tests],
        "repairs": [step.model_dump() for step in run.repairs],
        "beside": run.beside,
    }
    return {
        **run.model_dump(include={"round", "program", "requirements"}),
        **run.result.model_dump(exclude={"tests"}),
        "oracle": run.oracle and run.oracle.model_dump_json(),
        "details": json.dumps(details),
    }


def _key(item: Annotation) -> dict[str, object]:
    return {name: getattr(item, name) for name in PAIR}


def _delete_stored(tx: Transaction, annotations: Sequence[Annotation]) -> _Replaced:
    """Delete what is stored under the keys of annotations; return what they need to know of it.

    In most commits there is nothing. One search for the keys spares each table's search for rows
    to delete.
    """
    keys = {name: [getattr(item, name) for item in annotations] for name in PAIR}
    with tx.table("incoming_keys", keys):
        stored = tx.rows(_SQL["stored"])
    if not stored:
        return _Replaced({}, {})
    columns = {name: [row[place] for row in stored] for place, name in enumerate(PAIR)}
    with tx.table("deleted", columns):
        paid = tx.rows(_SQL["paid"])
        for table in ("annotations", "llm_calls", "executions"):
            tx.execute(
                f"DELETE FROM {table} WHERE (query_id, code_id, recipe_id) IN "  # noqa: S608
                "(SELECT (query_id, code_id, recipe_id) FROM deleted)"
            )
    return _Replaced(
        {(query, code, recipe): tries for query, code, recipe, tries in stored},
        {(query, code, recipe): set(prompts) for query, code, recipe, prompts in paid},
    )


def record_pairs(
    database: Database, pairs: Sequence[Pair], votes: Sequence[GivenVote] = ()
) -> None:
    """Store the texts of pairs outside any collection, and votes on them.

    Raises:
        SourceError: As of `record_votes`.
    """
    queries = {pair.query.query_id: pair.query for pair in pairs}
    codes = {pair.code.code_id: pair.code for pair in pairs}
    with database.transaction() as tx:
        insert_texts(tx, queries.values(), codes.values())
        record_votes(tx, "", votes)


def load_pairs(database: Database, pairs: Sequence[PairKey], collection: str = "") -> list[Pair]:
    """Return the pairs with these keys, in their order, without those that lack a stored text.

    Args:
        database: The store.
        pairs: The keys.
        collection: If given, codes come with what it says of them, and those that it lacks are left
            out.
    """
    fields = "name, module, first_line, last_line, documentation, parameters, origin"
    of_collection = f"SELECT code_id, {fields} FROM collection_codes WHERE collection = ?"  # noqa: S608
    wanted = {"place": list(range(len(pairs))), **_columns(pairs)}
    with database.transaction() as tx, tx.table("wanted", wanted):
        rows = tx.dicts(
            "SELECT query_id, queries.text AS query, code_id, codes.text"  # noqa: S608
            + (f", {fields}" if collection else "")
            + " FROM wanted JOIN queries USING (query_id) JOIN codes USING (code_id) "
            + (f"JOIN ({of_collection}) USING (code_id) " if collection else "")
            + "ORDER BY place",
            [collection] if collection else [],
        )
    return [
        Pair(
            query=Query(query_id=row.pop("query_id"), text=row.pop("query")),
            code=Code.model_validate(row),
        )
        for row in rows
    ]


def finished_pairs(database: Database, recipe_id: RecipeId) -> set[PairKey]:
    """Return the keys of all pairs that the recipe's agents have labelled or left undecided.

    A pair that failed, since the model or the sandbox was unavailable, is not finished.
    """
    rows = database.rows(
        "SELECT query_id, code_id FROM annotations WHERE recipe_id = ? AND status <> 'failed'",
        [recipe_id],
    )
    return {PairKey(*row) for row in rows}


def label_origin(recipe_id: RecipeId, rounds: int = 1) -> str:
    """Return the origin of the labels that a recipe's agents give, alone or in several rounds.

    Args:
        recipe_id: The recipe; of several that of the first.
        rounds: Their number.
    """
    origin = f"agents:{recipe_id}"
    return f"{origin}, majority of {rounds} rounds" if rounds > 1 else origin


def _columns(pairs: Sequence[PairKey]) -> dict[str, Sequence[object]]:
    return {"query_id": [query for query, _ in pairs], "code_id": [code for _, code in pairs]}


def load_annotations(
    database: Database, recipe_id: RecipeId, pairs: Sequence[PairKey], *, evidence: bool = True
) -> list[Annotation]:
    """Return the annotations of these (query, code) pairs in their order, with all evidence.

    Without ``evidence`` they have no calls and no executions, whose tables are large.
    """
    by_pair: dict[PairKey, dict[str, Any]] = {}
    with database.transaction() as tx, tx.table("wanted", _columns(pairs)):
        for pair, row in _select(
            tx, "annotations", recipe_id, "annotated_at", "roles_asked", "tries"
        ):
            by_pair[pair] = row | {"calls": [], "executions": []}
        if by_pair and evidence:
            for pair, row in _select(tx, "llm_calls", recipe_id, "ordinal", *PAIR):
                by_pair[pair]["calls"].append(row)
            for pair, row in _select(tx, "executions", recipe_id, "ordinal", *PAIR):
                by_pair[pair]["executions"].append(_nested(row))
    return [Annotation.model_validate(by_pair[pair]) for pair in pairs if pair in by_pair]


def _select(
    tx: Transaction, table: str, recipe_id: RecipeId, order_by: str, *left_out: str
) -> Iterator[tuple[PairKey, dict[str, Any]]]:
    """Yield a table's rows of the wanted pairs, without some columns and that which orders them."""
    rows = tx.dicts(
        f"SELECT [query_id, code_id] AS pair, * EXCLUDE ({', '.join((order_by, *left_out))}) "  # noqa: S608 - literals only
        f"FROM {table} SEMI JOIN wanted USING (query_id, code_id) WHERE recipe_id = ? "
        f"ORDER BY {order_by}",
        [recipe_id],
    )
    for row in rows:
        yield PairKey(*row.pop("pair")), row


def _nested(row: Mapping[str, Any]) -> dict[str, object]:
    """Return the fields of an `Execution` from a row, which has those of its result beside them."""
    own = ("round", "program", "requirements")
    oracle, details = json.loads(row["oracle"] or "null"), json.loads(row["details"])
    others = {*own, "oracle", "details"}
    result = {name: value for name, value in row.items() if name not in others}
    return {name: row[name] for name in own} | {
        "oracle": oracle,
        "repairs": details["repairs"],
        "beside": details["beside"],
        "result": result | {"tests": details["tests"]},
    }


def find_judged(database: Database, query: str, code: str) -> list[tuple[PairKey, RecipeId]]:
    """Return the keys and recipes of all annotations of pairs that are named so, newest first.

    Args:
        database: The store.
        query: How the query's id begins, or a part of its text in upper or lower case.
        code: Likewise of the code, such as the function's name.
    """
    rows = database.rows(_SQL["named"], [" ".join(query.split()), code])
    return [(PairKey(query_id, code_id), recipe_id) for query_id, code_id, recipe_id in rows]


def judged_beside(database: Database, key: PairKey) -> list[PairKey | None]:
    """Return the judged pairs before and after one: by query, then by rank."""
    [neighbours] = database.rows(_SQL["neighbours"], [*key])
    return [PairKey(*one) if one else None for one in neighbours]


class StoredRecipe(Record):
    """A stored recipe.

    Attributes:
        recipe_id: Its id; of several labelling rounds that of the first.
        model: Its model.
        rounds: The ids of all labelling rounds that were in use together, in order.
    """

    recipe_id: RecipeId
    model: str
    rounds: tuple[RecipeId, ...]


def record_recipes(
    database: Database,
    bodies: Mapping[RecipeId, RecipeBody],
    used_on: str | None = None,
) -> None:
    """Store recipes once.

    Args:
        database: The store.
        bodies: Id → body, of all labelling rounds in order.
        used_on: The collection whose pairs they judge from now on, together, which is stored with
            the time: labels by the recipes last used stand before others. None where they judge
            something else.
    """
    rows = [
        {"recipe_id": recipe_id, "body": json.dumps(body, sort_keys=True)}
        for recipe_id, body in bodies.items()
    ]
    with database.transaction() as tx:
        tx.insert("recipes", rows, on_conflict="ignore")
        if used_on is None:
            return
        rounds = list(bodies)
        # A clock may have been set back: the last use has the latest time all the same.
        tx.execute(
            "INSERT INTO recipe_uses SELECT ?, ?, greatest(now(), coalesce("
            "max(used_at) + INTERVAL 1 microsecond, now())) FROM recipe_uses",
            [used_on, rounds],
        )
        tx.execute(
            "DELETE FROM recipe_uses WHERE collection = ? AND rounds = ? "
            "AND used_at < (SELECT max(used_at) FROM recipe_uses)",
            [used_on, rounds],
        )


def load_recipe(database: Database, recipe_id: RecipeId) -> dict[str, object]:
    """Return a recipe's body."""
    [body] = database.column("SELECT body FROM recipes WHERE recipe_id = ?", [recipe_id])
    loaded: dict[str, object] = json.loads(body)
    return loaded


def model_of(body: RecipeBody) -> str:
    """Return the model of a recipe, "" where it has none."""
    model = body.get("model")
    return str(model.get("model", "")) if isinstance(model, dict) else ""


def load_recipes(database: Database) -> dict[RecipeId, RecipeBody]:
    """Return recipe → body of all stored recipes."""
    rows = database.rows("SELECT recipe_id, body FROM recipes")
    return {recipe_id: json.loads(body) for recipe_id, body in rows}


def used_recipes(database: Database, collection: str) -> list[StoredRecipe]:
    """Return the recipes that were in use on a collection, the last one first.

    A run that finds nothing left to judge uses its recipe too: a user who returns to former
    settings expects their labels.
    """
    return database.records(
        StoredRecipe,
        "SELECT rounds[1] AS recipe_id, body->>'$.model.model' AS model, rounds "
        "FROM recipe_uses JOIN recipes ON recipe_id = rounds[1] "
        "WHERE collection = ? ORDER BY used_at DESC",
        [collection],
    )
