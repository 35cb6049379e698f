"""The report: one self-contained HTML file, and a link to the one beside it."""

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.image import imsave
from matplotlib.ticker import MaxNLocator, PercentFormatter

# What matplotlib would write into each picture about its making.
UNSAID = ("Creator", "Date", "Format", "Type")


# Colours that pictures are drawn in, and those of the page that replace them: light and
# dark pages have others.
INK, LINE, FAINT, STRONG, OTHER = "#000001", "#000002", "#000003", "#000004", "#000005"
OF_THE_PAGE = {
    INK: "var(--soft)",
    LINE: "var(--line)",
    FAINT: "var(--accent-faint)",
    STRONG: "var(--accent)",
    OTHER: "var(--other)",
}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "",
    "font.size": 11,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": LINE,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


@dataclass(frozen=True)
class Example:
    """An image ``f32[8, 8]``, the digit it shows, the one it is read as, and a note."""

    image: np.ndarray
    label: int
    guess: int
    note: str

    @property
    def picture(self) -> str:
        """The image as the address of a PNG: ink is dark."""
        png = io.BytesIO()
        imsave(png, 1 - self.image, cmap="gray", vmin=0, vmax=1, format="png")
        return "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()


@dataclass(frozen=True)
class Findings:
    """The contents of the report."""

    #: losses of training, ``[epochs][steps]``
    losses: list[list[float]]
    #: the loss and the accuracy on the test images after each epoch
    test_losses: list[float]
    test_accuracies: list[float]
    #: how many test images of each digit (rows) are taken for each (columns)
    confusion: np.ndarray
    figures: dict[str, str]
    mistakes: list[Example]
    hardest: list[Example]
    #: the program of the loss, as HTML
    program: str
    #: the page beside the report that explains the training step
    explanation: str
    versions: dict[str, str]

    @property
    def tested(self) -> int:
        """The number of test images."""
        return int(self.confusion.sum())

    @property
    def right(self) -> int:
        """The number of test images that are classified correctly."""
        return int(np.trace(self.confusion))

    @property
    def accuracy(self) -> float:
        """The share of test images that are classified correctly."""
        return self.right / self.tested


def loss_curve(losses: list[list[float]], test_losses: list[float]) -> str:
    """The loss of every step, and the means of every epoch, as SVG."""
    steps = np.arange(1, np.size(losses) + 1) / len(losses[0])
    ends = np.arange(1, len(losses) + 1)
    with rc_context(STYLE):
        figure = Figure(figsize=(4.8, 3.1), layout="constrained")
        axes = _axes(figure, "loss")
        axes.set_yscale("log")
        axes.plot(steps, np.ravel(losses), color=FAINT, lw=0.8, label="one batch")
        means = np.mean(losses, axis=1)
        axes.plot(ends, means, ".-", color=STRONG, label="training")
        axes.plot(ends, test_losses, ".-", color=OTHER, label="test")
        axes.legend(frameon=False)
        return _svg(figure)


def accuracy_curve(test_accuracies: list[float]) -> str:
    """The accuracy on the test images after every epoch, as SVG."""
    with rc_context(STYLE):
        figure = Figure(figsize=(4.8, 3.1), layout="constrained")
        axes = _axes(figure, "accuracy")
        ends = np.arange(1, len(test_accuracies) + 1)
        axes.plot(ends, test_accuracies, ".-", color=OTHER, label="test")
        axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
        axes.legend(frameon=False, loc="lower right")
        return _svg(figure)


def _axes(figure: Figure, quantity: str) -> Axes:
    """A quantity over epochs."""
    axes = figure.add_subplot()
    axes.set(xlabel="epoch", ylabel=quantity)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.margins(x=0.02)
    axes.grid(lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _svg(figure: Figure) -> str:
    """The picture as an element of a page, in the colours of that page."""
    svg = io.StringIO()
    FigureCanvasSVG(figure).print_svg(svg, metadata=dict.fromkeys(UNSAID))
    # The XML declaration and doctype before the element have no place within HTML.
    text = svg.getvalue()[svg.getvalue().index("<svg") :]
    for drawn, shown in OF_THE_PAGE.items():
        text = text.replace(drawn, shown)
    return text


def write(findings: Findings, path: Path) -> None:
    """Write the report to ``path``; its folder must exist."""
    environment = Environment(
        loader=PackageLoader("covector.demo", package_path=""),
        autoescape=select_autoescape(["html.jinja"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("report.html.jinja").render(
        findings=findings,
        curves=[
            loss_curve(findings.losses, findings.test_losses),
            accuracy_curve(findings.test_accuracies),
        ],
    )
    path.write_text(page, encoding="utf-8")
