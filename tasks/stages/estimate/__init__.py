"""Estimates of methods' scores on queries that nobody labelled (`tasks.estimation`).

``inputs`` reads queries and training pairs, ``scores`` computes and stores the estimate of one
method, ``report`` writes the page.
"""
