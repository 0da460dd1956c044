"""Rankings of a benchmark's codes.

``methods`` turns a method's name (``bm25+minilm``) into rankings, by the plug-ins of
`tasks.retrievers` and, by exact search over vectors, of `tasks.encoders`, and fuses them;
``pair_models`` re-ranks them (``bm25>cross:FOLDER``).
"""
