"""The annotation stage.

``plan`` counts what is pending and chooses ``canaries``; ``gather`` reads pending pairs, hands them
in ``shard``s to Ray's workers and stores what comes back through ``sinks``; ``model_server`` serves
the embedded model meanwhile; ``forecast`` says beforehand how many pairs there are and what they
may cost.
"""
