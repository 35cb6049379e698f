"""Train while a bar shows the progress, then say and write down what came of it."""

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

import covector as cv
from covector import environment
from covector.demo import data, model, report
from covector.demo.data import Digits
from covector.demo.training import BATCH, Epoch, Training, step

MOST_SHOWN = 14


def run(epochs: int, seed: int, output: Path) -> report.Findings:
    """The whole job, from the images to the report."""
    started = perf_counter()
    console = Console()
    train, test = data.load(seed)
    console.print(
        f"covector {cv.__version__} learns {len(train.labels):,} handwritten digits "
        f"on the {cv.default_backend()}"
    )
    with console.status("tracing and compiling the training step"):
        training = Training(train, seed, epochs)
    history = list(watched(training, console))
    page = output.with_name(f"{output.stem}-step.html")
    with console.status("explaining the training step"):
        cv.explain(step)(*training.first).html(page)
    findings = judge(training, history, test, page.name)
    findings.figures["whole job"] = f"{perf_counter() - started:.1f} s"
    report.write(findings, output)
    console.print(summary(findings))
    console.print(f"The report is in {output}, and the training step in {page}")
    return findings


def watched(training: Training, console: Console) -> Iterator[Epoch]:
    """The epochs of a training, while a bar shows them pass."""
    columns = (
        TextColumn("epoch"),
        MofNCompleteColumn(),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.4f}"),
        TextColumn("{task.fields[speed]:,.0f} examples/s"),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=training.epochs, loss=float("nan"), speed=0.0)
        for epoch in training.run():
            speed = epoch.examples_per_second
            progress.update(bar, advance=1, loss=epoch.mean_loss, speed=speed)
            yield epoch


def judge(
    training: Training, history: list[Epoch], test: Digits, explanation: str
) -> report.Findings:
    """The accuracy of the trained network, and the cost of training it."""
    params = history[-1].state.params
    train = training.digits
    odds = [
        np.asarray(model.probabilities(e.state.params, test.images)) for e in history
    ]
    norms = np.asarray(model.gradient_norms(params, train.images, train.labels))
    guesses = np.asarray(model.probabilities(params, train.images)).argmax(axis=-1)
    batch = train.images[:BATCH], train.labels[:BATCH]
    seconds = median(epoch.seconds for epoch in history) / training.steps_per_epoch
    return report.Findings(
        losses=[epoch.losses for epoch in history],
        test_losses=[log_loss(test, each) for each in odds],
        test_accuracies=[accuracy(test, each) for each in odds],
        confusion=confusion(test, odds[-1]),
        figures={
            "parameters": f"{sum(p.size for p in cv.tree.leaves(params)):,}",
            "trace and lower": f"{training.trace_seconds:.2f} s",
            "compile": f"{training.compile_seconds:.2f} s",
            "one step": f"{1000 * seconds:.2f} ms",
            "examples per second": f"{BATCH / seconds:,.0f}",
            "median gradient norm": f"{np.median(norms):.2g}",
        },
        mistakes=mistakes(test, odds[-1]),
        hardest=hardest(train, guesses, norms),
        program=cv.make_jaxpr(model.loss)(params, *batch)._repr_html_(),
        explanation=explanation,
        versions=environment.versions(),
    )


def log_loss(digits: Digits, odds: np.ndarray) -> float:
    """The mean cross entropy of predictions ``[n, 10]``."""
    of_labels = odds[np.arange(len(odds)), np.asarray(digits.labels)]
    return float(-np.log(np.maximum(of_labels, 1e-12)).mean())


def accuracy(digits: Digits, odds: np.ndarray) -> float:
    """The share of the images whose likeliest digit is the right one."""
    return float((odds.argmax(axis=-1) == np.asarray(digits.labels)).mean())


def confusion(digits: Digits, odds: np.ndarray) -> np.ndarray:
    """``[10, 10]``: how many images of a digit (row) are taken for each (column)."""
    counts = np.zeros((model.CLASSES, model.CLASSES), int)
    np.add.at(counts, (np.asarray(digits.labels), odds.argmax(axis=-1)), 1)
    return counts


def mistakes(digits: Digits, odds: np.ndarray) -> list[report.Example]:
    """The digits that are taken for another, the most confident mistakes first."""
    images, labels = map(np.asarray, digits)
    guesses = odds.argmax(axis=-1)
    wrong = np.flatnonzero(guesses != labels)
    wrong = wrong[np.argsort(-odds[wrong, guesses[wrong]])]
    return [
        report.Example(
            images[i], int(labels[i]), int(guesses[i]), f"{odds[i].max():.0%} sure"
        )
        for i in wrong[:MOST_SHOWN]
    ]


def hardest(
    digits: Digits, guesses: np.ndarray, norms: np.ndarray
) -> list[report.Example]:
    """The digits with the largest gradients."""
    images, labels = map(np.asarray, digits)
    return [
        report.Example(
            images[i], int(labels[i]), int(guesses[i]), f"norm {norms[i]:.2g}"
        )
        for i in np.argsort(-norms)[:MOST_SHOWN]
    ]


def summary(findings: report.Findings) -> Table:
    """The figures as a table for the terminal."""
    table = Table(show_header=False, box=None)
    accuracy = f"{findings.accuracy:.2%} ({findings.right} of {findings.tested})"
    table.add_row("test accuracy", f"[bold]{accuracy}[/]")
    for name, value in findings.figures.items():
        table.add_row(name, value)
    return table
