"""Parts that sources share.

``source_files`` finds files, ``functions`` the functions in them or in a text;
``documentation_pairs`` makes queries of documentation; ``merging`` applies the filters, drops
repeated items, and puts the queries of one source over the codes of others.
"""
