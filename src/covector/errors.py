"""Every exception that covector raises on purpose.

    CovectorError
    ├── TypeMismatch            operands whose shapes or dtypes do not go together
    │   └── TypePromotionError  … whose dtypes have no common one
    ├── DTypeError              an element type that is unknown or not allowed here
    │   └── DTypeKindError      … because it is of another kind: an integer, say
    ├── IntegerOverflow         a Python integer that its dtype cannot hold
    ├── TreeMismatch            pytrees whose structures do not agree
    ├── AxisError               an axis that the array, or the trace, does not have
    ├── InvalidIndex            an index that the array cannot be indexed with
    ├── ArgumentError           an argument with a value that it cannot have here
    ├── ImmutableArrayError     an attempt to write into an array
    ├── LinAlgError             a matrix that has no inverse, or no such factorization
    │   └── NotSquare           … because it is not square, or no matrix
    ├── NotScalar               a derivative of something that is not a real scalar
    ├── NotDifferentiable       a derivative with respect to, or of, what has none
    ├── WrongRule               a derivative that is not that of its function
    ├── WrongGradient           a gradient that is wrong, or of no use
    ├── MissingRule             an operation without the rule a transformation asked for
    ├── MalformedProgram        a pass wrote down a program that is none (a bug of ours)
    ├── TracedValueError        a traced value used where there can be none
    │   ├── ConcretizationTypeError … where a known one is needed
    │   │   ├── TracerBoolConversionError
    │   │   ├── TracerIntegerConversionError
    │   │   ├── TracerArrayConversionError
    │   │   └── NonConcreteBooleanIndexError
    │   ├── UnexpectedTracerError   … after its trace has ended
    │   │   └── LeakedTracerError   … or kept by something that outlives its trace
    │   └── KeyReuseError           … a random key, used a second time
    ├── InconclusiveDimensionOperation  sizes that are symbols, and do not tell
    ├── RecompilationError      a function was compiled again where that is refused
    ├── CheckFailed             what a check of the user's says does not hold
    ├── NotCheckified           a check in compiled code that nothing made a value
    ├── NonFiniteError          a result is NaN or infinite where that is watched for
    ├── DeletedArrayError       an array whose buffer was deleted or donated
    ├── DeviceError             a device that is not there, or that fails
    │   ├── DisallowedTransfer  … or is not to be reached: a transfer guard forbids it
    │   └── OutOfMemory         … or has too little memory left, as the host may have
    ├── ShardingError           a mesh, spec or sharding that cannot be, or does not fit
    ├── DistributedError        processes that cannot work together
    │   ├── PeerLost            … because one of them ended, or does not answer
    │   └── ProgramMismatch     … because they are about to run different programs
    ├── CheckpointError         a checkpoint that cannot be read, or was not written
    │   ├── CheckpointNotFound  … because there is none, or none that is finished
    │   └── CheckpointExists    … because something is there already
    ├── DLPackError             a tensor that other libraries cannot share
    ├── ExportError             a program that cannot be exported, or called elsewhere
    ├── ProfilerError           a recording that cannot begin, or end
    ├── MissingLibrary          a library that only one function needs is not installed
    ├── SettingError            a setting with a value that it cannot have
    │   └── UnknownOption       … or that there is none of
    ├── SparseEfficiencyError   a form of a sparse array that takes more memory
    └── StaticArgumentError     a static argument that cannot be one

Each class also derives from the builtin exception that a caller would expect. Messages
say who, what was wanted, what came (types written like ``f32[4]``), and the way out.
"""

from collections.abc import Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from covector import namespaces


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """`` Did you mean 'batch'?``, for a name that is near a known one; else nothing."""
    from difflib import get_close_matches  # noqa: PLC0415  for messages only

    near = get_close_matches(str(name), [str(k) for k in known], 1)
    return f" Did you mean {near[0]!r}?" if near else ""


def short_name(qualified: str) -> str:
    """``Net.loss`` of ``train.<locals>.Net.loss``: file and line stand beside it."""
    return qualified.rpartition("<locals>.")[2]


def how_many(number: Any, noun: str, nouns: str = "") -> str:
    """``1 argument``, ``2 arguments``; ``nouns`` where that is not noun and s."""
    # By its text: a size that is a symbol does not say whether it is 1.
    return f"{number} {noun if str(number) == '1' else nouns or noun + 's'}"


#: whether ``str`` of an error gives lines: while it is printed
in_lines: "ContextVar[bool]" = ContextVar("in_lines", default=False)


