"""The programs of the gallery, small: each learns or recovers what it says.

And their pages show them as they are.
"""

import importlib

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from website import gallery

mpl.use("agg")


@pytest.fixture
def run():
    """Run a program with smaller sizes than its own, and draw its figure."""

    def run(name, **sizes):
        program = importlib.import_module(f"docs.gallery.{name}")
        result = program.main(**sizes)
        figure = program.draw(result)
        figure.canvas.draw()
        assert all(axes.has_data() for axes in figure.axes)
        return result

    yield run
    plt.close("all")


def test_an_ensemble_of_perceptrons_tells_tumours_apart(run):
    result = run("mlp", networks=4, steps=50)
    assert result.accuracy > 0.93
    assert result.losses[:, -1].max() < 0.3 * result.losses[:, 0].min()
    assert len({*result.losses[:, -1].tolist()}) == 4


def test_augmentation_helps_with_few_images(run):
    result = run("augmentation", images=100, steps=240)
    assert result.augmented[-1] > result.plain[-1] + 0.01 > 0.8


def test_a_transformer_knows_more_than_the_frequencies_of_characters(run):
    result = run("transformer", steps=30, batch=8, length=2)
    assert result.losses[0] > 4
    assert result.test_loss < 3.2


def test_a_policy_learns_to_balance_the_pole(run):
    result = run("cart_pole", updates=10, environments=16)
    assert result.lengths[-1] > 3 * result.lengths[0]
    assert result.balanced > 100


def test_the_gradient_of_an_equilibrium_is_that_of_many_layers(run):
    result = run("equilibrium", steps=60, depths=(2, 32))
    assert result.accuracy > 0.8
    assert result.errors[0] > 0.05
    assert result.errors[1] < 1e-4


def test_training_on_eight_devices_is_training_on_one(run):
    result = run("sharded", steps=30, batch=64)
    np.testing.assert_allclose(result.sharded, result.single, rtol=1e-4)
    assert result.sharded[-1] < 0.5 * result.sharded[0]
    assert result.gradient_error < 1e-5
    assert {shard.data.shape for shard in result.weight.addressable_shards} == {
        (64, 128)
    }


def test_a_gaussian_process_draws_the_map_from_points(run):
    result = run("gaussian_process", measurements=200, every=8)
    assert result.rmse < 0.7 * result.terrain.std()
    assert 0.7 < result.coverage < 1


def test_hamiltonian_monte_carlo_finds_the_posterior(run):
    """Where the data say enough, it is near least squares; chains agree."""
    result = run("hmc", chains=4, warmup=200, draws=200)
    assert 0.6 < result.acceptance < 0.95
    assert result.r_hat.max() < 1.05
    mean = result.slopes.mean(axis=(0, 1))
    clear = [result.features.index(name) for name in ("age", "sex", "bmi", "bp")]
    np.testing.assert_allclose(mean[clear], result.least_squares[clear], atol=0.04)


def test_a_kalman_filter_finds_the_variances_of_the_textbook(run):
    result = run("kalman_filter")
    assert result.noise == pytest.approx(15099, rel=0.01)
    assert result.drift == pytest.approx(1469, rel=0.02)
    assert (result.smoothed[1][:-1] < result.filtered[1][:-1]).all()


def test_a_neural_equation_follows_lynx_and_hare(run):
    result = run("neural_ode", steps=160)
    assert result.rmse < 0.45


def test_argon_is_liquid_and_keeps_its_energy(run):
    result = run("argon", cells=3, warmup=600, steps=1200)
    assert result.first_peak == pytest.approx(3.7, abs=0.15)
    assert 1e-5 < result.diffusion < 5e-5
    assert np.ptp(result.energies) < 5e-3


def test_a_bridge_grows_stiffer_with_the_same_material(run):
    result = run("topology", rows=8, columns=24, steps=25)
    assert result.compliances[-1] < 0.45 * result.compliances[0]
    assert result.densities.mean() == pytest.approx(0.4, abs=1e-3)
    assert np.mean((result.densities < 0.1) | (result.densities > 0.9)) > 0.35


def test_checkpoints_make_the_mountain_of_memory_lower(run):
    result = run("anatomy", depth=6, width=8, batch=512)
    assert max(result.checkpointed) < 0.6 * max(result.held)
    assert 2 * 6 * 2 < len(result.path) < len(result.positions)


# -- pages -----------------------------------------------------------------------------


def test_the_front_page_lists_every_program_by_its_title():
    text = (gallery.PROGRAMS / "index.md").read_text(encoding="utf-8")
    listed = {item["name"]: item["title"] for item in gallery.ITEM.finditer(text)}
    titles = {name: gallery.page(name, "").splitlines()[0] for name in gallery.names()}
    assert {name: f"# {title}" for name, title in listed.items()} == titles
    assert ".py)" not in gallery.cards(text)


def test_a_page_shows_the_whole_program():
    """Its code in blocks, its comments that begin a cell as prose; what it printed."""
    page = gallery.page("mlp", "accuracy 1.0\n")
    lines = (gallery.PROGRAMS / "mlp.py").read_text(encoding="utf-8").splitlines()
    shown = [line.removeprefix("# ") for line in page.splitlines()]
    missing = [
        line
        for line in lines[1:]  # the first is the title
        if line not in {'"""', "#", "# %%"} and line.removeprefix("# ") not in shown
    ]
    assert missing == []
    assert "```text\naccuracy 1.0\n```" in page
    assert page.count("```") == 2 * (page.count("```python") + 1)
