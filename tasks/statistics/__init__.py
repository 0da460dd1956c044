"""Statistics that stand beside scores: how sure they are, and how far judges agree.

Pure functions over arrays; the literature that each follows is named in its docstring. What chance
decides comes from a seed, so that a table can be made again.
"""
