"""The work of the flows: stages as Prefect tasks, and below them what they are made of.

``stages`` read the store, call what is below, and write; ``runtime`` is how they run: caching,
progress, references, Ray. These two folders alone know Prefect, the store, agents and the sandbox.

All other folders hold pure functions and plug-ins, which can be used without a flow:

- input: ``sources`` (plug-ins), and what they share: ``corpus``, ``filters`` (plug-ins),
  ``inputs``;
- retrieval: ``encoders`` and ``retrievers`` (plug-ins); ``search`` over vectors; ``ranking`` by
  one or several methods;
- evaluation: ``metrics``, ``suites``, ``studies`` and ``estimators`` (plug-ins), ``estimation`` by
  these, ``statistics``;
- models: ``training``;
- output: ``benchmarks`` as data and as files, ``reports``, ``browse``.

The ``__init__.py`` of a folder of plug-ins says how to add one: it is one new file.
"""
