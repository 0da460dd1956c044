"""Reports: a file for each, which returns a `tasks.reports.document.Document`.

Of a run there are the report itself (``run``), the ``plan`` that is approved before it, and the
``evidence`` of a pair; of methods the ``leaderboard``, with scores ``corrected`` by people; of two
benchmarks the ``diff``; of scores without labels the ``estimation``; of a ``training`` its own; of
studies ``study``, which ``training_study`` follows, and for that of KAPE ``kape``.
"""
