"""A local page over a store or an exported folder, on which people read and label pairs.

``opened`` makes a snapshot of either; ``pages`` says what each page shows of it, and makes HTML of
that by the ``templates``, or a static folder; ``app`` serves it, behind ``guard``. ``labelling``
alone writes to the store and runs code, in a box.

To add a page, write a function that takes a snapshot and parameters and returns a `Page`, a
template, and a row in `tasks.browse.pages.PAGES`.
"""
