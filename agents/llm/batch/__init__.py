"""Requests by a provider's batch API: collected, submitted, awaited, at about half the price.

``requests`` collects those of agents whose reply is not kept, and has the batches in flight.
``runner`` submits and awaits them; ``files`` writes what is uploaded, reads what comes back and
knows what it costs; ``api`` speaks OpenAI's batch protocol.
"""
