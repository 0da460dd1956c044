"""The artifact store: one DuckDB file, and the only folder with SQL in it.

``database.py`` opens the file for one transaction at a time; each other file holds the tables of
one stage (``corpus``, ``vectors``, ``candidates``, ``annotations``, ``benchmarks``) or a question
over several (``pending``) as functions that take a `Database`. Rows come and go as records or Arrow
tables. Only a flow's process writes.
"""

from infra.store.database import Database, open_database, require_store

__all__ = ["Database", "open_database", "require_store"]
