"""The contract of a sandbox in executable form.

``behaviours`` lists what every backend must show, each a ``behaviour``; ``self_check`` tries them,
and ``kept`` asks for them before a run, once for each engine.
"""
