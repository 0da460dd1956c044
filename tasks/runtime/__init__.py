"""Support for stages.

``caching`` makes stages of functions, ``progress`` shows their log, progress and artifacts
in the Prefect UI. ``references`` are what stages hand on, ``input_checks`` refuses wrong names
and files before a start, and hands what a command has checked on to its flow. ``actors`` and
``ray_tasks`` are work on Ray, ``api_embedder`` asks an API, and ``vector_writer`` writes both's
vectors.
"""
