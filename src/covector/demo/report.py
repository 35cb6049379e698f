"""The report: one self-contained HTML file."""

import base64
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.image import imsave
from matplotlib.ticker import MaxNLocator

# What matplotlib would write into each picture about its making.
UNSAID = ("Creator", "Date", "Format", "Type")


@dataclass(frozen=True)
class Example:
    """An image ``f32[8, 8]``, its label, and a note about it."""

    image: np.ndarray
    label: int
    note: str

    @property
    def picture(self) -> str:
        """The image as the address of a PNG: ink is dark."""
        png = io.BytesIO()
        imsave(png, 1 - self.image, cmap="gray", vmin=0, vmax=1, format="png")
        return "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()


@dataclass(frozen=True)
class Findings:
    """The contents of the report. Losses are ``[epochs][steps]``."""

    accuracy: float
    tested: int
    figures: dict[str, str]
    losses: list[list[float]]
    mistakes: list[Example]
    hardest: list[Example]
    jaxpr: str
    versions: dict[str, str]

    @property
    def right(self) -> int:
        """The number of test images that are classified correctly."""
        return round(self.accuracy * self.tested)


def loss_curve(losses: list[list[float]]) -> str:
    """The loss of every step, and the mean of every epoch, as SVG."""
    per_epoch = len(losses[0])
    steps = np.arange(1, len(losses) * per_epoch + 1) / per_epoch
    middles = np.arange(len(losses)) + 0.5
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "", "font.size": 11}):
        figure = Figure(figsize=(9, 3.2), layout="constrained")
        axes = figure.add_subplot()
        axes.semilogy(steps, np.ravel(losses), color="#a5b4fc", lw=0.8, label="step")
        means = np.mean(losses, axis=1)
        axes.semilogy(
            middles, means, ".-", color="#4338ca", lw=2, label="mean of the epoch"
        )
        axes.set(xlabel="epoch", ylabel="loss")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.margins(x=0.01)
        axes.grid(color="#e5e7eb", lw=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        svg = io.StringIO()
        FigureCanvasSVG(figure).print_svg(svg, metadata=dict.fromkeys(UNSAID))
    # The XML declaration and doctype before the element have no place within HTML.
    return svg.getvalue()[svg.getvalue().index("<svg") :]


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
        findings=findings, curve=loss_curve(findings.losses)
    )
    path.write_text(page, encoding="utf-8")
