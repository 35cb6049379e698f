"""Profiling: what the host and the devices did, and when.

    with profiler.trace("/tmp/trace"):           records what runs in the block
        with profiler.TraceAnnotation("load"):   names a part of it
            ...

The trace is a file for TensorBoard or XProf, and one for https://ui.perfetto.dev;
``ProfileData.from_file`` reads the first in Python. Annotations cost a quarter of a
microsecond while nothing is recorded.

The function ``covector.profile`` runs one function, and says which lines take its time.
"""

import contextlib
import gzip
import http.server
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

from covector import namespaces
from covector.core.source import wraps
from covector.errors import ProfilerError
from covector.runtime import client, profiling
from covector.runtime.profiling import (
    ProfileData,
    ProfileEvent,
    ProfileOptions,
    ProfilePlane,
)

__all__ = [
    "ProfileData",
    "ProfileEvent",
    "ProfileOptions",
    "ProfilePlane",
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "device_memory_profile",
    "register_subprocess",
    "save_device_memory_profile",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
]
__dir__ = namespaces.completions(globals())

P = ParamSpec("P")
R = TypeVar("R")
Folder = str | os.PathLike[str]


class _Files(NamedTuple):
    """The form of a recording when it is stopped."""

    folder: Path
    perfetto_trace: bool
    perfetto_link: bool


class _Recording(NamedTuple):
    """A session, and what to make of it; None where its bytes are wanted."""

    session: profiling.ProfilerSession
    files: _Files | None


class _State:
    """The one recording of this process, and its server."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.recording: _Recording | None = None
        self.server: profiling.ProfilerServer | None = None


_state = _State()


# -- recording -------------------------------------------------------------------------


def start_trace(
    log_dir: Folder,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> None:
    """Record what the host and the devices do, until ``stop_trace``.

    Use it where no ``with`` block fits, in a notebook for instance; else ``trace``.

    Args:
      log_dir: the folder for the files, below ``plugins/profile/`` and the time.
      create_perfetto_link: print a link that opens the trace at ui.perfetto.dev when it
        has been stopped, and wait until it was opened.
      create_perfetto_trace: write ``perfetto_trace.json.gz`` as well.
      profiler_options: such as ``host_tracer_level``, and ``python_tracer_level``,
        which is 1 for each call of a Python function, or 0.

    Raises:
      ProfilerError: a trace is being recorded already.
    """
    also = create_perfetto_trace or create_perfetto_link
    files = _Files(Path(log_dir), also, create_perfetto_link)
    _begin("start_trace", files, profiler_options)


def _begin(who: str, files: _Files | None, options: ProfileOptions | None) -> None:
    with _state.lock:
        now = _state.recording
        if now is not None:
            into = f" into {now.files.folder}" if now.files else ""
            way_out = " Call stop_trace() before." if now.files else ""
            raise ProfilerError(
                f"{who} was called while a trace is being recorded{into}; there can be "
                f"one at a time.{way_out}"
            )
        client.client()  # devices that come later are not recorded
        session = profiling.ProfilerSession(options or ProfileOptions())
        _state.recording = _Recording(session, files)


def record(who: str, run: Callable[[], Any], options: ProfileOptions) -> bytes:
    """The work of host and devices while ``run`` runs, as an XSpace.

    Raises:
      ProfilerError: a trace is being recorded already.
    """
    _begin(who, None, options)
    try:
        run()
    finally:
        with _state.lock:
            recording, _state.recording = _state.recording, None
            assert recording is not None, "stop_trace ends what start_trace began"
            made = recording.session.stop()
    return made


def stop_trace() -> None:
    """End the recording that ``start_trace`` began, and write its files.

    Raises:
      ProfilerError: nothing is being recorded.
    """
    with _state.lock:
        recording = _state.recording
        if recording is None or recording.files is None:
            raise ProfilerError("stop_trace was called, but no start_trace before.")
        _state.recording = None
        made = recording.session.stop()
    files = recording.files
    files.folder.mkdir(parents=True, exist_ok=True)
    recording.session.export(made, str(files.folder))
    if files.perfetto_trace:
        latest = max(files.folder.glob("plugins/profile/*"))
        file = latest / "perfetto_trace.json.gz"
        write_perfetto(ProfileData.from_serialized_xspace(made), file)
        if files.perfetto_link:
            _serve_once(file)


@contextlib.contextmanager
def trace(
    log_dir: Folder,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> Iterator[None]:
    """Record what the host and the devices do inside a ``with`` block.

    Calls return before devices are done: end the block with ``block_until_ready``, or
    the recording stops too early. Run a jitted function once before, or the recording
    shows how it is compiled.

    Args:
      log_dir: the folder for the files, below ``plugins/profile/`` and the time.
      create_perfetto_link: as ``start_trace`` takes it.
      create_perfetto_trace: write ``perfetto_trace.json.gz`` as well.
      profiler_options: what is recorded, and in how much detail.

    Raises:
      ProfilerError: a trace is being recorded already.

    >>> import tempfile, covector as cv
    >>> with tempfile.TemporaryDirectory() as folder, trace(folder):
    ...     y = cv.jit(cv.numpy.sin)(cv.numpy.ones(1000)).block_until_ready()

    See also: ``TraceAnnotation`` to name parts of a program, ``ProfileData`` to read
    the files in Python.
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