class CovectorError(Exception):
    """Base of every error that covector raises on purpose.

    ``str`` gives the message as it was raised. Printed tracebacks show it in lines: the
    first is its first sentence, the last names the page about the error, if any.

    Args:
      args: the message, on one line, or in lines that are kept as they are.
      page: ``docs/errors/<page>.md`` is about it; by default the page of the class.
    """

    #: the page about errors of this class
    page: str | None = None

    def __init__(self, *args: object, page: str | None = None, **named: Any) -> None:
        super().__init__(*args, **named)
        self.made()
        if page is not None:
            self.page = page

    @staticmethod
    def made() -> None:
        """Called with each new error; who prints tracebacks sets it."""

    def __str__(self) -> str:
        text = super().__str__()
        if not in_lines.get():
            return text
        from covector.message_lines import in_lines_of  # noqa: PLC0415  few are printed

        return "\n".join(in_lines_of(text, self.page))


class TypeMismatch(CovectorError, TypeError, ValueError):
    """Operands whose shapes or dtypes do not go together.

    A ValueError as in NumPy, and a TypeError as in the field's other libraries.
    """


class TypePromotionError(TypeMismatch):
    """Operands whose dtypes have no common dtype."""

    page: str | None = "dtypes"


class DTypeError(CovectorError, TypeError):
    """An element type that is unknown, or not allowed for this operation."""


class DTypeKindError(DTypeError, ValueError):
    """An element type of another kind than was asked for: an integer, say."""


class IntegerOverflow(CovectorError, OverflowError):
    """A Python integer that its dtype cannot hold."""

    page: str | None = "x64"


class TreeMismatch(CovectorError, ValueError, TypeError):
    """Pytrees whose structures do not agree."""


class AxisError(CovectorError, ValueError, IndexError, NameError):
    """An axis that the array, or the surrounding trace, does not have."""


class InvalidIndex(CovectorError, IndexError, TypeError):
    """An array was indexed with something that is not an index for it."""


class ArgumentError(CovectorError, ValueError, TypeError):
    """An argument has a value that it cannot have here."""


class ImmutableArrayError(CovectorError, TypeError, NotImplementedError):
    """An array was to be written to; arrays never change."""

    page: str | None = "immutable-array"


class LinAlgError(CovectorError, np.linalg.LinAlgError):
    """A matrix that has no inverse, or no factorization of the kind asked for."""


class NotSquare(TypeMismatch, LinAlgError):
    """A matrix that is not square, or an array that is not a matrix."""


class NotScalar(CovectorError, TypeError):
    """A gradient of something that is not a real scalar."""

    page: str | None = "not-scalar"


class NotDifferentiable(CovectorError, TypeError):
    """A derivative with respect to, or of, a value that has none."""

    page: str | None = "not-differentiable"


class MissingRule(CovectorError, NotImplementedError):
    """An operation lacks the rule that a transformation asked for."""


class WrongRule(CovectorError, AssertionError):
    """A check of derivatives found one that is not that of its function."""


class WrongGradient(CovectorError, AssertionError):
    """A gradient is wrong, or of no use: zero, not finite, or not connected."""


class MalformedProgram(CovectorError, AssertionError, TypeError):
    """A pass wrote down a program that is not well formed: a bug of covector."""


class TracedValueError(CovectorError, TypeError):
    """A traced value was used where there can be none."""


