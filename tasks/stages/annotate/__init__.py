"""The annotation stage: agents judge pending pairs on Ray's workers.

A ``run`` goes through labelling rounds. Its ``plan`` counts the pending pairs once, and chooses
those to judge and the ``gold`` questions among them; ``cost`` says what they are expected to take.
``shards`` cuts pairs and keeps each ``shard``, a Prefect task on a Ray worker, at work; they share
the journal by its ``ledger_actor``. ``writer`` stores what they give back, ``monitor`` shows it.
"""
