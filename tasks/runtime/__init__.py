"""Support for stages.

``caching`` joins Prefect's cache with what the store holds, ``progress`` reports, ``references``
are what stages hand on; ``embedder`` and ``ray_queue`` are work on Ray, ``run_logger`` the log
there. ``placement`` plans where actors go, ``vector_writer`` writes their vectors, ``pair_queue``
holds the pairs of judges.
"""
