"""The language-model client.

``client`` asks and asks again; ``litellm_transport`` and ``openai_transport`` send requests,
``retry`` says when another try follows, ``structured_output`` in which format a reply is asked for;
``reply`` says what a kept reply is; a ``ledger`` has them, and keeps all workers to what may be
sent and spent. ``embeddings`` asks embedding APIs. ``loading`` loads litellm, in whose table
``price_list`` looks models up.
``recorded`` has the packaged sample's replies.
"""
