"""The contract of a sandbox as behaviours that every backend must show."""
