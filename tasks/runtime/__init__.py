"""How stages run: caching, progress, references, Ray actors, the queue from workers to the flow."""
