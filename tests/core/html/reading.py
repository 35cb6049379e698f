"""How tests read the HTML that notebooks show."""

import base64
import io
import re
from html.parser import HTMLParser

import numpy as np
from matplotlib.image import imread

#: elements without an end
_VOID = {"img"}


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text, self.rows = [], "", []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            assert not name.startswith("on"), f"a script: {name}={value}"
            if name in {"src", "href"}:
                assert value.startswith("data:"), f"loads {value}"
        assert tag not in {"script", "link", "iframe"}
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        if tag not in _VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] == "style":
            assert "url(" not in data
            return
        self.text += data
        if self.open[-1] in {"td", "th"}:
            self.rows[-1][-1] += data


def read(shown):
    """A reader with ``text`` and ``rows`` of tables, of HTML that is well formed and
    loads nothing.
    """
    assert type(shown) is str
    reader = _Reader()
    reader.feed(shown)
    reader.close()
    assert reader.open == []
    return reader


def pictures(shown):
    """The pixels of the pictures, ``[height, width, 4]`` from 0 to 1."""
    found = re.findall(r"data:image/png;base64,([\w+/=]+)", shown)
    return [np.asarray(imread(io.BytesIO(base64.b64decode(p)))) for p in found]
