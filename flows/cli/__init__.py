"""The command line.

``main`` lists the commands, which ``lazy`` imports when they are named; ``options``,
``evaluation_options`` and ``generation_options`` declare their options. ``pipeline``,
``generation``, ``leaderboard`` (and diff), ``annotators``, ``rounds``, ``suites``, ``sandbox`` and
``show`` (list, settings) run them. ``console``, ``tables`` and ``errors`` are how all of them
print.
"""
