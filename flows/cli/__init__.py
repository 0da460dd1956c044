"""The command line.

``main`` has the table of commands, with ``watching``, ``operating`` and ``annotators_group``;
``lazy`` imports a command's module when it is named. ``options`` and each ``*_options`` declare
options and return what they mean; ``checks`` refuses mistakes before Prefect is imported. A module
that is named as a command does what that does; ``pipeline`` runs benchmark, collect, annotate,
publish and evaluate, ``show`` runs list and settings. ``console``, ``tables`` and ``errors`` print.
"""
