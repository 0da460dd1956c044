"""The base of all packages: records, errors, settings, registries, the store, languages.

Nothing here imports another package of the project.
"""
