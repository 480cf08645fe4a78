"""Errors, in one tree: the class alone says what an operator does.

Each message says what happened, to what, and what to do next. Every error can be pickled, because
extraction raises them in a child process.
"""

from __future__ import annotations

from typing import ClassVar

from ingest.secrets import redact


class MunimentError(Exception):
    """Base of all errors that the pipeline raises on purpose.

    Attributes:
        code: short stable name of the reason, for programs and for the quarantine.
        message: what happened, to what, and what to do next; known secrets are masked.
    """

    exit_status: ClassVar[int] = 6

    def __init__(self, code: str, message: str) -> None:
        message = redact(message)
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return self.message


class ConfigurationError(MunimentError):
    """Fix the configuration; nothing was started."""

    exit_status = 3


class RetriableError(MunimentError):
    """Try again: the network, a 429 or 5xx, a lock."""

    exit_status = 6


class ItemError(MunimentError):
    """This item goes to quarantine and the run goes on."""

    exit_status = 4


class DataQualityError(MunimentError):
    """The gate said no, and nothing of the batch was published."""

    exit_status = 5


class FatalError(MunimentError):
    """Stop the run: the catalogue and the index disagree, or the disk is full."""

    exit_status = 6
