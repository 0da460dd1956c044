"""Estimates of methods' scores on queries that are mostly unlabelled (`tasks.estimation`).

``inputs`` reads queries and training pairs, ``judged`` takes true values from a benchmark of some
of the queries, ``scores`` computes and stores the estimate of one method, ``report`` writes the
page.
"""
