"""The demo learns, says so truthfully, and its parts do what they are named for."""

import re

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.cli.main import main
from covector.demo import adam, data, model, report, show
from covector.demo.training import BATCH, Training


@pytest.fixture(scope="module")
def digits():
    return data.load(seed=0)


@pytest.fixture(scope="module")
def params():
    return model.initialize(cv.random.key(0))


def test_a_few_epochs_reach_a_good_accuracy_and_a_report(tmp_path, capsys):
    path = tmp_path / "report.html"
    assert main(["demo", "--epochs=8", f"--output={path}"]) == 0
    out = capsys.readouterr().out
    accuracy = float(re.search(r"test accuracy\s+([\d.]+)%", out)[1])
    assert accuracy > 94
    assert re.search(r"compile\s+[\d.]+ s", out)
    assert re.search(r"one step\s+[\d.]+ ms", out)
    page = path.read_text()
    assert f"{accuracy:.2f} %" in page
    assert "<svg" in page
    assert "data:image/png;base64," in page
    assert ":f32[64,8,8]</span>" in page
    assert re.search(r"model.py:\d+</span>  return .*vmap\(cross_entropy", page)
    loads = re.findall(
        r"""(?:src|href)=["'](.*?)["']|<script|<link|url\((.*?)\)""", page
    )
    assert loads.pop(-1)[0] == "report-step.html"
    assert all(any(u.startswith(("data:", "#")) for u in load) for load in loads)
    assert "training.py" in (tmp_path / "report-step.html").read_text()


def test_both_parts_hold_every_digit_in_proportion(digits):
    train, test = digits
    assert (len(train.labels), len(test.labels)) == (1437, 360)
    assert train.images.shape == (1437, 8, 8)
    assert float(train.images.max()) == 1.0
    shares = [
        np.bincount(np.asarray(part.labels)) / len(part.labels) for part in digits
    ]
    np.testing.assert_allclose(*shares, atol=0.002)


def test_an_untrained_network_knows_nothing(digits, params):
    """Its loss is near that of a guess, log 10."""
    train, _ = digits
    loss = model.loss(params, train.images[:256], train.labels[:256])
    assert 1.5 < float(loss) < 5


def test_probabilities_sum_to_one(digits, params):
    odds = model.probabilities(params, digits[0].images[:5])
    assert odds.shape == (5, 10)
    np.testing.assert_allclose(np.asarray(odds).sum(axis=-1), 1, rtol=1e-5)


def test_a_gradient_norm_is_that_of_its_example_alone(digits, params):
    images, labels = digits[0].images[:3], digits[0].labels[:3]
    norms = model.gradient_norms(params, images, labels)
    for i in range(3):
        gradient = cv.grad(model.cross_entropy)(params, images[i], labels[i])
        leaves = [np.asarray(leaf).ravel() for leaf in cv.tree.leaves(gradient)]
        expected = np.linalg.norm(np.concatenate(leaves))
        np.testing.assert_allclose(float(norms[i]), expected, rtol=1e-4)


def test_a_shift_moves_the_ink_by_at_most_one_pixel():
    image = cnp.zeros((8, 8)).at[4, 4].set(1.0)
    indices = set()
    for key in cv.random.split(cv.random.key(1), 64):
        (row,), (column,) = np.nonzero(np.asarray(model.shift(key, image)))
        indices.add((int(row), int(column)))
    assert indices == {(r, c) for r in (3, 4, 5) for c in (3, 4, 5)}


def test_the_first_step_of_adam_is_the_rate_against_the_gradients_sign():
    params = {"layer": {"weights": cnp.asarray([1.0, 2.0, 3.0])}}
    gradients = {"layer": {"weights": cnp.asarray([10.0, -0.1, 0.0])}}
    state = adam.update(adam.start(params), gradients, 0.5)
    moved = np.asarray(state.params["layer"]["weights"])
    np.testing.assert_allclose(moved, [0.5, 2.5, 3.0], rtol=1e-5)


