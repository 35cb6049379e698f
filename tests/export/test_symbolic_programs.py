"""Programs with symbolic sizes: one artefact is right for every size."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
import covector.scipy.sparse.linalg
from covector import export, lax, nn, ops
from covector.errors import (
    ArgumentError,
    ExportError,
    InconclusiveDimensionOperation,
    TypeMismatch,
)
from covector.scipy import linalg

SCOPE = export.SymbolicScope(["c >= 2"])
B, C = export.symbolic_shape("b, c", scope=SCOPE)


def struct(*shape, dtype="float32"):
    return cv.ShapeDtypeStruct(shape, dtype)


def rows(*shape):
    values = np.sin(np.arange(np.prod(shape), dtype=np.float32)) + 0.25
    return cnp.asarray(values.reshape(shape))


def assert_serves(f, specs, *calls):
    """One program, stored and read, has the values of ``f`` for all these sizes."""
    made = export.export(cv.jit(f))(*specs)
    made = export.deserialize(made.serialize())
    for args in calls:
        found, wanted = cv.tree.leaves(made.call(*args)), cv.tree.leaves(f(*args))
        for x, y in zip(found, wanted, strict=True):
            assert x.shape == y.shape
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)
    return made


def shapes(x):
    """Operations on shapes and indices, of rows."""
    n = x.shape[0]
    return (
        x.reshape(-1),
        x.reshape(n * 3, 1).T,
        x[::2],
        x[::-1],
        x[-1] + x[0],
        cnp.concatenate([x, cnp.zeros((n, 2))], 1),
        cnp.stack([x, x]),
        cnp.repeat(x, 2, 0),
        cnp.tile(x, (2, 1)),
        cnp.pad(x, ((1, 2), (0, 0))),
        cnp.broadcast_to(x[:, :1], (n, n)),
        cnp.roll(x, 1, 0),
        cnp.eye(n) + cnp.tril(x @ x.T),
        x.at[0].set(1.0),
        cnp.full((n,), 3.0),
    )


def numbers(x):
    """Operations whose values depend on the size."""
    n = x.shape[0]
    return (
        x.mean(0),
        x.var(),
        x / n,
        x * (1 / n),
        x + cnp.arange(n)[:, None],
        cnp.where(cnp.arange(n) < n // 2, 1.0, 0.0),
        cnp.asarray(n * x.size + 2) * 1.5,
        cnp.linspace(0, 1, 5) * n,
    )


def reductions(x):
    return (
        nn.softmax(x, 0),
        nn.logsumexp(x),
        cnp.sort(x, 0),
        cnp.argmax(x, 0),
        cnp.cumsum(x, 0),
        cnp.median(x, 0),
        cnp.linalg.norm(x),
        lax.top_k(x, 2),
    )


def loops(x):
    return (
        lax.scan(lambda c, r: (c + r.sum(), c * r), 0.0, x),
        lax.fori_loop(0, x.shape[0], lambda i, a: a + x[i], cnp.zeros(3)),
        lax.while_loop(lambda s: s.sum() < 10, lambda s: s + 1, x),
        lax.cond(x.sum() > 0, lambda: x, lambda: -x),
        cv.vmap(lambda r: cnp.tanh(r) @ r)(x),
        cv.jit(lambda y: y * 2 + y.shape[0])(x),
    )


def derivatives(x):
    return (
        cv.grad(lambda x: (x**2).mean())(x),
        cv.grad(cv.checkpoint(lambda x: cnp.sin(x[::2]).sum()))(x),
        cv.vmap(cv.grad(lambda r: nn.softmax(r)[0]))(x),
        cv.grad(lambda x: lax.scan(lambda c, r: (c * r.sum(), c), 1.0, x)[0])(x),
    )


def by_sizes(x):
    """What is made of as many elements as an axis has, or at such an index."""
    n = x.shape[0]
    return (
        x[n - 1] + x[n // 2],
        cnp.arange(n, dtype="float32"),
        cnp.linspace(0.0, 1.0, n),
        cnp.logspace(0.0, 1.0, n),
        cnp.geomspace(1.0, 2.0, n),
        cnp.repeat(cnp.ones(2), n),
        cnp.pad(x, ((0, n), (1, 0))),
        cnp.pad(x, [(1, 2), (n, n)]),
        cnp.pad(x, ((2, 2), (0, 0)), "edge"),
        cnp.pad(cnp.concatenate([x, x, x]), ((2, 2), (0, 0)), "wrap"),
        cnp.pad(cnp.concatenate([x, x, x]), ((2, 1), (0, 0)), "reflect"),
        cnp.pad(cnp.concatenate([x, x, x]), ((2, 2), (0, 0)), "symmetric"),
        x.at[::2].set(0.0),
        cnp.delete(cnp.concatenate([x, x]), 1, 0),
        nn.one_hot(cnp.array([0]), n),
        ops.segment_max(x, cnp.arange(n), n),
        lax.top_k(x[:, 0], n),
        cnp.fft.fftfreq(n),
        cnp.fft.rfftfreq(n, 0.5),
        cnp.fft.fft(x, n=8, axis=0).real,
        cv.random.key_data(cv.random.fold_in(cv.random.key(0), n)),
        cv.random.gamma(cv.random.key(0), 2.0, (n,)),
        x * (n * 0.5) + (n - 0.5),
    )


def matrices(x):
    """Functions of matrices, and of their diagonals."""
    square = x @ x.T + 3 * cnp.eye(x.shape[0])
    return (
        cnp.diagonal(square),
        cnp.trace(square),
        cnp.fill_diagonal(square, 1.0, inplace=False),
        linalg.toeplitz(x[:, 0]),
        linalg.block_diag(square, cnp.ones((2, 2))),
        cnp.linalg.det(square),
        *cnp.linalg.slogdet(square),
        cv.grad(lambda y: cnp.linalg.cholesky(y).sum())(square),
        cnp.linalg.multi_dot([x, x.T, x]),
        cnp.vectorize(lambda a: a + 1)(x),
        x[cnp.ix_(cnp.arange(x.shape[0]), cnp.array([0, 2]))],
    )


def searches(x):
    """Functions that look for elements."""
    a = cnp.sort(x[:, 0])
    return (
        cnp.searchsorted(a, x),
        cnp.searchsorted(a, x, "right", method="compare_all"),
        cnp.interp(x, a, a**2),
        cnp.isin(x, a),
        cnp.convolve(a, a),
        cv.vmap(lambda i: a[i])(cnp.arange(a.shape[0])),
        cv.grad(lambda x: (x[1:] ** 2).sum())(x),
        cv.scipy.sparse.linalg.cg(lambda v: 2 * v, a)[0],
    )


@pytest.mark.parametrize(
    "f",
    [shapes, numbers, reductions, loops, derivatives, by_sizes, matrices, searches],
)
def test_one_program_is_right_for_every_size(f):
    assert_serves(f, [struct(B, 3)], [rows(4, 3)], [rows(1, 3)], [rows(7, 3)])


def test_several_sizes_meet_in_one_program():
    def attention(q, k, v):
        return nn.softmax(q @ k.T / cnp.sqrt(1.0 * q.shape[1])) @ v

    made = assert_serves(
        attention,
        [struct(B, 8), struct(C, 8), struct(C, 4)],
        [rows(3, 8), rows(5, 8), rows(5, 4)],
        [rows(5, 8), rows(2, 8), rows(2, 4)],
        [rows(1, 8), rows(3, 8), rows(3, 4)],
    )
    assert str(made.out_avals[0]) == "f32[b,4]"

    def mixed(x, i):
        flat = x.reshape(x.shape[0], -1)
        return flat @ flat.T, x[i], cnp.split(x, 2, 1), x.swapaxes(0, 1)[1:]

    assert_serves(
        mixed,
        [struct(B, 2 * C, 3), struct(C, dtype="int32")],
        [rows(4, 6, 3), cnp.array([0, 2, -1])],
        [rows(2, 4, 3), cnp.array([1, 0])],
    )


def test_convolutions_random_numbers_and_factorizations():
    def f(key, x, w):
        y = lax.conv_general_dilated(x, w, (2, 2), "SAME")
        return y + cv.random.normal(key, y.shape), lax.reduce_window(
            x, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 1, 1), "VALID"
        )

    key = cv.random.key(5)
    made = assert_serves(
        f, [key, struct(B, 3, 8, 8), struct(2, 3, 3, 3)],
        [key, rows(2, 3, 8, 8), rows(2, 3, 3, 3)],
        [key, rows(3, 3, 8, 8), rows(2, 3, 3, 3)],
    )  # fmt: skip
    assert [str(t) for t in made.out_avals] == ["f32[b,2,4,4]", "f32[b,3,7,7]"]

    def solve(x):
        return cnp.linalg.solve(x @ x.T + 3 * cnp.eye(x.shape[0]), x)

    assert_serves(solve, [struct(B, 3)], [rows(4, 3)], [rows(1, 3)])


def test_derivatives_and_batches_of_a_symbolic_program():
    def loss(w, x):
        return (nn.softmax(x @ w) ** 2).mean()

    made = export.export(cv.jit(loss))(struct(3, C), struct(B, 3))
    made = export.deserialize(made.serialize(vjp_order=1))
    for b, c in ((4, 2), (1, 5)):
        w, x = rows(3, c), rows(b, 3)
        np.testing.assert_allclose(
            cv.jit(cv.grad(made.call))(w, x), cv.grad(loss)(w, x), rtol=1e-4, atol=1e-6
        )
        batch = cnp.stack([x, 2 * x])
        np.testing.assert_allclose(
            cv.vmap(made.call, (None, 0))(w, batch),
            cv.vmap(loss, (None, 0))(w, batch),
            rtol=1e-5,
        )
    assert [str(t) for t in made.vjp().out_avals] == ["f32[3,c]", "f32[b,3]"]


def test_a_symbolic_program_is_called_in_another():
    inner = export.export(cv.jit(lambda x: (x.sum(0), x * x.shape[0])))(struct(B, C))

    def outer(x):
        total, scaled = inner.call(x[1:])
        return total + scaled.mean(0)

    def wanted(x):
        return x[1:].sum(0) + (x[1:] * (x.shape[0] - 1)).mean(0)

    made = export.export(cv.jit(outer))(struct(2 * B, 3))
    np.testing.assert_allclose(made.call(rows(4, 3)), wanted(rows(4, 3)), rtol=1e-5)
    np.testing.assert_allclose(made.call(rows(8, 3)), wanted(rows(8, 3)), rtol=1e-5)


def test_the_program_of_several_platforms_serves_every_size():
    f = cv.jit(lambda x: cnp.cumsum(x, 0) / x.shape[0])
    made = export.export(f, platforms=["cpu", "cuda"])(struct(B, 3))
    np.testing.assert_allclose(made.call(rows(5, 3)), f(rows(5, 3)), rtol=1e-6)


# -- what sizes are accepted -----------------------------------------------------------


@pytest.fixture(scope="module")
def halves():
    """A program for even sizes of at least 4, of which another is no larger."""
    known = ["mod(n, 2) == 0", "n >= 4", "m <= n"]
    n, m = export.symbolic_shape("n, m", constraints=known)

    def f(x, y):
        return x.reshape(2, x.shape[0] // 2) + x[:4].sum(), y + x[: y.shape[0]]

    made = export.export(cv.jit(f))(struct(n), struct(m))
    return export.deserialize(made.serialize()), f


def test_constraints_decide_what_would_be_inconclusive(halves):
    made, f = halves
    for n, m in ((6, 2), (4, 4)):
        for x, y in zip(made.call(rows(n), rows(m)), f(rows(n), rows(m)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-6)


@pytest.mark.parametrize(
    ("f", "shape", "known", "sizes"),
    [
        (lambda x: x.reshape(-1, 4), "n", ["mod(n, 4) == 0"], (4, 8)),
        (lambda x: cnp.array_split(x, 2), "n", ["mod(n, 2) == 0"], (2, 6)),
        (lambda x: (x[:2], x[-3:]), "n", ["n >= 3"], (3, 5)),
        (lambda x: abs(cnp.linalg.qr(x)[1]), "n, 3", ["n >= 4"], (4, 6)),
        (cnp.linalg.svdvals, "n, 3", ["n >= 4"], (4, 6)),
        (
            lambda x: lax.map(cnp.sum, x, batch_size=2),
            "n, 3",
            ["mod(n, 2) == 0", "n >= 2"],
            (2, 6),
        ),
    ],
)
def test_a_constraint_makes_a_program_for_every_size_possible(f, shape, known, sizes):
    spec = struct(*export.symbolic_shape(shape, constraints=known))
    calls = [[rows(n, *spec.shape[1:])] for n in sizes]
    assert_serves(f, [spec], *calls)


def test_sizes_for_which_a_constraint_does_not_hold_are_refused(halves):
    made, _ = halves
    with pytest.raises(TypeMismatch, match=r"needs mod\(n, 2\) == 0, but got n = 5"):
        made.call(rows(5), rows(2))
    with pytest.raises(TypeMismatch, match=r"needs n >= 4, but got n = 2"):
        made.call(rows(2), rows(2))
    with pytest.raises(TypeMismatch, match=r"needs m <= n, but got n = 4, m = 5"):
        made.call(rows(4), rows(5))


def test_sizes_that_do_not_agree_are_refused():
    made = export.export(cv.jit(lambda x, y: (x + 1, y)))(struct(B, 2 * B), struct(3))
    with pytest.raises(
        TypeMismatch, match=r"f32\[b,2\*b\] as argument 0, .*f32\[2,5\]"
    ):
        made.call(rows(2, 5), rows(3))
    with pytest.raises(TypeMismatch, match=r"sizes of at least 1, but b is 0"):
        made.call(cnp.zeros((0, 0)), rows(3))
    with pytest.raises(TypeMismatch, match=r"f32\[3\] as argument 1, but got f32\[4\]"):
        made.call(rows(2, 4), rows(4))


# -- what cannot be exported -----------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x if int(x.shape[0]) > 5 else -x,
        lambda x: x if float(x.shape[0]) > 5 else -x,
        lambda x: x if x.shape[0] > 5.5 else -x,
    ],
)
def test_a_choice_by_a_number_made_of_a_symbolic_size_is_refused(f):
    with pytest.raises(
        InconclusiveDimensionOperation, match=r"b\): the sym|b > 5 holds"
    ):
        export.export(cv.jit(f))(struct(B))


def test_squeezing_all_axes_of_length_1_is_refused():
    with pytest.raises(InconclusiveDimensionOperation, match=r"squeeze of f32\[b,3\]"):
        export.export(cv.jit(cnp.squeeze))(struct(B, 3))


def test_padding_needs_to_know_which_elements_to_repeat():
    reflecting = export.export(cv.jit(lambda x: cnp.pad(x, 3, "reflect")))
    with pytest.raises(InconclusiveDimensionOperation, match="b >= 4 holds for some"):
        reflecting(struct(B))
    (few,) = export.symbolic_shape("b", constraints=["b <= 3"])
    with pytest.raises(ArgumentError, match=r"pad by \(3, 3\) .* at least 4"):
        reflecting(struct(few))
    with pytest.raises(ArgumentError, match=r"pad of 2 axes needs for pad_width a num"):
        export.export(cv.jit(lambda x: cnp.pad(x, [(x.shape[0], 1)] * 3)))(struct(B, 2))


def convolved(stride, taps, padding="SAME"):
    kernel = rows(3, 2, taps)
    return lambda x: lax.conv_general_dilated(x, kernel, (stride,), padding)


def pooled(reduce, start, stride=2):
    window = (1, 1, 3, 3), (1, 1, stride, stride), "SAME"
    return lambda x: lax.reduce_window(x, start, reduce, *window)


@pytest.mark.parametrize("padding", ["SAME", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize(
    ("stride", "taps"), [(2, 1), (2, 2), (2, 3), (3, 2), (4, 7), (5, 3)]
)
def test_convolutions_with_strides_serve_every_length(stride, taps, padding):
    calls = [(rows(2, 2, n),) for n in (7, 8, 9, 10, 11, 20)]
    f = convolved(stride, taps, padding)
    specs = symbolic_lengths("2, 2, n", f"n >= {taps}")
    made = assert_serves(f, [specs], *calls)
    if padding != "VALID":
        assert str(made.out_avals[0].shape[2]).startswith("floordiv(n + ")
        short = rows(2, 2, taps)
        np.testing.assert_allclose(made.call(short), f(short), rtol=1e-5, atol=1e-5)


def symbolic_lengths(shape, *constraints):
    sizes = export.symbolic_shape(shape, constraints=constraints)
    return cv.ShapeDtypeStruct(sizes, "float32")


@pytest.mark.parametrize("start", [0.0, 1.5, -np.inf])
@pytest.mark.parametrize("reduce", [lax.add, lax.max])
def test_pooling_of_images_of_any_size_pads_as_known_sizes_are(reduce, start):
    calls = [(rows(1, 2, h, w),) for h, w in ((5, 6), (6, 5), (1, 2), (9, 9))]
    assert_serves(pooled(reduce, start), [symbolic_lengths("b, 2, h, w")], *calls)


def test_layers_of_strided_convolutions_serve_images_of_any_size():
    first, second, skip = rows(3, 3, 3, 8), rows(3, 3, 8, 4), rows(1, 1, 8, 4)

    def layer(x, kernel):
        letters = ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(
            x, kernel, (2, 2), "SAME", dimension_numbers=letters
        )
        return nn.relu(x)

    def net(x):
        x = layer(x, first)
        return (layer(x, second) + layer(x, skip)).mean((1, 2))

    calls = [(rows(b, h, w, 3),) for b, h, w in ((1, 8, 8), (2, 7, 10), (1, 13, 6))]
    assert_serves(net, [symbolic_lengths("b, h, w, 3")], *calls)
    slope = cv.grad(lambda x: net(x).sum())
    assert_serves(slope, [symbolic_lengths("b, h, w, 3")], *calls)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: cnp.linalg.svd(x, compute_uv=False),
        lambda x: abs(cnp.linalg.qr(x)[1]),
        cnp.linalg.pinv,
        lambda x: cnp.linalg.lstsq(x, x[:, 0])[0],
        lambda x: cnp.linalg.norm(x, 2),
        cnp.linalg.matrix_rank,
    ],
)
def test_matrices_may_be_as_high_as_wide_or_higher(f):
    calls = [(rows(m, 3) + cnp.eye(m, 3),) for m in (3, 4, 9)]
    assert_serves(f, [symbolic_lengths("m, 3", "m >= 3")], *calls)
    calls = [(x.T,) for (x,) in calls]
    if f(rows(2, 3)).ndim != 1:  # lstsq of a wide matrix is another question
        assert_serves(f, [symbolic_lengths("3, n", "n >= 3")], *calls)


def test_blocks_of_a_map_divide_its_length():
    f = lambda x: lax.map(lambda row: row * 2, x, batch_size=4)  # noqa: E731
    calls = [(rows(n),) for n in (4, 8, 12)]
    assert_serves(f, [symbolic_lengths("n", "mod(n, 4) == 0")], *calls)


@pytest.mark.parametrize(
    ("f", "shape", "words"),
    [
        (
            cnp.linalg.svd,
            "m, 3",
            r"numpy.linalg.svd got a=f32\[m,3\]: m >= 3 holds for some sizes and not "
            r'for others, .* such as symbolic_shape\(…, constraints=\["m >= 3"\]',
        ),
        (
            lambda x: x[:2],
            "b, 3",
            r'an index of f32\[b,3\]: b >= 2 holds .*constraints=\["b >= 2"\]',
        ),
        (
            lambda x: cnp.array_split(x, 2),
            "n",
            r"array_split got ary=f32\[n\], indices_or_sections=2: mod\(n, 2\) < 1 "
            r'.*constraints=\["mod\(n, 2\) == 0"\]',
        ),
        (
            convolved(1, 3, "VALID"),
            "1, 2, n",
            r'conv_general_dilated .*: n >= 2 .*constraints=\["n >= 2"\]',
        ),
        (
            lambda x: x * cnp.hamming(x.shape[0]),
            "n",
            "hamming computes another program",
        ),
        (cv.scipy.fft.dct, "n", "transform computes another program"),
        (cv.scipy.signal.detrend, "n", "detrend computes another program"),
    ],
)
def test_words_of_a_size_that_does_not_tell(f, shape, words):
    with pytest.raises(InconclusiveDimensionOperation, match=words):
        export.export(cv.jit(f))(symbolic_lengths(shape))


def test_a_choice_by_a_symbolic_size_is_refused():
    f = cv.jit(lambda x: x if x.shape[0] > 5 else -x)
    words = r"^b > 5 holds for some sizes .*constraints=\[\"b >= 6"
    with pytest.raises(InconclusiveDimensionOperation, match=words):
        export.export(f)(struct(B))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + np.arange(x.shape[0]),
        lambda x: x * float(x.shape[0]),
        lambda x: sum(x[0] * i for i in range(x.shape[0] % 7)),
        lambda x: x + np.sqrt(x.shape[0]),
    ],
)
def test_a_size_that_went_through_python_or_numpy_is_refused(f):
    with pytest.raises(
        (ExportError, TypeError), match=r"other sizes|a traced \w+\[|\(b\): the"
    ):
        export.export(cv.jit(f))(struct(B))


def test_variables_that_the_arguments_do_not_tell_are_refused():
    with pytest.raises(ExportError, match=r"sizes of arguments do not tell b, c"):
        export.export(cv.jit(lambda x: x + 1))(struct(B * C))
    with pytest.raises(ArgumentError, match="symbolic sizes of 2 scopes"):
        export.export(cv.jit(cnp.add))(struct(B), struct(*export.symbolic_shape("b")))


def test_a_size_from_outside_of_the_function_is_refused():
    with pytest.raises(TypeMismatch, match=r"reshape of f32\[b,3\] .* to the shape"):
        export.export(cv.jit(lambda x: x.reshape(B * 3)))(struct(B, 3))
    with pytest.raises(ArgumentError, match=r"b and b belong to two scopes.*arguments"):
        export.export(cv.jit(lambda x: x.reshape(B + x.shape[0])))(struct(B, 2))


def test_a_symbolic_size_has_no_value_where_programs_run():
    with pytest.raises(InconclusiveDimensionOperation, match="size b has no value out"):
        cnp.ones(3) * B


def test_sizes_that_are_alike_at_all_points_are_refused():
    b, most = export.symbolic_shape("b, min(b, 10)")
    with pytest.raises(ExportError, match=r"cannot be told from other .* no min and"):
        export.export(cv.jit(lambda x, y: (x, y + 1)))(struct(b), struct(most))
