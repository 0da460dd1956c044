"""The language-model client: transports, structured output, retries, cache, rate limit."""
