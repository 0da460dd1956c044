"""Algorithm 1 of CoSQA+: which agents take part, in which order, and the label that follows.

``configurations`` names the agents, ``algorithm`` makes a committee of settings, which judges
one pair with the ``tester``, and names how that ended; ``trace`` keeps its calls and runs, and
``recipe`` is what its label depends on. ``specified`` judges by a query's specification, and reads
from stored evidence what that rested on. ``generation`` has missing code written.
"""
