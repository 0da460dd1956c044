# Looks for anything in its own environment that a host would want to keep.
import os

words = " ".join(f"{name}={value}" for name, value in os.environ.items()).upper()
for word in ("KEY", "TOKEN", "SECRET", "PASSWORD", "PROXY", "COSQA", "DOCKER", "PIP_"):
    assert word not in words, word
