"""Readers of files whose errors name file and line.

``text`` reads files whole or by lines, ``pickles`` pickles of plain values as data, ``json_lines``
and ``json_text`` JSON, ``csv_rows`` CSV with a header, ``columns`` large tables without one, as
Arrow.
"""
