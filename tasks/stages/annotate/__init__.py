"""The annotation stage: plan, shards on workers, and what gathers their annotations."""
