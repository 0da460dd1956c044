"""The stages: Prefect tasks that read the store, call what is below, and write.

In the order of the data: ``collect``, ``embed`` (``vectors`` reads what it made), ``candidates``,
``annotate``, ``labels`` (which labels make a benchmark), ``publish``, ``scoring`` (the one way in
which methods are ranked and scored), ``leaderboard``, ``report``. ``preflight`` checks once, before
a flow starts, that all of them can work.

Beside them: ``pooling`` makes candidates of unjudged results, ``rerank`` orders results by a
language model, ``diff`` compares two versions of a benchmark, ``compare_annotators`` scores agents
and people against known labels, ``replay`` derives stored labels again, and ``sandbox`` serves the
commands of that name.
"""
