"""Missing code: a model writes answers to queries without a match, agents verify, people confirm.

``plan`` finds the queries and counts them; ``write`` has answers written and verified, and stores
each as it comes; ``confirm`` writes the sheet for people and reads it back.
"""
