"""Forecasts of what a benchmark of a given size takes: time, memory, disk and money of each stage.

`workload` says what is to be built, `cluster` on what; `measurements` is what a store has measured,
and `rates` chooses between that and built-in figures. `stages` holds one function a stage, and
`forecast` puts them together and says what would help.
"""
