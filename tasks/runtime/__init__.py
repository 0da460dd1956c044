"""Support for stages.

``caching`` makes stages of functions, ``progress`` reports, ``artifacts`` writes pages,
``references`` are what stages hand on, ``input_checks`` refuses wrong names and files before a
start, and ``checked`` hands what a command has checked on to its flow. ``embedder``, ``trainer``
and ``ray_tasks`` are work on Ray, ``run_logger`` the log there. ``vector_writer`` writes the
vectors of actors.
"""
