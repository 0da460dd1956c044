"""Requests by a provider's batch API: collected, submitted, awaited, at about half the price.

``deferral`` collects the requests of agents whose reply is not kept, ``requests`` keeps them and
the batches in flight, ``api`` speaks OpenAI's batch protocol, ``lines`` makes and reads its files,
``runner`` submits and awaits, ``prices`` knows what it costs.
"""
