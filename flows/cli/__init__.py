"""The command line.

``main`` has the table of commands, and ``lazy`` makes them of the models in `flows.options`.
``checks`` refuses mistakes before Prefect is imported, and ``output`` prints. In the others a
function does what a command does: ``pipeline`` runs flows from benchmark to evaluate, plans and
written answers, ``evaluation`` what measures, ``annotators`` what says how far labels can be
trusted; ``show`` prints names, settings and pairs, ``status`` how a store stands, and ``server``
runs flows for months.
"""
