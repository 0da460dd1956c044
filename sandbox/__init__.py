"""The box: where code of strangers and programs of models run, and nowhere else.

``base`` is the contract, ``behaviours`` and ``self_check`` are the same in executable form.
``docker_backend`` gives out boxes, which ``pool`` makes ahead of need on the ``engine``, in one of
the empty ``networks`` that it keeps; ``connection`` is the line to that engine. ``payload`` puts
the sources of ``inside`` on a container's command line, and ``channel`` is the line to the runner
that waits there. ``imports`` knows what a program needs, ``installing`` (wheels) and ``debian`` how
it is installed, ``owner`` who left what. A further backend registers itself in ``registry`` and
must pass the self-check.

A program that runs in a box can use up its own limits and lie about itself: a lie passes on every
mutant of the code under test, and falls there. It cannot reach the network, the host, another box,
the runner, or the runs before and after it.
"""