def write_perfetto(
    data: ProfileData,
    file: Path,
    about: Callable[[dict[str, str]], dict[str, str]] = lambda shown: shown,
    other: dict[str, Any] | None = None,
) -> None:
    """The recorded events as JSON that ui.perfetto.dev and chrome://tracing read,
    compressed where the name ends in ``.gz``.

    ``about`` may add to what is shown of an event; ``other`` is data that viewers pass
    over.
    """
    events: list[dict[str, Any]] = []
    for process, plane in enumerate(data.planes):
        events.append(_named("process_name", process, 0, plane.name))
        for thread, line in enumerate(plane.lines):
            events.append(_named("thread_name", process, thread, line.name))
            events += [
                {
                    "ph": "X",
                    "pid": process,
                    "tid": thread,
                    "name": event.name,
                    "ts": event.start_ns / 1e3,
                    "dur": event.duration_ns / 1e3,
                    "args": about({k: str(value) for k, value in event.stats if k}),
                }
                for event in line.events
            ]
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "wt", encoding="utf-8") as out:
        whole = {"displayTimeUnit": "ns", "traceEvents": events}
        json.dump({**whole, **({"otherData": other} if other else {})}, out)


def _named(kind: str, process: int, thread: int, name: str | None) -> dict[str, Any]:
    about = {"name": name or ""}
    return {"ph": "M", "pid": process, "tid": thread, "name": kind, "args": about}


def _serve_once(file: Path) -> None:
    """Print the link that opens a trace at ui.perfetto.dev, and wait for that."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "https://ui.perfetto.dev")
            self.end_headers()
            self.wfile.write(file.read_bytes())

        def log_message(self, *_: object) -> None: ...

    # The page takes traces from this port only.
    with http.server.HTTPServer(("127.0.0.1", 9001), Handler) as server:
        here = f"http://127.0.0.1:{server.server_port}/{file.name}"
        print(f"Open https://ui.perfetto.dev/#!/?url={here}")  # noqa: T201
        server.handle_request()


# -- annotations -----------------------------------------------------------------------


class TraceAnnotation(profiling.TraceMe):
    """A part of the program by name, in what is recorded: a ``with`` block.

    Keyword arguments are shown with it.

    >>> with TraceAnnotation("load", batch=32):
    ...     pass
    """


class StepTraceAnnotation(TraceAnnotation):
    """A step of training: viewers show the times of steps.

    >>> for step in range(2):
    ...     with StepTraceAnnotation("train", step_num=step):
    ...         pass
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)


def annotate_function(
    func: Callable[P, R], name: str | None = None, **decorator_kwargs: Any
) -> Callable[P, R]:
    """``func``, whose calls are named in what is recorded.

    Args:
      name: the name; that of the function by default.
      decorator_kwargs: shown with each call.

    >>> annotate_function(abs, name="magnitude")(-2)
    2
    """
    shown = name or getattr(func, "__qualname__", type(func).__qualname__)

    @wraps(func)
    def annotated(*args: P.args, **kwargs: P.kwargs) -> R:
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated


# -- memory ----------------------------------------------------------------------------


def device_memory_profile(backend: str | None = None) -> bytes:
    """The contents of the memory of the devices now, as ``pprof`` reads it, compressed.

    Args:
      backend: the platform, such as "gpu"; by default that where programs run.

    Raises:
      DeviceError: there is no such platform.
    """
    return profiling.heap_profile(backend)


def save_device_memory_profile(filename: Folder, backend: str | None = None) -> None:
    """Write ``device_memory_profile`` into a file: look at it with
    ``pprof --web FILENAME``.
    """
    Path(filename).write_bytes(device_memory_profile(backend))


# -- from outside ----------------------------------------------------------------------


def start_server(port: int, requires_backend: bool = True) -> profiling.ProfilerServer:
    """Let TensorBoard record this process through a port, until ``stop_server``.

    Args:
      requires_backend: whether devices are made ready before; one that comes later
        cannot be recorded.

    Raises:
      ProfilerError: there is a server already.
    """
    with _state.lock:
        if _state.server is not None:
            raise ProfilerError(
                "start_server was called, but this process has a server already. Call "
                "stop_server() before."
            )
        if requires_backend:
            client.client()
        _state.server = profiling.start_server(port)
        return _state.server


def stop_server() -> None:
    """End the server that ``start_server`` started.

    Raises:
      ProfilerError: there is none.
    """
    with _state.lock:
        if _state.server is None:
            raise ProfilerError("stop_server was called, but no start_server before.")
        _state.server = None


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Record a process that this one started, with this one: it has called
    ``start_server(port)``.

    Returns:
      a function that takes it back.

    Raises:
      ProfilerError: that process does not answer, or is known already.
    """
    try:
        return profiling.register_subprocess(pid, port)
    except RuntimeError as error:
        raise ProfilerError(
            f"register_subprocess cannot record process {pid} at port {port}: {error}"
        ) from error
