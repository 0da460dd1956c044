"""Readers of what others wrote, whose errors name file and line.

One for each form: ``text`` reads files whole or by lines, ``lines`` JSON and JSON Lines, ``csv``
CSV with a header, ``columns`` large tables without one, as Arrow, ``xml`` a dump's rows,
``pickles`` plain values as data, ``parquet`` tables. Above them ``formats`` reads benchmarks and
pairs (a file for each format), the others what their names say.
"""
