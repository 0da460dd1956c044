"""The annotation stage: agents judge pending pairs on Ray's workers.

``plan`` counts pending pairs and chooses ``canaries``; ``gather`` submits the pairs in ``shard``s
to Ray's workers and stores the annotations through ``sinks``; ``model_server`` serves the embedded
model during a run; ``forecast`` estimates the number and cost of pairs before one.
"""
