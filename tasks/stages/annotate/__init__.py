"""The annotation stage: agents judge pending pairs on Ray's workers.

A ``run`` counts what is ``pending`` once; ``plan`` shows it, and chooses its pairs and the
``canaries`` among them. Each ``shard`` is a Prefect task on a Ray worker; ``shards`` cuts them and
keeps them at work, ``writer`` stores what they give back, ``run_watch`` shows it. ``cost`` says
what pairs are expected to take.
"""
