"""Support for stages: caching, progress, references, Ray actors, exchange with Ray workers."""
