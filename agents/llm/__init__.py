"""The language-model client.

``client`` asks and asks again: a ``request`` in the format of ``structured_output``, sent by
``litellm_transport`` or ``openai_transport``. ``answers`` are read to a ``reply``; ``retry`` has
the classes of failures and which are tried again. A ``ledger`` has all replies, and keeps workers
to what may be sent and spent. ``embeddings`` asks embedding APIs. ``loading`` loads litellm, in
whose table ``price_list`` looks models up. ``recorded`` has the packaged sample's replies.
"""
