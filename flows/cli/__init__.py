"""The command line.

``commands`` has those that run flows, ``tools`` the others, and ``main`` puts them together. Each
is a Typer function with types of `flows.options`; what it does is imported when it runs. ``checks``
refuses mistakes before Prefect is imported, and ``output`` prints. In the others a function does
what a command does: ``pipeline`` runs flows from benchmark to evaluate, plans and written answers,
``evaluation`` what measures; ``show`` prints names, settings and pairs, ``label`` reads sheets
back, ``maintenance`` checks store and sandbox, and ``server`` is `cosqa server`.
"""

TRACEBACK = "--traceback"
