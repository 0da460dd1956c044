"""The error tree. Every error names the boundary that failed and the way out.

CosqaError
├── SettingsError            a setting is unknown, out of bounds or contradicts another
├── UnknownNameError         a registry has no entry of that name
├── SourceError              an input file is missing, unreadable or malformed (file and line)
├── StoreError               the DuckDB file
│   ├── StoreVersionError    made by another schema version
│   └── StoreLockedError     another process holds it
├── EncoderError             a checkpoint cannot be loaded or gave unusable vectors
├── LanguageModelError       the model did not do its part
│   ├── ModelUnavailableError    no answer: connection, time-out, 5xx, 429 after all retries
│   ├── BudgetExhaustedError     what may be spent on the model is spent
│   ├── ModelRefusedError        the provider rejected the request: key, model name, request
│   ├── PromptDeclinedError      the provider declined one prompt: too long, or against its policy
│   └── UnreadableReplyError     an answer that does not validate, after being asked again
├── SandboxError             the box, never the program inside it
│   ├── EngineUnavailableError   no Docker engine answers
│   ├── ImageMissingError        the sandbox image is not there
│   └── BoxLostError             a box vanished or broke its protocol in mid-run
├── WorkerLostError          a Ray worker's process died
├── ReplayError              stored replies and executions do not give the stored labels
├── CanaryError              the judges get pairs with known answers wrong
└── PublishError             an export would be dishonest or incomplete

A program that fails inside a box is a result, not an error; a pair that cannot be judged is a row
with a status, not an exception.
"""


class CosqaError(Exception):
    """Base of everything this project raises on purpose; shown to people without a traceback."""


class SettingsError(CosqaError):
    """A setting is unknown, out of bounds or contradicts another."""


class UnknownNameError(CosqaError):
    """A registry has no entry of that name."""


class SourceError(CosqaError):
    """An input file is missing, unreadable or malformed."""


class StoreError(CosqaError):
    """The artifact store cannot do what was asked."""


class StoreVersionError(StoreError):
    """The store was made by another schema version."""


class StoreLockedError(StoreError):
    """Another process holds the store."""


class EncoderError(CosqaError):
    """A checkpoint cannot be loaded or gave unusable vectors."""


class LanguageModelError(CosqaError):
    """The language model did not do its part."""


class ModelUnavailableError(LanguageModelError):
    """No answer came: connection, time-out, server error or rate limit, after all retries."""


class BudgetExhaustedError(LanguageModelError):
    """What may be spent on the model is spent, or cannot be counted."""


class ModelRefusedError(LanguageModelError):
    """The provider rejected the request itself: key, model name or request."""


class PromptDeclinedError(LanguageModelError):
    """The provider declined this one prompt: longer than its context, or against its policy."""


class UnreadableReplyError(LanguageModelError):
    """The model answered, but not in the shape asked for, even when asked again."""


class SandboxError(CosqaError):
    """The box failed, which says nothing about the program inside it."""


class EngineUnavailableError(SandboxError):
    """No Docker engine answers."""


class ImageMissingError(SandboxError):
    """The sandbox image is not on the engine."""


class BoxLostError(SandboxError):
    """A box vanished or broke its protocol in mid-run."""


class WorkerLostError(CosqaError):
    """A Ray worker's process died, and so did those that took its work over."""


class ReplayError(CosqaError):
    """Stored replies and executions do not give the stored labels."""


class CanaryError(CosqaError):
    """The judges get too many pairs with known answers wrong."""


class PublishError(CosqaError):
    """An export would be dishonest or incomplete."""
