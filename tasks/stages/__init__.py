"""The stages: Prefect tasks that read the store, compute, and write results.

In the order of the data: ``collect``, ``vectors`` (embeds texts), ``candidates``, ``annotate``,
``labels`` (selects the labels of a benchmark, by the majority of labelling rounds, with what they
rest on and written answers), ``generate`` (has answers written to queries without a match),
``publish``, ``scoring`` (ranks and scores methods), ``leaderboard``, ``report``.
``preflight`` checks that all of them can run, where no command has done so.

Others: ``pooling`` turns unjudged results into candidates, ``repair`` writes a benchmark's next
version, ``diff`` compares two of them, ``label`` has people's samples, ``compare_annotators``
scores agents and human annotators against known labels, ``study``, ``challenge``, ``estimate`` and
``train`` are what their commands do, and ``sandbox`` is the code behind the sandbox commands.

To add one, write its file here and name it in the layers of `pyproject.toml`, above those that it
imports; a folder's tests are in ``tests/tasks/stages``.
"""
