"""The errors; each names the part that failed and says what to do.

A program that fails inside a box is a result, not an error; a pair that cannot be judged is a row
with a status, not an exception.
"""

from collections.abc import Sequence


class CosqaError(Exception):
    """Base of all errors that this project raises; printed without a traceback."""


class SettingsError(CosqaError):
    """A setting is unknown, out of bounds or contradicts another."""


class UnknownNameError(CosqaError):
    """A registry has no entry of that name."""


class SourceError(CosqaError):
    """An input file is missing, unreadable or malformed."""


class StoreError(CosqaError):
    """The artifact store failed."""


class StoreVersionError(StoreError):
    """The store was made by another schema version."""


class StoreLockedError(StoreError):
    """Another process holds the store."""


class StoreBusyError(StoreError):
    """Another run holds the lock of the store's writer."""


class DiskFullError(CosqaError):
    """A disk has no room for what is written; what was there before is whole."""


class EncoderError(CosqaError):
    """A checkpoint cannot be loaded or gave unusable vectors."""


class EncoderUnavailableError(EncoderError):
    """No worker computes vectors now: there is no room, they die, or the hub does not answer."""


class LanguageModelError(CosqaError):
    """The language model gave no usable reply."""


class ModelUnavailableError(LanguageModelError):
    """No answer came: connection, time-out, server error or rate limit, after all retries."""


class UnreadableAnswerError(ModelUnavailableError):
    """The server answered twice, and neither answer is one of its protocol."""


class RunStopError(LanguageModelError):
    """No request may be made any more, so that the run ends."""


class BudgetExhaustedError(RunStopError):
    """The model's budget is spent."""


class RunBudgetError(BudgetExhaustedError):
    """A run's own budget is spent: what is left waits for the next run."""


class UnknownPriceError(RunStopError):
    """A budget is in US dollars, and no price is known to count it by."""


class UnrecordableError(RunStopError):
    """Spending or paid replies cannot be stored."""


class ModelRefusedError(LanguageModelError):
    """The provider rejected the request itself: key, model name or request."""


class PromptsCutError(ModelRefusedError):
    """The server drops a part of long prompts, so that no reply to them counts.

    Args:
        message: What it says.
        tokens: How many it reads.
    """

    def __init__(self, message: str, tokens: int = 0) -> None:
        super().__init__(message)
        self.tokens = tokens


class PromptDeclinedError(LanguageModelError):
    """The provider declined this one prompt: longer than its context, or against its policy."""


class TextsDeclinedError(PromptDeclinedError):
    """The provider won't embed some texts, but does embed others.

    Args:
        message: What it says.
        texts: The texts.
    """

    def __init__(self, message: str, texts: Sequence[str]) -> None:
        super().__init__(message)
        self.texts = tuple(texts)


class UnreadableReplyError(LanguageModelError):
    """The model replied twice, and neither reply validates."""


class ReplyCutError(UnreadableReplyError):
    """The model's reply ended at its limit of tokens, and is none."""


class SandboxError(CosqaError):
    """The box failed, which says nothing about the program inside it."""


class EngineUnavailableError(SandboxError):
    """No Docker engine answers."""


class ImageMissingError(SandboxError):
    """The sandbox image is not on the engine."""


class BoxLostError(SandboxError):
    """A box vanished or broke its protocol in mid-run."""


class MachineBusyError(BoxLostError):
    """A program had no core for most of many times its limit."""


class JudgingError(CosqaError):
    """Pairs fail one after the other, by errors that no other try ends."""


class WorkerLostError(CosqaError):
    """A Ray worker's process died, and so did the processes that took over its work."""


class RayStartError(CosqaError):
    """Ray does not start on this machine."""


class GoldQuestionError(CosqaError):
    """The agents label too many pairs with known labels wrongly."""


class StudyError(CosqaError):
    """The data of a study's figures are missing."""


class TrainingError(CosqaError):
    """A model cannot be trained, or has lost itself in training."""


class EstimationError(CosqaError):
    """Vectors or pairs are not fit for an estimate, or lie too far from what it rests on."""


class PublishError(CosqaError):
    """An export would be misleading or incomplete."""
