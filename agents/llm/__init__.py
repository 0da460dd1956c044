"""The language-model client.

``client`` asks and asks again, in the format of ``structured_output``, by ``litellm_transport`` or
``openai_transport``; ``reply`` has the records of both ways and reads what servers send,
``retry`` has the classes of failures. A ``ledger`` has all replies, and keeps workers to what may
be sent and spent, at the prices of ``price_list``. ``embeddings`` asks embedding APIs. ``recorded``
has the packaged sample's replies.
"""