def test_adam_follows_its_published_recurrence():
    """Kingma & Ba, algorithm 1, in float64 NumPy."""
    gradients = np.random.default_rng(0).normal(size=(5, 4))
    param, mean, square = np.zeros(4), np.zeros(4), np.zeros(4)
    state = adam.start({"layer": {"weights": cnp.zeros(4)}})
    for t, g in enumerate(gradients, start=1):
        mean = 0.9 * mean + 0.1 * g
        square = 0.999 * square + 0.001 * g**2
        param -= (
            0.01 * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
        )
        state = adam.update(state, {"layer": {"weights": cnp.asarray(g)}}, 0.01)
    result = np.asarray(state.params["layer"]["weights"])
    np.testing.assert_allclose(result, param, rtol=1e-4)


def test_an_epoch_visits_each_image_at_most_once(digits):
    training = Training(digits[0], seed=0, epochs=2)
    first, second = (np.asarray(training.batches(epoch)) for epoch in range(2))
    assert first.shape == (1437 // BATCH, BATCH)
    assert len(np.unique(first)) == first.size
    assert (first != second).any()


def test_the_rate_falls_from_its_peak_to_zero(digits):
    training = Training(digits[0], seed=0, epochs=2)
    rates = [training.rate(number) for number in range(45)]
    assert rates[0] == 2e-3
    assert rates[-1] == 0
    assert rates == sorted(rates, reverse=True)


def test_mistakes_are_sorted_by_confidence():
    digits = data.Digits(np.zeros((4, 8, 8), np.float32), np.asarray([0, 1, 1, 0]))
    odds = np.asarray([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.7, 0.3]])
    found = show.mistakes(digits, odds)
    shown = [(m.label, m.guess, m.note) for m in found]
    assert shown == [(1, 0, "80% sure"), (1, 0, "60% sure")]


def test_the_curves_are_those_of_the_predictions():
    digits = data.Digits(np.zeros((4, 8, 8), np.float32), np.asarray([0, 1, 1, 0]))
    odds = np.asarray([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [1.0, 0.0]])
    assert show.accuracy(digits, odds) == 0.5
    expected = -np.log([0.9, 0.4, 0.2, 1.0]).mean()
    assert show.log_loss(digits, odds) == pytest.approx(expected)
    assert show.confusion(digits, odds)[:2, :3].tolist() == [[2, 0, 0], [2, 0, 0]]


def findings(confusion, **changed):
    """Those of a small test."""
    return report.Findings(
        **{
            "losses": [[2.0, 1.0], [0.5, 0.25]],
            "test_losses": [1.0, 0.5],
            "test_accuracies": [0.5, 0.9],
            "confusion": np.asarray(confusion),
            "figures": {},
            "mistakes": [],
            "hardest": [],
            "program": "<pre>sin</pre>",
            "explanation": "step.html",
            "versions": {},
            **changed,
        }
    )


def written(found, folder):
    report.write(found, folder / "report.html")
    return " ".join((folder / "report.html").read_text().split())


def test_a_report_without_mistakes_says_so(tmp_path):
    page = written(findings([[3, 0], [0, 4]], versions={"a<b": "1"}), tmp_path)
    assert "every one of the 7 test images is read correctly" in page
    assert "100.00 %" in page
    assert "<pre>sin</pre>" in page
    assert "a&lt;b" in page


def test_a_report_with_many_mistakes_says_that_it_shows_a_few(tmp_path):
    example = report.Example(np.zeros((8, 8), np.float32), 3, 8, "90% sure")
    page = written(findings([[25, 2], [3, 20]], mistakes=[example] * 3), tmp_path)
    assert "Of 50 images it gets 5 wrong; these are the 3 it is surest of." in page
    assert '<b>true 3</b> <b class="wrong">predicted 8</b> 90% sure' in page


def test_the_confusion_matrix_has_true_digits_as_rows(tmp_path):
    page = written(findings([[25, 2], [0, 20]]), tmp_path)
    right, missed = '<td class="right">25</td>', '<td class="missed">2</td>'
    assert f'<th scope="row">0</th>{right}{missed}</tr>' in page
    assert '<th scope="row">1</th><td></td><td class="right">20</td></tr>' in page


def test_pictures_have_the_colours_of_a_light_and_a_dark_page(tmp_path):
    page = written(findings([[1]]), tmp_path)
    assert "prefers-color-scheme: dark" in page
    assert page.count("<svg") == 2
    drawn = "".join(re.findall(r"<svg.*?</svg>", page))
    assert set(re.findall(r"(?:fill|stroke): (#\w+)", drawn)) == set()
    assert "stroke: var(--accent)" in drawn
