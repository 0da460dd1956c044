"""Forecasts of what a benchmark of a given size takes: time, memory, disk and money of each stage.

``workload`` says what is to be built and on what cluster; ``measurements`` is what a store has
measured, and ``rates`` chooses between that and built-in figures. ``stages`` holds one function a
stage (``annotation`` that of the agents), ``forecast`` puts them together and says what would help.
"""
