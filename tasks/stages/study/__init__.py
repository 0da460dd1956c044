"""A study: the papers' tables and figures, computed from the store and a published benchmark."""
