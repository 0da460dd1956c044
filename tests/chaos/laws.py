"""What must hold after a run in which things broke; each law returns the faults that it finds."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.chaos.pairs import Expected
from tests.flows.world import World

Row = tuple[object, ...]

_LABELS = (
    "SELECT queries.text, names.name, label FROM annotations "
    "JOIN queries USING (query_id) "
    "JOIN (SELECT DISTINCT code_id, name FROM collection_codes) AS names USING (code_id)"
)
_TABLES = {
    "annotations": "query_id, code_id, recipe_id, status, label, decided_by, path, reason, "
    "support, judgements, agreeing, roles_asked",
    "llm_calls": "query_id, code_id, recipe_id, ordinal, role, attempt, model, prompt_digest, "
    "status, reply, error, prompt_tokens, completion_tokens",
    "executions": "query_id, code_id, recipe_id, ordinal, round, program, requirements::VARCHAR, "
    "outcome, error_type, message, stderr, tests_run, asserts_executed, target_calls",
}


class Reference(NamedTuple):
    """What an undisturbed run left: the rows of each table, and the names in the store's folder."""

    tables: dict[str, Counter[Row]]
    files: frozenset[str]


def reference_of(world: World) -> Reference:
    """Return what a run has left."""
    tables = {name: _rows(world, name, columns) for name, columns in _TABLES.items()}
    return Reference(tables, files_of(world.store))


def labels_as_scripted(world: World, expected: Mapping[tuple[str, str], Expected]) -> list[str]:
    """The labels are those that follow from the script, each pair's once."""
    found = [(query, name, label) for query, name, label in world.rows(_LABELS)]
    wanted = [(query, name, one.label) for (query, name), one in expected.items()]
    return _differences("labels", Counter(found), Counter(wanted))


def rows_as_undisturbed(world: World, reference: Reference) -> list[str]:
    """No row of annotations and evidence is lost, doubled or other than in an undisturbed run."""
    faults = []
    for name, columns in _TABLES.items():
        faults += _differences(name, _rows(world, name, columns), reference.tables[name])
    return faults


def files_as_undisturbed(world: World, reference: Reference) -> list[str]:
    """Nothing lies in the store's folder that an undisturbed run would not have left there."""
    if more := sorted(files_of(world.store) - reference.files):
        return [f"left in the store's folder: {', '.join(more)}"]
    return []


def replies_paid_once(calls: Path, requests: int, may_be_lost: int) -> tuple[int, list[str]]:
    """No reply is asked for again, but for those that were on the wire when something died.

    Args:
        calls: The model server's own log of requests.
        requests: How many an undisturbed run makes.
        may_be_lost: How many may have been on the wire.

    Returns:
        How many were asked again, and the faults.
    """
    asked = Counter(calls.read_bytes().splitlines())
    again = sum(asked.values()) - len(asked)
    faults = []
    if len(asked) != requests:
        faults.append(f"{len(asked)} different requests in place of {requests}")
    if again > may_be_lost:
        roles = Counter(json.loads(line)["role"] for line, times in asked.items() if times > 1)
        faults.append(f"{again} replies were asked for again, not at most {may_be_lost}: {roles}")
    return again, faults


def files_of(folder: Path) -> frozenset[str]:
    """Return the files below a folder, those of SQLite's journals aside."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return frozenset(name for name in found if not name.endswith(("-wal", "-shm", "-journal")))


def _rows(world: World, table: str, columns: str) -> Counter[Row]:
    return Counter(world.rows(f"SELECT {columns} FROM {table}"))


def _differences(what: str, found: Counter[Row], wanted: Counter[Row]) -> list[str]:
    lost, more = wanted - found, found - wanted
    if not (lost or more):
        return []
    example = _first(lost) or _first(more)
    return [f"{what}: {lost.total()} rows lost, {more.total()} too many, such as {example}"]


def _first(rows: Iterable[Row]) -> str:
    return str(next(iter(rows), ""))[:300]
