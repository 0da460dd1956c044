"""Reports: a file for each, which returns a `tasks.reports.document.Document`.

Of a run there are the report itself (``run``), the ``plan`` that is approved before it, and pages
about ``judging``; of methods the ``leaderboard``; of two benchmarks the ``diff``; of scores without
labels the ``estimation``; of studies ``study`` and, for that of KAPE, ``kape``.
"""
