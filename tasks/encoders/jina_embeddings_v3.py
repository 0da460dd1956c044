"""The encoder jina-embeddings-v3: jina-embeddings-v3."""

from tasks.encoders import encoders
from tasks.encoders._transformer import TransformerEncoder, TransformerSpec


@encoders.register("jina-embeddings-v3")
class JinaEmbeddingsV3(TransformerEncoder):
    """An encoder of 570 million parameters with a LoRA adapter for queries and one for codes.

    The port that transformers computes without code of the checkpoint; prompts and adapters are
    those of retrieval.query and retrieval.passage. The licence forbids commercial use.
    """

    spec = TransformerSpec(
        name="jina-embeddings-v3",
        model="jinaai/jina-embeddings-v3-hf",
        revision="d18862d9a48706220815554fac3ebb4dfa46fc28",
        licence="CC-BY-NC-4.0",
        source="Sturua et al. 2024, jina-embeddings-v3, arXiv 2409.10173; the model's card",
        dimension=1024,
        max_length=8192,
        before=("<s>",),
        after=("</s>",),
        pooling="mean",
        query_prefix="Represent the query for retrieving evidence documents: ",
        code_prefix="Represent the document for retrieval: ",
        query_adapter="retrieval_query",
        code_adapter="retrieval_passage",
    )
