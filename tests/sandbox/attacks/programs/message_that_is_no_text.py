# Raises an error whose message cannot be encoded.
raise ValueError("\udcff\ud800\x00")
