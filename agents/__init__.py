"""The judgement: records in, records out. One file an agent, its prompt as a text file beside."""
