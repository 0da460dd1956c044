"""Search for the nearest of many vectors, exact or by an index of FAISS.

``exact`` passes once over the codes' vectors, block by block, whatever the number of queries
(``one_pass`` is one such search); ``approximate`` builds an index instead, whose recall is measured
against ``exact``. ``scores`` has the arithmetic of both, ``held`` the candidates that are kept,
``products`` the processors; ``pairs`` scores chosen pairs.
"""
