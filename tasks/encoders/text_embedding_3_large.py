"""The encoder text-embedding-3-large: OpenAI's, by its API."""

from tasks.encoders import encoders
from tasks.encoders._api import ApiEncoder, ApiSpec


@encoders.register("text-embedding-3-large")
class TextEmbedding3Large(ApiEncoder):
    """OpenAI's text-embedding-3-large, of CoSQA+'s first version; needs a key and costs money."""

    spec = ApiSpec(
        name="text-embedding-3-large",
        model="openai/text-embedding-3-large",
        revision="api",
        licence="OpenAI's terms",
        source="Gong et al. 2024, CoSQA+ (first version), Table 5; OpenAI's documentation",
        dimension=3072,
        max_length=8191,
    )
