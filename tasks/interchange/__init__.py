"""Formats that other evaluation tools read and write: TREC's files, BEIR's folders, MTEB's tasks.

What an export writes by itself is in `tasks.export`; here is the way in, and what stands between.
"""
