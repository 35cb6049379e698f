"""Reads the finished site in a browser, on a narrow and a wide screen: is a line cut?

    python -m website.look                     every page, at 400 and 1280 pixels
    python -m website.look numpy errors        pages with one of these in the address
    python -m website.look --pictures DIR …    … and pictures of them, light and dark

Chromium opens ``screen.html``, which loads the pages one by one in a frame of the width
of a screen, and reports what is wider. What is wide may scroll, as examples and tables
do; it may not be hidden, or leave the screen.
"""

import argparse
import contextlib
import http.server
import json
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

SITE = Path(__file__).parent.parent / "dist" / "site"
SCREEN = Path(__file__).with_name("screen.html")
WIDTHS = (400, 1280)
HEIGHT = 1400
#: what a page may take to load and to be measured, in seconds
PATIENCE = 60
BROWSER = (
    "chromium",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site and ``screen.html``, and takes what that reports."""

    def __init__(
        self, pages: Sequence[str], reports: "queue.Queue[Any]", *args: Any
    ) -> None:
        self.pages, self.reports = pages, reports
        super().__init__(*args, directory=str(SITE))

    def do_GET(self) -> None:
        """A page of the site, the page with the frame, or the list of pages."""
        asked = self.path.partition("?")[0]
        if asked == "/screen.html":
            self._send(SCREEN.read_bytes(), "text/html")
        elif asked == "/pages.json":
            listed = {"pages": self.pages, "widths": WIDTHS}
            self._send(json.dumps(listed).encode(), "application/json")
        else:
            super().do_GET()

    def do_POST(self) -> None:
        """A report."""
        length = int(self.headers["Content-Length"])
        self.reports.put(json.loads(self.rfile.read(length)))
        self._send(b"", "text/plain")

    def log_message(self, *args: Any) -> None:
        """Nothing is logged."""

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    """A server whose browser may go at any time."""

    def handle_error(self, *_: Any) -> None:
        """Nothing is told: what matters is reported, or missed."""


def main() -> None:
    """Looks at the pages that the command line names."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("part", nargs="*", default=[""], help="of an address")
    parser.add_argument("--pictures", type=Path, help="a folder for pictures")
    asked = parser.parse_args()
    pages = [p for p in addresses() if any(part in p for part in asked.part)]
    reports: queue.Queue[Any] = queue.Queue()
    profiles = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with serving(pages, reports) as base, profiles as profile:
        browser = [*BROWSER, f"--user-data-dir={profile}"]
        if asked.pictures:
            asked.pictures.mkdir(parents=True, exist_ok=True)
            take_pictures(browser, base, pages, asked.pictures)
        with opened([*browser, f"{base}/screen.html"]):
            cut = sum([tell(report) for report in iter(partial(next_of, reports), {})])
    print(f"{len(pages)} pages, of which {cut or 'none'} have cut lines")
    sys.exit(bool(cut))


def addresses() -> list[str]:
    """The pages of the site; of those with sources, which are all alike, one."""
    found = sorted("/" + p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html"))
    sources = [p for p in found if p.startswith("/reference/source/")]
    return [p for p in found if p not in sources[1:]]


@contextlib.contextmanager
def serving(pages: Sequence[str], reports: "queue.Queue[Any]") -> Iterator[str]:
    """The address of a server of the site."""
    handler = partial(Handler, pages, reports)
    with Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextlib.contextmanager
def opened(command: Sequence[str]) -> Iterator[None]:
    """A browser that runs beside."""
    process = subprocess.Popen(
        [*command, "--remote-debugging-port=0"], stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def next_of(reports: "queue.Queue[Any]") -> Any:
    """The next report of the browser; an empty one is the last."""
    try:
        return reports.get(timeout=PATIENCE)
    except queue.Empty:
        sys.exit(f"the browser has not reported for {PATIENCE} s")


def tell(report: dict[str, Any]) -> bool:
    """Prints what is cut on a page, if anything is."""
    for line in report["cut"]:
        print(f"{report['page']} at {report['width']}: {line}")
    return bool(report["cut"])


def take_pictures(
    browser: Sequence[str], base: str, pages: Sequence[str], folder: Path
) -> None:
    """Of each page, at each width, light and dark."""
    for page in pages:
        for width in WIDTHS:
            for scheme in ("default", "slate"):
                name = page.removesuffix("/index.html").strip("/").replace("/", "-")
                file = folder / f"{name or 'index'}-{width}-{scheme}.png"
                query = urlencode({"page": page, "width": width, "scheme": scheme})
                size = f"--window-size={max(width, 500)},{HEIGHT}"
                command = [*browser, size, f"--screenshot={file}", "--timeout=4000"]
                subprocess.run(
                    [*command, f"{base}/screen.html?{query}"],
                    check=True,
                    stderr=subprocess.DEVNULL,
                )


if __name__ == "__main__":
    main()
