"""The artifact store: one DuckDB file, and the only folder with SQL in it.

``database.py`` opens the file for one transaction at a time. Each other file has the queries over
the tables of one stage (``corpus``, ``vectors``, ``candidates``, ``annotations``, ``recipes``,
``generated``, ``benchmarks``, ``estimations``) or of several (``pending``, ``studies``), as
functions that take a `Database` and take or return records or Arrow columns. ``spool`` holds rows
on their way in, ``inputs`` what they were read from; ``annotation_writer`` writes annotations,
``behaviours`` keeps what candidates did beside each other, ``decided`` and ``evidence`` read what
labels are and rest on; ``exports``, ``figures`` and ``measured`` are read by publishing, reports
and forecasts. Vectors are in files (``vector_files``), which ``vectors`` knows and
``vector_blocks`` reads.
Only a flow's process writes; ``lease`` lets one flow at a time write labels.

``connections`` opens the file, and keeps it from others where it is copied or replaced, by
``copies``; ``versions`` refuses stores of another schema, ``layout`` says what a store has.
``checks`` with ``check_rules`` and ``file_checks``, ``backups``, ``restoring`` and ``retention``
are what `cosqa store` does.
"""

from infra.store.database import Database, open_database, require_store

__all__ = ["Database", "open_database", "require_store"]
