"""The one kind of error a user sees: what is wrong, where, and what to do about it."""

from __future__ import annotations

import contextlib
import copyreg
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class PlacewiseError(Exception):
    """Bad input or an unsupported request; shown to the user as one located message.

    ``where`` names the place (``file:line:column``, an argument, a launch field), ``hint`` what to
    do. Stages raise subclasses; the command line prints ``str(error)`` and exits with status 2.
    """

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses have constructors of their own, which pickling would call with the message.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]

    @property
    def as_reason(self) -> str:
        """The message with its place behind it, to stand in a sentence of a note."""
        return f"{self.message} ({self.where})" if self.where else self.message

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class CaseError(PlacewiseError):
    """A case, its launch or its arguments do not fit the kernel."""


class CompileError(PlacewiseError):
    """The CUDA compiler refused the source."""


class UnsupportedError(PlacewiseError):
    """Valid input that this version does not cover, named by instruction or construct and place."""


@dataclass(frozen=True)
class TooSmall:
    """Memory that an access lies beyond the end of."""

    array: str
    """The argument's name; empty for the shared memory that the launch gives."""
    bytes: int
    """How many bytes the access needs of it."""


class ExecutionError(PlacewiseError):
    """The kernel itself went wrong: out of bounds, misaligned, trapped or never ending.

    ``too_small`` says what memory might have been larger.
    """

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        too_small: TooSmall | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.too_small = too_small


class MachineError(PlacewiseError):
    """A machine file does not parse or does not make sense."""


_SHOWN = 200
"""Most characters that are shown of another library's message."""


@contextlib.contextmanager
def reading(
    what: str,
    path: Path,
    kind: type[PlacewiseError],
    *,
    hint: str | None = None,
) -> Iterator[None]:
    """Turn any exception that is raised within the block over a damaged file into one ``kind``.

    Libraries that read files raise nearly every exception that Python has. A PlacewiseError is
    passed on as it is.
    ``what`` says what the file should be, for instance "NumPy file".
    """
    try:
        yield
    except PlacewiseError:
        raise
    except Exception as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        reason = reason[:_SHOWN] or type(error).__name__
        raise kind(f"not a readable {what}: {reason}", where=str(path), hint=hint) from error
