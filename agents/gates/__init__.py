"""Checks that a test program must pass before its result counts as evidence.

``gates`` names them, ``static_checks`` are those that read the program, ``validator`` runs all of
them, on broken versions of the code too (`infra.languages.python.mutation`).
"""
