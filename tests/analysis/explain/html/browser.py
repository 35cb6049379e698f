"""A browser without a window, driven through a pipe (the protocol of its tools).

Nothing is needed besides Chromium itself: messages are JSON, each ended by a zero byte.
"""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("google-chrome")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
#: what one answer may take, in seconds
PATIENCE = 60


class Page:
    """The one page of the browser; ``complaints`` are errors on its console."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._pending = b""
        self._count = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        attached = self("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask for something, and wait for the answer."""
        self._count += 1
        message: dict[str, Any] = dict(id=self._count, method=method, params=parameters)
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def open(self, path: Path, width: int, height: int = 1000) -> float:
        """Show a file in a window of this size; how long it took, in seconds."""
        self.complaints.clear()
        self.resize(width, height)
        start = time.perf_counter()
        self("Page.navigate", url=path.as_uri())
        while self.run("document.readyState") != "complete":
            time.sleep(0.01)
        self.settle()
        return time.perf_counter() - start

    def resize(self, width: int, height: int) -> None:
        self(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def dark(self, dark: bool) -> None:
        scheme = dict(name="prefers-color-scheme", value="dark" if dark else "light")
        self("Emulation.setEmulatedMedia", features=[scheme])

    def settle(self) -> None:
        """Wait until two pictures were drawn."""
        self.run(
            "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"
        )

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression; of a promise, what it brings."""
        answer = self(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self("Input.dispatchKeyEvent", type=kind, key=key)
        self.settle()

    def mouse(self, kind: str, x: float, y: float, clicks: int = 0) -> None:
        """``kind`` is Moved, Pressed or Released; from the corner of the window."""
        held = dict(button="left", clickCount=clicks) if clicks else {}
        self("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **held)
        self.settle()

    def type(self, text: str) -> None:
        self("Input.insertText", text=text)
        self.settle()

    def click(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).click()")
        self.settle()

    def text(self, selector: str) -> str:
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def picture(self, path: Path, selector: str = "html") -> None:
        """An element as a PNG."""
        box = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        corner = f"{{x: {box}.x + scrollX, y: {box}.y + scrollY}}"
        clip = self.run(f"Object.assign({box}.toJSON(), {corner}, {{scale: 1}})")
        answer = self("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(answer["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            assert ready, f"the browser has not answered for {PATIENCE} s"
            self._pending += os.read(self._read, 1 << 20)
        first, _, self._pending = self._pending.partition(b"\0")
        message = json.loads(first)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        method, about = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(about["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and about["type"] in (
            "error",
            "warning",
        ):
            self.complaints.append(str(about["args"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.complaints.append(about["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = about["request"]["url"]
            if not url.startswith(("file:", "data:")):
                self.complaints.append(f"a request to {url}")


def _high(ends: tuple[int, int]) -> tuple[int, ...]:
    """The same pipe with numbers above those that the browser needs."""
    moved = tuple([fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends])
    for end in ends:
        os.close(end)
    return moved


@contextlib.contextmanager
def opened(profile: Path) -> Iterator[Page]:
    """A browser with an empty profile in this folder."""
    assert PROGRAM is not None, "tests that need a browser are skipped without one"
    to_browser, write = _high(os.pipe())
    read, from_browser = _high(os.pipe())

    # A shell moves the ends to the numbers that the browser reads and writes.
    command = [PROGRAM, *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
    shell = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
    process = subprocess.Popen(
        ["/bin/bash", "-c", shell, "browser", *command],
        pass_fds=(to_browser, from_browser),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Page(write, read)
    finally:
        process.kill()
        process.wait()
        os.close(write)
        os.close(read)
