"""Reports: a file for each, which returns a `tasks.reports.document.Document`.

Of a run there are the report itself (``run``), the ``plan`` that is approved before it, and the
``evidence`` of a pair; of methods the ``leaderboard``, with scores ``corrected`` by people; of two
benchmarks the ``diff``, of a benchmark its ``repair``; of scores without labels the ``estimation``;
of one ``training`` and of a study of several its own; of other studies ``study``, and for that of
KAPE ``kape``.

To add one, write its file here, and a stage that reads the store and writes the page by
`tasks.reports.render.html_page` and `infra.files.write_outputs`, as `tasks.stages.diff` does; the
flow or command that calls the stage prints the same document by `flows.cli.output.print_document`.
"""
