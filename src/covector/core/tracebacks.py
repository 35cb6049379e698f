"""Tracebacks as they are printed: with the user's frames, without covector's.

An exception keeps its whole ``__traceback__``, for debuggers. Whoever prints one shows
less of it, by default: no frame of covector or of what covector calls to get its work
done, and no exception that covector raised and handled on the way. The option
``traceback`` shows all.

``install`` reaches three kinds of printers. Those that format by the standard library
(logging, unittest, doctest, ``print_exc``) make a ``TracebackException``, which drops
these frames here. The hooks of the interpreter and of threads, which before Python 3.13
are written in C, do the same. IPython, pytest and rich read the exception by
themselves: around their work ``as_shown`` changes it, and restores it.
"""

import contextlib
import functools
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterator
from types import CodeType, TracebackType
from typing import Any, NamedTuple

from covector import options
from covector.core.source import is_internal
from covector.errors import CovectorError, how_many, in_lines

_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
#: what is installed beside the standard library, in its folder
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\](\w+)[/\\]")
#: packages that covector calls, as users do too
_USED = ("jaxlib", "ml_dtypes", "numpy", "opt_einsum")
_BY_VARIABLE = "COVECTOR_TRACEBACK=full shows them"
_BY_OPTION = 'covector.config.update("traceback", "full") shows them'


class Cut(NamedTuple):
    """A traceback as it is shown, and how many frames are missing in it."""

    traceback: TracebackType | None
    hidden: int
    #: whether there is no frame but the library's: it was raised and handled there
    internal: bool = False


def cut(whole: TracebackType | None) -> Cut:
    """A traceback without the frames of the library; whole where no other is left."""
    links, kept = _links(whole), list(_visible(whole))
    if not kept or len(kept) == len(links):
        return Cut(whole, 0, internal=bool(links) and not kept)
    shown = None
    for link in reversed(kept):
        shown = TracebackType(shown, link.tb_frame, link.tb_lasti, link.tb_lineno)
    return Cut(shown, len(links) - len(kept))


def _links(whole: TracebackType | None) -> list[TracebackType]:
    links: list[TracebackType] = []
    while whole is not None:
        links.append(whole)
        whole = whole.tb_next
    return links


def _visible(whole: TracebackType | None) -> Iterator[TracebackType]:
    """The links that are not the library's, nor of what it called."""
    inside = False
    for link in _links(whole):
        code = link.tb_frame.f_code
        inside = is_internal(code) or (inside and _is_called_by_us(code))
        if not inside:
            yield link


def _is_called_by_us(code: CodeType) -> bool:
    """Whether a function that covector called is of a package that it is built on."""
    file = code.co_filename
    installed = _INSTALLED.search(file)
    if installed is not None:
        return installed[1] in _USED
    return file.startswith((_STANDARD_LIBRARY, "<frozen ", "<__array_function__"))


def _everything() -> bool:
    return options.current().traceback == "full"


@contextlib.contextmanager
def _in_lines() -> Generator[None]:
    """While the block runs, messages are in lines, unless all is shown as it is."""
    before = in_lines.set(not _everything())
    try:
        yield
    finally:
        in_lines.reset(before)


def _hints(
    error: object, kind: Any, whole: TracebackType | None, hidden: int, way: str
) -> list[str]:
    """The lines below an error: a keyword that was meant, the hidden frames."""
    hints: list[str] = []
    if not _everything() and issubclass(kind, Exception):
        meant = _meant(error, whole)
        hints += [f"({meant})"] if meant else []
    if hidden:
        hints.append(f"({how_many(hidden, 'frame')} inside covector hidden; {way})")
    return hints


def _meant(error: object, whole: TracebackType | None) -> str:
    """The part that Python's words leave out: a keyword, or the function called."""
    # An error is rare, and what it takes to help with it may not be imported yet.
    from covector.core.failing_call import failing_call  # noqa: PLC0415
    from covector.missing_names import keyword_way_out, member_way_out  # noqa: PLC0415

    links, kept = _links(whole), list(_visible(whole))
    known = links.index(kept[-1]) + 1 if kept else len(links)
    with contextlib.suppress(Exception):  # what is shown may be anything of the user's
        message = str(error)
        meant = keyword_way_out(message) or member_way_out(message)
        if meant or known == len(links):
            return meant
        frame = links[known].tb_frame
        # A message names the function, unless another one called that.
        if not re.search(rf"\b{re.escape(frame.f_code.co_name)}\b", message):
            return failing_call(frame)
    return ""


# -- exceptions, for printers that read them themselves --------------------------------


