"""Estimation of a model's scores on queries that nobody labelled, by the estimators.

Pure functions over vectors and values; `tasks.stages.estimate` gives them the data of the store.
"""
