"""Readers of what others wrote, whose errors name file and line.

One for each form: ``text`` reads files whole or by lines, ``lines`` JSON and JSON Lines,
``tables`` CSV with a header, Parquet and a dump's XML, ``trec`` large tables without a header, as
Arrow, ``pickles`` plain values as data. Above them ``formats`` reads benchmarks and pairs (a file
for each format), the others what their names say; ``sheets`` and ``challenge`` write their files,
too.
"""
