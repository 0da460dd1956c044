"""The sandbox: where untrusted code (of a corpus, or written by a model) runs, and nowhere else.

``base`` is the contract that callers know, ``contract`` the same as executable behaviours that
every backend must show. ``backends`` holds what runs programs (Docker), ``inside`` what runs
within a container, ``packages`` how missing distributions are found and installed, ``image`` what
the containers are made from.

A program that runs in a box can use up its own limits and lie about itself: a lie passes on every
mutant of the code under test, and is found out there. It cannot reach the network, the host,
another box or the runner.
"""
