"""The page of an explanation: one HTML file that needs no other, nor a network.

``render`` writes the data of an explanation into a template, with the style and the
scripts that show it. The scripts, one for each view, run inside one function in the
order of ``SCRIPTS``; text reaches the page as text, never as HTML.
"""

import json
from importlib.resources import files
from typing import Any

from covector.analysis.explain.html.packing import pack
from covector.errors import MissingLibrary

#: what a script uses stands in one before it, or is called when all have run
SCRIPTS = (
    "elements",
    "program",
    "slices",
    "selection",
    "tables",
    "line_tree",
    "lines",
    "groups",
    "layout",
    "pointers",
    "drawing",
    "emphasis",
    "camera",
    "nodes",
    "search",
    "graph",
    "details",
    "plots",
    "memory",
    "optimisation",
    "roofline",
    "compilation",
    "viewer",
)


def render(data: dict[str, Any]) -> str:
    """The page that shows an explanation, given as its ``to_dict()``.

    Raises:
      MissingLibrary: Jinja or Pygments is not installed; the extra ``inspect`` brings
        them.
    """
    try:
        from jinja2 import Environment, StrictUndefined  # noqa: PLC0415

        from covector.analysis.explain.html.colors import tokens  # noqa: PLC0415
    except ImportError as error:
        raise MissingLibrary(
            "The page of an explanation is made with Jinja and Pygments, one of which "
            "is not installed. Install them with: pip install 'covector[inspect]'"
        ) from error
    sources = [tokens(line["source"] or "") for line in data["lines"]]
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return page.from_string(_text("page.html.jinja")).render(
        name=data["name"],
        style=_text("page.css"),
        script="\n".join([_text(f"{name}.js") for name in SCRIPTS]),
        data=_inside_a_script(pack(data)),
        sources=_inside_a_script(sources),
    )


def _text(name: str) -> str:
    return files(__name__).joinpath(name).read_text("utf-8")


def _inside_a_script(x: Any) -> str:
    """JSON in which nothing ends an element, or begins one."""
    shown = json.dumps(x, separators=(",", ":"), allow_nan=False)
    return shown.replace("<", r"\u003c")
