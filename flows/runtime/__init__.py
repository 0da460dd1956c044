"""Support for flows.

``prefect_server`` is the configured Prefect server or a private one, ``local_server`` one with a
worker for months; ``registration``, ``automations`` and ``prefect_yaml`` put the deployments on a
server. ``parameters`` is what a flow's parameters may hold, ``run_names`` the names of runs in the
UI, ``writing`` the lease under which they write. ``approval`` and ``standing`` are how people
approve runs and see them.
"""
