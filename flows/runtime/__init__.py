"""Support for flows.

``prefect_server`` is the configured Prefect server or a private one, ``parameters`` what a flow's
parameters may hold, ``run_names`` the names of runs in the UI.
"""
