"""The artifact store: one DuckDB file, and the only folder with SQL in it.

``database_file`` is the file, and the lock by which one flow at a time writes labels; ``database``
has its transactions, of which each opens it anew, and tables for what a source gives. Each other
file has the queries over the tables of one stage (``corpus``, ``vectors``, ``candidates``,
``annotations``, ``generated``, ``benchmarks``), of people's ``samples`` and ``votes``, or of
several (``pending``, ``labels``, ``evidence``, ``figures``), as functions that take a `Database`
and take or return records or Arrow columns; longer statements stand in the file of SQL beside it.
``labels.sql`` says once what the current label of a pair is. Vectors are in files, which
``vectors`` reads and writes; ``browsing`` is a copy that pages read. Only a flow's process and the
labelling pages write. ``maintenance`` is what `cosqa store` does.
"""

from infra.store.database import Database, open_database, require_store

__all__ = ["Database", "open_database", "require_store"]
