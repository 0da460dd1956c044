"""Forms: the parameters of deployed flows, flat and described, as the Prefect UI asks for them.

``fields`` are the questions, each of which sets one setting or gives one argument; ``form`` makes
a flow's signature, its schema and its settings of them; ``entries`` are the flows that deployments
run, each of which calls the flow of its name. What a form does not ask for, and what is left empty
in it, is read from cosqa.toml and the environment where the run works. Keys are never asked for.
"""