@contextlib.contextmanager
def as_shown(error: BaseException | None, way: str = _BY_OPTION) -> Generator[None]:
    """While the block runs, an exception and those before it are as they are shown.

    A note on it says how frames that are missing can be seen: that is the ``way``.
    """
    chain = [] if error is None or _everything() else _chain(error)
    attributes = [(e, dict(_attributes(e))) for e in chain]
    whole = error.__traceback__ if error is not None else None
    try:
        hidden = sum([_show(e) for e in chain])
        hints = _hints(error, type(error), whole, hidden, way)
        if error is not None and hints:
            _set(error, "__notes__", [*getattr(error, "__notes__", ()), *hints])
        with _in_lines():
            yield
    finally:
        for e, values in attributes:
            for name, value in values.items():
                _set(e, name, value)
            if "__notes__" not in values:
                vars(e).pop("__notes__", None)


def _chain(error: BaseException) -> list[BaseException]:
    """An exception and those that led to it and are shown, each once."""
    found: dict[int, BaseException] = {}
    e: BaseException | None = error
    while e is not None and id(e) not in found:
        found[id(e)] = e
        e = _outside(_above(e))
    return list(found.values())


def _above(shown: Any) -> Any:
    """The lines above an exception, or above what is formatted of one."""
    if shown.__cause__ is not None or shown.__suppress_context__:
        return shown.__cause__
    return shown.__context__


def _attributes(error: BaseException) -> Iterator[tuple[str, Any]]:
    for name in ("__traceback__", "__cause__", "__context__"):
        yield name, getattr(error, name)
    # To set a cause sets this as well, so it comes later.
    yield "__suppress_context__", error.__suppress_context__
    if "__notes__" in vars(error):
        yield "__notes__", vars(error)["__notes__"]


def _show(error: BaseException) -> int:
    """Leave out of an exception what is not shown; the number of its hidden frames."""
    suppressed = error.__suppress_context__
    shown = cut(error.__traceback__)
    _set(error, "__traceback__", shown.traceback)
    _set(error, "__cause__", _outside(error.__cause__))
    _set(error, "__context__", _outside(error.__context__))
    _set(error, "__suppress_context__", suppressed)
    return shown.hidden


def _outside(error: BaseException | None) -> BaseException | None:
    """The first exception in a row of contexts that is not internal."""
    while error is not None and cut(error.__traceback__).internal:
        error = error.__context__
    return error


def _set(error: BaseException, name: str, value: Any) -> None:
    # Not ``setattr``: an exception that is a frozen dataclass refuses that.
    BaseException.__setattr__(error, name, value)


# -- the formatter of the standard library ---------------------------------------------

_Formatted = traceback.TracebackException


def _filtered(initialize: Callable[..., None]) -> Callable[..., None]:
    """``TracebackException.__init__`` of an exception as it is shown."""

    @functools.wraps(initialize)
    def filtered(
        self: Any, exc_type: Any, exc_value: Any, exc_traceback: Any, **kwargs: Any
    ) -> None:
        shown = Cut(exc_traceback, 0)
        # Who prints an error must not meet another one.
        with contextlib.suppress(Exception):
            if not _everything():
                shown = cut(exc_traceback)
        with _in_lines():
            initialize(self, exc_type, exc_value, shown.traceback, **kwargs)
        self.covector_cut, self.covector_kind = shown, exc_type
        # Those that led to it are made in there; the first one is complete at the end.
        if kwargs.get("_seen") is None:
            with contextlib.suppress(Exception):
                _finish(self, exc_traceback)

    return filtered


def _finish(first: Any, whole: TracebackType | None) -> None:
    """Leave out internal exceptions, and append the hint."""
    waiting, hidden = [first], 0
    while waiting:
        shown = waiting.pop()
        shown.__cause__ = _outside_formatted(shown.__cause__)
        shown.__context__ = _outside_formatted(shown.__context__)
        before = _above(shown)
        waiting += [] if before is None else [before]
        waiting += getattr(shown, "exceptions", None) or ()
        hidden += shown.covector_cut.hidden
    hints = _hints(first, first.covector_kind, whole, hidden, _BY_VARIABLE)
    if hints:
        first.__notes__ = [*(getattr(first, "__notes__", None) or ()), *hints]
    first.covector_hints = hints


def _outside_formatted(shown: Any) -> Any:
    while shown is not None and shown.covector_cut.internal:
        shown = shown.__context__
    return shown


# -- the hooks -------------------------------------------------------------------------


class _Before:
    """The hooks from before ``install``."""

    initialize: Any = None
    excepthook: Any = None
    thread_excepthook: Any = None
    structured_traceback: Any = None
    extract: Any = None


def _print_filtered(
    kind: type[BaseException],
    error: BaseException | None,
    whole: TracebackType | None,
    head: str = "",
) -> bool:
    """Print an exception where something of it is not to be shown."""
    with contextlib.suppress(Exception):
        shown = _Formatted(kind, error, whole, compact=True)  # type: ignore[arg-type]
        if sys.stderr is not None and getattr(shown, "covector_hints", ()):
            sys.stderr.write(head + "".join(shown.format()))
            sys.stderr.flush()
            return True
    return False


