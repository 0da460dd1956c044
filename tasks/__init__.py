"""The stages as Prefect tasks: they read, hand out, collect and write; the folders do the work.

The road, a file a stage: ``collect``, ``embed``, ``candidates``, ``annotate`` (``canaries`` are
mixed in), ``publish``, ``evaluate``, ``summarise``. ``stage`` caches them, ``progress`` shows them,
``references`` are what they pass on, ``preflight`` refuses what cannot work, ``estimate`` tells the
price, ``ray_workers`` is where Ray stands.

Beside the road: ``contest`` ranks any exported benchmark by many ``methods``, for the leaderboard
and for ``compare_versions``; ``deepen`` sends unjudged results to the agents; ``annotators`` scores
the agents against a ``truth``; ``replay`` derives stored labels again; ``sandbox`` serves its
commands.

The folders hold pure functions, which know no Prefect, no Ray and no store.
"""
