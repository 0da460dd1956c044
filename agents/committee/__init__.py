"""Algorithm 1 of CoSQA+: which agents take part, in which order, and the label that follows."""
