"""Reports: of runs, leaderboards, estimates, studies and the difference between two benchmarks.

Of a run there are the report itself (``run``), the ``plan`` that is approved before it, and pages
about ``judging``; of studies ``study`` and, for that of KAPE, ``kape``.
"""