def _excepthook(
    kind: type[BaseException], error: BaseException, whole: TracebackType | None
) -> None:
    if not _print_filtered(kind, error, whole):
        _Before.excepthook(kind, error, whole)


def _thread_excepthook(args: threading.ExceptHookArgs) -> None:
    name = args.thread.name if args.thread is not None else threading.get_ident()
    head = f"Exception in thread {name}:\n"
    if args.exc_type is SystemExit or not _print_filtered(
        args.exc_type, args.exc_value, args.exc_traceback, head
    ):
        _Before.thread_excepthook(args)


def _structured_traceback(
    self: Any, etype: Any, evalue: Any, etb: Any = None, *args: Any, **kwargs: Any
) -> Any:
    """The lines that IPython prints. Its debugger finds the whole traceback."""
    with as_shown(evalue):
        shown = etb
        if isinstance(etb, TracebackType) and not _everything():
            shown = cut(etb).traceback
        lines = _Before.structured_traceback(
            self, etype, evalue, shown, *args, **kwargs
        )
    if shown is not etb:
        self.tb = etb
    return lines


def _prints_alone(hook: Any) -> bool:
    """Whether a hook prints to the terminal, and is no tool's that wants all frames.

    Ubuntu's has a crash report written, and then prints.
    """
    module = getattr(hook, "__module__", None)
    return hook is sys.__excepthook__ or module == "apport_python_hook"


def install() -> None:
    """Filter what is printed from now on; hooks of other tools are left alone."""
    if _Before.initialize is None:
        _Before.initialize = _Formatted.__init__
        _Formatted.__init__ = _filtered(_Formatted.__init__)
    # From 3.13 on the hooks of Python format by TracebackException.
    if sys.version_info < (3, 13):
        if _prints_alone(sys.excepthook):
            _Before.excepthook, sys.excepthook = sys.excepthook, _excepthook
        if threading.excepthook is threading.__excepthook__:
            _Before.thread_excepthook = threading.excepthook
            threading.excepthook = _thread_excepthook
    if "IPython.core.ultratb" in sys.modules:
        _install_in_ipython()
    else:
        CovectorError._render_traceback_ = _first_in_ipython  # type: ignore[attr-defined]
    _install_in_rich()
    CovectorError.made = staticmethod(_install_in_rich)


def _install_in_ipython() -> None:
    ultratb = sys.modules["IPython.core.ultratb"]
    printer = getattr(ultratb, "AutoFormattedTB", None)  # another IPython may have none
    if printer is not None and _Before.structured_traceback is None:
        _Before.structured_traceback = printer.structured_traceback
        printer.structured_traceback = _structured_traceback


def _install_in_rich() -> None:
    """Where rich is imported later, it is met when an error of covector's is made."""
    module = sys.modules.get("rich.traceback")
    printer = getattr(module, "Traceback", None)
    if printer is not None and _Before.extract is None:
        _Before.extract = printer.extract
        printer.extract = staticmethod(_extract)


def _extract(exc_type: Any, exc_value: Any, traceback: Any, **kwargs: Any) -> Any:
    """The traceback that rich prints, read from an exception as it is shown."""
    with as_shown(exc_value, _BY_VARIABLE):
        shown = traceback if _everything() else cut(traceback).traceback
        return _Before.extract(exc_type, exc_value, shown, **kwargs)


def _first_in_ipython(error: CovectorError) -> list[str]:
    """The lines of the first error in an IPython that was started after the import.

    IPython asks an exception for them by this method, if its class has one.
    """
    del CovectorError._render_traceback_  # type: ignore[attr-defined]
    _install_in_ipython()
    printer = sys.modules["IPython"].get_ipython().InteractiveTB
    return printer.structured_traceback(type(error), error, error.__traceback__)


def uninstall() -> None:
    """Print all from now on, as if covector had never been imported."""
    if _Before.initialize is not None:
        _Formatted.__init__ = _Before.initialize
    if sys.excepthook is _excepthook:
        sys.excepthook = _Before.excepthook
    if threading.excepthook is _thread_excepthook:
        threading.excepthook = _Before.thread_excepthook
    if _Before.structured_traceback is not None:
        printer = sys.modules["IPython.core.ultratb"].AutoFormattedTB
        printer.structured_traceback = _Before.structured_traceback
    elif hasattr(CovectorError, "_render_traceback_"):
        del CovectorError._render_traceback_  # type: ignore[attr-defined]
    if _Before.extract is not None:
        sys.modules["rich.traceback"].Traceback.extract = _Before.extract
    CovectorError.made = staticmethod(lambda: None)
    _Before.initialize = _Before.structured_traceback = _Before.extract = None
