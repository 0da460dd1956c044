"""The ground: records, errors, settings, registry, the store, the Ray runtime, deployment files.

Nothing here knows what the other four packages do with it.
"""
