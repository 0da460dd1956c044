"""Rankings of a benchmark's codes.

``methods`` turns a method's name (``bm25+minilm``) into rankings, by the plug-ins of
`tasks.retrievers` and `tasks.encoders`; ``dense`` is exact search over vectors, ``fusion`` joins
several rankings.
"""
