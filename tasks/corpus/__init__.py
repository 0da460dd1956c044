"""Parts that sources share.

``python_files`` finds files, ``functions`` the functions in them, ``parsed_code`` the one function
in a text; ``documentation_pairs`` makes queries of documentation; ``merging`` applies the filters
and drops repeated items.
"""
