"""Parts that sources share.

``source_files`` finds files, ``functions`` the functions in them, ``parsed_code`` the one function
in a text; ``documentation_pairs`` makes queries of documentation; ``merging`` applies the filters
and drops repeated items; ``combined`` puts the queries of one source over the codes of others.
"""
