"""The annotation stage: agents judge pending pairs on Ray's workers.

``plan`` counts pending pairs and chooses ``canaries``; each ``judge`` is a long-lived task on a Ray
worker that judges pairs from a queue, many at once on its ``desk``; ``gather`` fills the queue and
empties it into the store through ``sinks``; ``cost`` says what pairs are expected to take.
"""
