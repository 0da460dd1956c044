"""What is to be built: numbers of functions, queries and pairs, encoders, methods, the model."""

from pydantic import Field

from infra.records import Record

BASE_SIZE = 85.0  # million parameters of a base-size encoder: 12 layers of 768 dimensions
_QUERIES_LIKE_READING = 32_000  # queries over a function take as long as reading it does


def lexical_work(codes: int, queries: int) -> float:
    """Return the work of a lexical method in functions read: each is read, and met by queries."""
    return codes * (1 + queries / _QUERIES_LIKE_READING)


class EncoderSize(Record):
    """How large an encoder is.

    Attributes:
        name: Its name.
        dimension: Length of a vector.
        parameters: Millions of parameters that each token meets: all but the embeddings' tables.
        is_api: Whether a provider computes the vectors.
        usd_per_token: What the provider asks for a token; None is unknown.
    """

    name: str
    dimension: int = Field(ge=1)
    parameters: float = Field(gt=0)
    is_api: bool = False
    usd_per_token: float | None = None


def base_size_encoders(number: int) -> tuple[EncoderSize, ...]:
    """Return so many encoders of base size, 768 dimensions each."""
    return tuple(
        EncoderSize(name=f"base-size encoder {place}", dimension=768, parameters=BASE_SIZE)
        for place in range(1, number + 1)
    )


class Workload(Record):
    """A benchmark that is to be built from nothing.

    Attributes:
        codes: Number of functions.
        queries: Number of queries.
        top_k: Candidates of each query.
        encoders: The encoders that find them, whose vectors are stored.
        rounds: How often each pair is judged; 0 where the source's own labels are all.
        lexical: Lexical methods that are evaluated.
        dense: Encoders that are evaluated.
        depth: Results that a method ranks for each query.
        search_memory_mb: Limit of a search's memory.
    """

    codes: int = Field(ge=1)
    queries: int = Field(ge=1)
    top_k: int = Field(ge=1)
    encoders: tuple[EncoderSize, ...] = Field(min_length=1)
    rounds: int = Field(1, ge=0)
    lexical: tuple[str, ...] = ()
    dense: tuple[EncoderSize, ...] = ()
    depth: int = Field(100, ge=1)
    search_memory_mb: float = Field(4000.0, gt=0)

    @property
    def embedding(self) -> tuple[EncoderSize, ...]:
        """The encoders that embed all texts: those of the search, and of methods besides."""
        names = {encoder.name for encoder in self.encoders}
        return (*self.encoders, *(one for one in self.dense if one.name not in names))

    @property
    def pairs(self) -> int:
        """Number of pairs of a query and a candidate."""
        return self.queries * min(self.top_k, self.codes)

    @property
    def judgements(self) -> int:
        """Number of judgements over all rounds."""
        return self.pairs * self.rounds

    @property
    def texts(self) -> int:
        """Number of texts that each encoder embeds."""
        return self.codes + self.queries

    @property
    def comparisons(self) -> float:
        """Number of pairs of a query and a function."""
        return float(self.codes) * self.queries


class Cluster(Record):
    """What it is built on: nodes that are alike.

    Attributes:
        nodes: Number of machines. Collecting, search, export and scores run on one of them.
        cores: Cores of each.
        gpus: GPUs of each.
        memory_gb: Memory of each; None is unknown.
        in_flight: Requests to the language model that may be in flight at once, over all nodes.
        requests_per_minute: The provider's limit; 0 is none.
        tokens_per_minute: The provider's limit; 0 is none.
        batch: Whether requests go through the provider's batch API.
    """

    nodes: int = Field(1, ge=1)
    cores: int = Field(ge=1)
    gpus: int = Field(0, ge=0)
    memory_gb: float | None = Field(None, gt=0)
    in_flight: int = Field(64, ge=1)
    requests_per_minute: int = Field(0, ge=0)
    tokens_per_minute: int = Field(0, ge=0)
    batch: bool = False

    @property
    def all_cores(self) -> int:
        """Cores of all nodes."""
        return self.nodes * self.cores

    @property
    def all_gpus(self) -> int:
        """GPUs of all nodes."""
        return self.nodes * self.gpus
