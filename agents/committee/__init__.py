"""Algorithm 1 of CoSQA+ over the agents: which of them take part, and what they conclude."""
