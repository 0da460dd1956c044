"""The sandbox: where untrusted code (of a corpus, or written by a model) runs, and nowhere else.

``base`` is the contract that callers know, ``contract`` the same as executable behaviours that
every backend must show. ``backends`` holds what runs programs (Docker), ``inside`` what runs
within a container, ``packages`` how missing distributions are found and installed, ``image`` what
the containers are made from.

A program that runs in a box can use up its own limits. It cannot reach the network, the host,
another box or the runner. Earlier runs of its box leave it no files, processes, sockets or
variables; but its memory is a copy of the runner's, where freed parts can hold what they printed.

Verdicts about code that attacks its tests are protected where the code has a process of its own
(``isolated`` of `sandbox.base.Box.run`): it sees what it is called with, and can do no more than
answer. In the program's process it reaches neither the report nor the outcomes of test functions,
and can take no plain test away or empty it. But there it shares an interpreter with the asserts:
it can return what is equal to everything, read the expected result, change what asserts rest on
(built-ins, `unittest`, `asyncio`, the program's other names, memory) and turn the counters up.
Mutants and the control find a program that passes whatever it tests, but not such code where it
tells them from the original. So a label whose evidence says ``shared`` can be trusted only as far
as the code's author: do not use it where authors gain from false ones.
"""
