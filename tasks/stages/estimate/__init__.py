"""Estimates of methods' scores on queries that nobody labelled (`tasks.estimation`).

``inputs`` reads queries and training pairs, ``scores`` estimates the scores of one method,
``report`` writes the page.
"""
