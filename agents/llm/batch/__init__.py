"""Requests by a provider's batch API: collected, submitted, awaited, at about half the price.

``deferral`` collects the requests of agents whose reply is not kept; ``requests`` keeps them and
the batches in flight, as ``records``; ``money`` reserves and settles what they take. ``runner``
submits and awaits: ``outgoing`` writes what is uploaded and ``incoming`` reads what comes back, in
the ``lines`` of OpenAI's files and the ``messages`` of the model's provider. ``api`` speaks
OpenAI's batch protocol, which ``patient_api`` repeats after errors that may pass; ``prices`` knows
what it costs.
"""
