"""Search for the nearest of many vectors, exact or by an index of FAISS.

``exact`` passes once over the codes' vectors, block by block, whatever the number of queries;
``approximate`` builds an index instead, whose recall is measured against ``exact``. ``scores`` has
what both use: the codes' type, and scores of chosen pairs in double precision.
"""
