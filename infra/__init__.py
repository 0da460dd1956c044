"""What all other packages stand on: records, errors, settings, registries, the store, languages.

Nothing here knows what the other four packages do with it.
"""
