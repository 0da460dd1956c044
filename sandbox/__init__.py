"""The sandbox: where untrusted code (of a corpus, or written by a model) runs, and nowhere else.

``base`` is the contract that callers know, ``contract`` the same as executable behaviours that
every backend must show. ``backends`` holds what runs programs (Docker), ``inside`` what runs
within a container, ``packages`` how missing distributions are found and installed, ``image`` what
the containers are made from.

A program that runs in a box can use up its own limits. It cannot reach the network, the host,
another box or the runner.

Verdicts about code that attacks the harness from inside its interpreter are not protected. A
program, the code under test and what counts and reports share one process, so that code written for
the purpose can skip tests, turn counters and forge a report that says "passed". Mutants of the code
find a program that passes whatever it tests, but not one that recognises the original. So a label
can be trusted only as far as the code's author: do not use verdicts about a corpus whose authors
gain from false ones.
"""
