"""Checks of a store's database: whether it opens, its layout, and the rules of its rows."""

from collections.abc import Iterator

import duckdb

from infra.disk import OTHER_STORE, is_disk_full, space_on
from infra.errors import StoreError, StoreLockedError, StoreVersionError
from infra.records import Record
from infra.settings import StoreSettings
from infra.store.check_rules import RESTORE, Rule, rules
from infra.store.connections import connected
from infra.store.layout import keys_of_tables, layout_of, layout_of_schema
from infra.store.versions import identity_in


class Finding(Record):
    """What a check has found.

    Attributes:
        check: What should hold.
        problem: In what it does not; "" where it does.
        advice: What to do about it.
        is_fault: Whether something is lost or wrong, not only worth knowing.
    """

    check: str
    problem: str = ""
    advice: str = ""
    is_fault: bool = True


def check_database(settings: StoreSettings, *, thorough: bool) -> Iterator[Finding]:
    """Yield what is found in a store's database, which is not changed.

    The file is open to others between some of the checks.

    Args:
        settings: A store that is there.
        thorough: Whether to read every row, by whose checksums DuckDB sees damage.

    Raises:
        StoreLockedError: Another process has it open: nothing is known of it.
        StoreVersionError: It is of a later release.
        DiskFullError: The disk has no room for what opening it takes.
    """
    with space_on(settings.folder, OTHER_STORE):
        yield from _check(settings, thorough=thorough)


def _check(settings: StoreSettings, *, thorough: bool) -> Iterator[Finding]:
    try:
        with connected(settings) as connection:
            identity_in(connection, settings.database)
            differences = list(layout_of_schema().differences(layout_of(connection)))
    except (StoreError, duckdb.Error) as error:
        yield Finding(check="the database opens", problem=_damage(error), advice=RESTORE)
        return
    yield Finding(check="the database opens")
    yield Finding(
        check="the schema is this release's", problem="; ".join(differences), advice=RESTORE
    )
    yield from _check_rows(settings, thorough=thorough)


def _check_rows(settings: StoreSettings, *, thorough: bool) -> Iterator[Finding]:
    if thorough:
        yield _read_all(settings)
    for group in rules():
        with connected(settings) as connection:
            yield from [_check_rule(connection, rule) for rule in group]


def _check_rule(connection: duckdb.DuckDBPyConnection, rule: Rule) -> Finding:
    try:
        row = connection.execute(rule.broken).fetchone()
    except duckdb.Error as error:
        return Finding(check=rule.check, problem=_damage(error), advice=RESTORE)
    number = row[0] if row else 0
    problem = f"{number:,} {rule.what}" if number else ""
    return Finding(check=rule.check, problem=problem, advice=rule.advice)


def _read_all(settings: StoreSettings) -> Finding:
    """Read all columns of all tables."""
    check = "every row can be read"
    for table in sorted(keys_of_tables() | {"stage_runs": (), "meta": ()}):
        try:
            with connected(settings) as connection:
                connection.execute(f"SELECT bit_xor(hash(t)) FROM {table} AS t").fetchone()  # noqa: S608
        except (StoreError, duckdb.Error) as error:
            return Finding(check=check, problem=f"{table}: {_damage(error)}", advice=RESTORE)
    return Finding(check=check)


def _damage(error: StoreError | duckdb.Error) -> str:
    """Return the damage that an error tells of.

    What tells of a whole store goes on as it is: a backup in its place would help nobody.
    """
    if isinstance(error, StoreLockedError | StoreVersionError) or is_disk_full(error):
        raise error
    return str(error)
