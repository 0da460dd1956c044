"""Support for flows.

``prefect_server`` is the configured Prefect server or a private one. ``parameters`` is what the
parameters of a flow may hold, ``run_names`` the names of runs in the UI, ``writing`` the lease
under which they write, ``approval`` how people approve what they do.
"""
