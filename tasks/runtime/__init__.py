"""Support for stages.

``caching`` joins Prefect's cache with what the store holds, ``progress`` reports, ``pages`` writes
reports, ``references`` are what stages hand on; ``embedder``, ``trainer`` and ``ray_tasks`` are
work on Ray, ``run_logger`` the log there. ``vector_writer`` writes the vectors of actors.
"""
