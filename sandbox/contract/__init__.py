"""The contract of a sandbox in executable form.

A table for each language lists the ``behaviours`` that boxes must show; ``check`` asks an engine
for them before a run, and persists those that it has shown.
"""
