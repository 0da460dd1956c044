"""Rankings by any method: lexical, dense, fused."""
