"""The study of estimators: the errors of their scores where all queries have labels.

Pure functions over vectors and values; `tasks.stages.study.kape` gives them the data of the store.
"""