class ConcretizationTypeError(TracedValueError):
    """A traced value was used where a known value is needed."""

    page: str | None = "known-value"


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was used as a Python bool."""

    page: str | None = "known-bool"


class TracerIntegerConversionError(ConcretizationTypeError):
    """A traced value was used as a Python integer, an index or a shape."""

    page: str | None = "known-shape"


class TracerArrayConversionError(ConcretizationTypeError):
    """A traced value was handed to NumPy."""


class NonConcreteBooleanIndexError(ConcretizationTypeError, InvalidIndex):
    """A traced boolean mask was used as an index."""

    page: str | None = "known-shape"


class UnexpectedTracerError(TracedValueError):
    """A traced value was used after the trace that made it had ended."""

    page: str | None = "leaked-tracer"


class LeakedTracerError(UnexpectedTracerError, RuntimeError):
    """Something that outlives a transformation keeps one of its traced values."""


class KeyReuseError(TracedValueError):
    """A random key was used a second time, while that is watched for."""

    page: str | None = "random-key"


class InconclusiveDimensionOperation(CovectorError, TypeError):
    """A question about symbolic sizes has no one answer for all their values."""


class RecompilationError(CovectorError, RuntimeError):
    """A function was to be compiled again inside ``no_recompile``."""

    page: str | None = "recompilation"


class NonFiniteError(CovectorError, FloatingPointError):
    """A result is NaN or infinite, while ``debug_nans`` or ``debug_infs`` is on.

    ``origin`` says where that began, as ``explain_nan`` does; None if it is not known.
    """

    origin: Any = None


class StopNotReached(CovectorError, LookupError):
    """The program did not come to a stop of ``debug.debug``."""


class CheckFailed(CovectorError, RuntimeError, ValueError):
    """A check of ``experimental.checkify`` does not hold."""


class NotCheckified(CovectorError, ValueError, TypeError):
    """A check is in a compiled program, and nothing made a value of its failure."""


class DeletedArrayError(CovectorError, RuntimeError, ValueError):
    """An array whose buffer was deleted or donated was used again."""

    page: str | None = "deleted-array"


class RefError(CovectorError, ValueError, RuntimeError):
    """A reference has ended, cannot be changed here, or has two names at once."""


class DeviceError(CovectorError, RuntimeError):
    """A platform or device is not there, or failed to compile or run a program."""


class OverBudget(CovectorError, MemoryError):
    """A program needs more memory than it may take, or a block of code took it."""

    page: str | None = "out-of-memory"


class DisallowedTransfer(DeviceError):
    """Values were to move between host and devices where a guard forbids it."""


class OutOfMemory(DeviceError, MemoryError):
    """A device, or the host, has too little memory left for an array or a program."""

    page: str | None = "out-of-memory"


class DeviceMismatch(CovectorError, ValueError):
    """Operands were put on different devices."""

    page: str | None = "sharding"


class ShardingError(CovectorError, ValueError, RuntimeError):
    """A mesh, a spec or a sharding that cannot be, or does not fit an array."""

    page: str | None = "sharding"


class DistributedError(CovectorError, RuntimeError):
    """Processes cannot work together."""


class PeerLost(DistributedError, TimeoutError):
    """Another process ended, was not there in time, or does not answer any more."""


class ProgramMismatch(DistributedError):
    """Processes that work together are about to run different programs."""


class CheckpointError(CovectorError, OSError):
    """A checkpoint cannot be read, or was not written."""


class CheckpointNotFound(CheckpointError, FileNotFoundError):
    """There is no checkpoint, or none that was finished."""


class CheckpointExists(CheckpointError, FileExistsError):
    """A checkpoint was to be saved where there is something already."""


class DLPackError(CovectorError, BufferError):
    """A tensor cannot be exchanged with another library through DLPack."""


class ExportError(CovectorError, ValueError):
    """A program cannot be exported, or not be called here."""


class ProfilerError(CovectorError, RuntimeError, ValueError):
    """A recording or a server of the profiler cannot be started, or stopped."""


class MissingLibrary(CovectorError, ModuleNotFoundError):
    """A library that only one function needs, and an extra brings, is not installed."""


class SettingError(CovectorError, ValueError):
    """A setting or an environment variable has a value that it cannot have."""


class UnknownOption(SettingError, AttributeError):
    """An option was asked for by a name that none has."""


class StaticArgumentError(CovectorError, TypeError, ValueError):
    """A static argument that cannot be one."""

    page: str | None = "static-argument"


class SparseEfficiencyError(CovectorError, ValueError):
    """A sparse array was to be stored in a form that takes more memory."""


class BatchedCondWarning(UserWarning):
    """A choice is by a batch of values, so that all its branches run."""


class SettingWarning(UserWarning):
    """A setting that is not followed, or a variable that is none of covector's."""


class TruncatedDTypeWarning(UserWarning):
    """A 64-bit dtype was named while ``enable_x64`` is off: arrays have 32 bits."""


class SparseEfficiencyWarning(UserWarning):
    """A sparse array is stored in a form that takes more memory."""


class DonationWarning(UserWarning):
    """An array was donated to a program that has no use for its memory."""


#: the names that JAX has for these
JAXIndexError = InvalidIndex
JAXTypeError = TracedValueError
JaxRuntimeError = DeviceError
JaxprTypeError = MalformedProgram

if not TYPE_CHECKING:  # checkers take what is defined here
    __all__ = [
        name
        for name, x in sorted(globals().items())
        if isinstance(x, type) and x.__module__ == __name__
    ]
    __dir__ = namespaces.completions(globals())
