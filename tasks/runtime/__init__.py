"""Support for stages.

``caching`` makes stages of functions, ``progress`` logs and reports, ``artifacts`` writes pages,
``references`` are what stages hand on, ``input_checks`` refuses wrong names and files before a
start, and ``checked`` hands what a command has checked on to its flow. ``actors`` and ``ray_tasks``
are work on Ray, ``api_embedder`` asks an API, and ``vector_writer`` writes the vectors of both.
"""
