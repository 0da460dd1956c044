"""What judging so many pairs takes: requests, tokens, money and time.

``effort`` is one pair by built-in figures, ``pairs`` a run by what the store has measured.
"""
