"""The work of the flows: stages as Prefect tasks, and below them what they are made of.

``stages`` are verbs: each reads the store, calls what is below, and writes. ``runtime`` is how they
run: caching, progress, references, Ray. These two alone know Prefect, the store, agents and boxes.

Every other folder is a noun, pure functions and plug-ins that can be used without a flow:

- input: ``sources`` (plug-ins), and what they share: ``corpus``, ``filters`` (plug-ins), ``files``;
- retrieval: ``encoders`` and ``retrievers`` (plug-ins), ``ranking`` by any of them or several fused;
- evaluation: ``metrics``, ``suites`` and ``estimators`` (plug-ins), ``statistics``;
- output: ``benchmarks`` as data and as files, ``reports``.

The ``__init__.py`` of a folder of plug-ins says how to add one: it is one new file.
"""
