"""What a notebook shows of arrays: values where they are few, else a picture."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.core.html import arrays, elements
from tests.core.html.reading import pictures, read


def text(x):
    return read(x._repr_html_()).text


def wide(values):
    with cv.enable_x64():
        return cnp.asarray(values)


def test_a_small_array_shows_its_values_its_type_and_its_device():
    x = cnp.asarray([[1.0, np.nan], [np.inf, 4.0]])
    assert text(x).startswith(repr(x))
    assert "f32[2,2] · 4 elements · 16 B · cpu:0" in text(x)
    assert "f32[] · 1 element · 4 B" in text(cnp.float32(3))
    assert "Array([], shape=(0, 3), dtype=float32)" in text(cnp.zeros((0, 3)))


def test_a_large_array_shows_its_range_and_a_picture_of_its_values():
    values = np.linspace(-1, 3, 40, dtype=np.float32)[:, None] + np.zeros((40, 60))
    shown = cnp.asarray(values, "float32")._repr_html_()
    assert "Array (40, 60) float32" in read(shown).text
    assert "-1 ≤ x ≤ 3, mean 1" in read(shown).text
    (image,) = pictures(shown)
    assert image.shape == (40, 60, 4)
    reds, blues = image[:, 0, 0], image[:, 0, 2]
    assert blues[0] > reds[0]  # negative
    assert blues[-1] < reds[-1]  # positive
    assert (image == image[:, :1]).all()
    assert (image[..., 3] == 1).all()


def test_a_pixel_is_the_mean_of_the_finite_values_and_empty_where_there_are_none():
    values = np.zeros((192, 192), np.float32)
    values[:2, :2] = [[np.nan, 4], [np.inf, 2]]
    values[-2:, -2:] = np.nan
    shown = cnp.asarray(values)._repr_html_()
    assert "5 NaN, 1 inf" in read(shown).text
    (image,) = pictures(shown)
    assert image.shape == (96, 96, 4)
    assert image[-1, -1, 3] == 0
    assert (image[..., 3] == 0).sum() == 1
    colors = 255 * image[..., :3]
    np.testing.assert_allclose(colors[0, 0], [94, 201, 98], atol=1)  # 3 of at most 4
    np.testing.assert_allclose(colors[5, 5], [68, 1, 84], atol=1)


def test_one_axis_is_a_curve_with_gaps():
    values = np.sin(np.arange(120, dtype=np.float32))
    values[50:60] = np.nan
    shown = cnp.asarray(values)._repr_html_()
    assert pictures(shown) == []
    assert shown.count("M") - shown.count("Menlo") - shown.count("Mono") == 2
    assert "<svg" in cnp.asarray(values[None, :, None])._repr_html_()


def test_of_more_axes_the_first_slices_are_shown_by_their_index():
    shown = cnp.arange(2 * 1 * 5 * 20 * 3.0).reshape(2, 1, 5, 20, 3)._repr_html_()
    assert [p.shape for p in pictures(shown)] == [(20, 3, 4)] * 6
    words = read(shown).text
    assert "[0, 0, 4]" in words
    assert "[1, 0, 0]" in words
    assert "and 4 more" in words


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: cnp.arange(300) % 2 == 0, "0 ≤ x ≤ 1, mean 0.5"),
        (lambda: cnp.full((20, 20), 3 + 4j), "all elements are 5"),
        (lambda: cnp.full((20, 20), cnp.nan), "no finite values: 400 NaN"),
        (lambda: cnp.full((20, 20), 2, "bfloat16"), "all elements are 2"),
        (lambda: cnp.arange(128, dtype="int8").reshape(8, 16), "0 ≤ x ≤ 127"),
        (lambda: cnp.asarray([3e38, -3e38] * 60), "-3e+38 ≤ x ≤ 3e+38, mean 0"),
        (lambda: wide(np.array([1.7e308, -1.7e308] * 100)), "x ≤ 1.7e+308, mean 0"),
        (lambda: cv.random.split(cv.random.key(0), 200), "key<fry>[200] · 200"),
        (lambda: cv.random.key(0), "key<fry>[] · 1 element"),
    ],
)
def test_every_kind_of_values_is_described(made, words):
    assert words in text(made())


def test_a_deleted_array_says_so():
    x = cnp.ones(300)
    x.delete()
    assert text(x) == "Array(deleted, f32[300])"


def test_more_elements_than_are_good_to_draw_are_not(monkeypatch):
    monkeypatch.setattr(arrays, "_MOST", 200)
    assert "More than 200 elements are not drawn." in text(cnp.zeros(201))


def test_a_sharded_array_shows_which_device_holds_what():
    mesh = cv.make_mesh((4, 2), ("x", "y"))
    rows = cv.device_put(
        cnp.arange(32.0).reshape(8, 4), cv.NamedSharding(mesh, cv.P("x"))
    )
    shown = read(rows._repr_html_())
    assert shown.text.startswith(repr(rows))
    assert shown.rows == [
        ["", "0:4"],
        ["0:2", "cpu:0,1"],
        ["2:4", "cpu:2,3"],
        ["4:6", "cpu:4,5"],
        ["6:8", "cpu:6,7"],
    ]
    scalar = cv.device_put(1.0, cv.NamedSharding(mesh, cv.P()))
    assert "8 devices" in text(scalar)


def test_a_tracer_shows_its_type_and_its_origin():
    shown = []

    @cv.jit
    def f(x):
        shown.append(x._repr_html_())
        return x

    f(cnp.ones(3))
    text = read(shown[0]).text
    assert text.startswith("Tracer(f32[3])It is the argument x of f (test_arrays.py:")


def test_text_is_escaped():
    made = elements.element("p", "<b>&", elements.element("i", "a"), class_='"x"')
    assert made == '<p class="&quot;x&quot;">&lt;b&gt;&amp;<i>a</i></p>'
