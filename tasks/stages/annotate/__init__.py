"""The annotation stage: agents judge pending pairs on Ray's workers.

The ``plan`` of a run counts the pending pairs of its labelling rounds once, and chooses those to
judge and the ``gold`` questions among them; ``cost`` says what they are expected to take.
``shards`` cuts pairs and keeps each ``shard``, a Prefect task on a Ray worker, at work; they share
the journal by its ``ledger_actor``. ``monitor`` stores and shows what they give back.
"""
