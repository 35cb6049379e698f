"""Writers of steps on arrays: arithmetic, shapes, indices, reductions, sorts, casts."""

# ruff: noqa: E501  a template is a line of a program
import numpy as np

from tests.random_programs.maker import BOOL, FLOAT, INTEGERS, SHAPES, Scope, writer

UNARY = """cnp.sin({0}); cnp.cos({0}); cnp.tanh({0}); cnp.exp(-{0} * {0}); -{0}
cnp.log1p({0} ** 2); cnp.sqrt(1 + {0} * {0}) / 2; cnp.arctan({0}); lax.erf({0})
{0} / (1.2 + {0} ** 2); cv.nn.softplus({0}) / 2; cv.nn.silu({0}); cv.nn.gelu({0})
lax.logistic({0}); cnp.expm1({0}) / 4; cnp.arcsinh({0}); cnp.cbrt(1.5 + {0} * {0})
lax.rsqrt(1 + {0} * {0}); lax.integer_pow({0}, 3) / 4; cnp.reciprocal(1.5 + {0} ** 2)
cnp.square({0}) / 2; cnp.sinc({0}); cnp.real(cnp.exp(1j * {0})); ({0} + {c0}) / 2
cnp.imag(({0} + 0.5j) ** 2) / 2; lax.lgamma(1.5 + {0} ** 2) / 2; {0} * {c0}
cnp.abs({0} + {c0}) / 2; cnp.maximum({0}, {c0}); cnp.minimum({c0}, {0}); 1 - {0}
cnp.clip({0}, -1.1 - {c0} ** 2, {c1}); cv.nn.relu({0} + {c0}) / 2; root({0})
cnp.angle(cnp.exp(0.5j * {0})) * 2; lax.optimization_barrier({0}); {0}
checkpoint_name({0}, "kept"); lax.reduce_precision({0}, 11, 52); cnp.cosh({0}) / 3
cnp.abs(cnp.exp(1j * {0}) + 2) / 2; cv.nn.leaky_relu({0} + {c0}) / 2; {0} ** 3 / 4
cnp.where(cnp.isfinite({0}), {0}, 0.0); cnp.logaddexp({0}, {c0}) / 2; lax.square({0}) / 2
cnp.nan_to_num({0}); lax.stop_gradient({c0}) * {0}; cnp.arcsin(0.4 * {0})"""
BINARY = """({0} + {1}) / 2; {0} * {1} / 2; ({0} - {1}) / 2; {0} / (1.5 + {1} ** 2)
cnp.maximum({0}, {1} + {c0}) / 2; cnp.minimum({0}, {1} + {c0}) / 2
cnp.hypot({0}, {1} + 3) / 4; cnp.arctan2({0}, {1} + 3); cnp.logaddexp({0}, {1}) / 2
cnp.power(1.2 + {0} ** 2, {1} / 2) / 2; quotient_by_solver({0}, {1})
cnp.where({0} > {1} + 9, {0}, {1}); {0} * cnp.sin({1}); cnp.real(({0} + {1} * 1j) ** 2) / 4
cnp.copysign({0} + 3, {1} + {c0}) / 4; linearly(cnp.sin, {0} + 0 * {1}, {1} + 0 * {0})"""
ROUGH = """{0}.astype("float32"); {0}.astype("bfloat16"); {0}.astype("float16")
lax.reduce_precision({0}, 8, 10); cnp.float32({c0}) * {0}.astype("float32")"""


def _lines(text: str) -> list[str]:
    return [part.strip() for line in text.splitlines() for part in line.split(";")]


def _constants(template: str) -> list[tuple[float, float]]:
    return [(0.3, 0.9)] * len({c for c in ("{c0}", "{c1}") if c in template})


@writer(8)
def unary(scope: Scope) -> None:
    x = scope.float_()
    template = scope.maker.choose(_lines(UNARY))
    scope.add(template, [x], FLOAT, x.shape, _constants(template), simpler=("{0}",))


@writer(8)
def binary(scope: Scope) -> None:
    x = scope.float_()
    y = scope.find(lambda v: v.dtype == FLOAT and _fit(v.shape, x.shape)) or x
    template = scope.maker.choose(_lines(BINARY))
    shape = np.broadcast_shapes(x.shape, y.shape)
    scope.add(template, [x, y], FLOAT, shape, _constants(template))


def _fit(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    pairs = zip(one[::-1], other[::-1], strict=False)
    return all(m == n or 1 in (m, n) for m, n in pairs)


@writer()
def rough_cast(scope: Scope) -> None:
    if not scope.maker.exact:
        x = scope.float_()
        template = scope.maker.choose(_lines(ROUGH))
        text = f"({template}).astype('float64')"
        scope.add(text, [x], FLOAT, x.shape, _constants(template), simpler=("{0}",))


@writer(2)
def choice(scope: Scope) -> None:
    x = scope.float_()
    y = scope.fitted(x.shape)
    flag = scope.flag(scope.maker.choose([(), x.shape]))
    if scope.maker.chance(0.5):
        scope.add("cnp.where({0}, {1}, {2})", [flag, x, y], FLOAT, x.shape)
    elif scope.maker.chance(0.5):
        scope.add("lax.select_n({0}, {1}, {2})", [flag, x, y], FLOAT, x.shape)
    else:
        k = scope.index(3, ())
        text = "cnp.choose({0}, [{1}, {2}, {1} * {2} / 2], mode='clip')"
        scope.add(text, [k, x, y], FLOAT, x.shape)


REDUCED = """cnp.sum({0}, {axis}) / 2; cnp.mean({0}, {axis}); cnp.max(ramp({0}, {c0}), {axis}) / 3
cnp.min(ramp({0}, {c0}), {axis}) / 3; cnp.prod(1 + {0} / 4, {axis}) / 3
cnp.var({0}, {axis}); lax.logsumexp({0}, {axis}) / 2; cnp.sqrt(1 + cnp.sum({0} ** 2, {axis})) / 2
cnp.nansum({0}, {axis}) / 2; cnp.std(ramp({0}, 1.0), {axis}) / 2"""


@writer(4)
def reduction(scope: Scope) -> None:
    x = scope.float_()
    if not x.shape:
        return
    axis = int(scope.maker.rng.integers(-len(x.shape), len(x.shape)))
    axes = scope.maker.choose([None, axis, (axis,)])
    shape = _without(x.shape, axes)
    text = scope.maker.choose(_lines(REDUCED)).replace(
        "lax.logsumexp", "cv.nn.logsumexp"
    )
    text = text.replace("{axis}", f"axis={axes}")
    scope.add(text, [x], FLOAT, shape, _constants(text))


def _without(shape: tuple[int, ...], axes: object) -> tuple[int, ...]:
    if axes is None:
        return ()
    axis = axes[0] if isinstance(axes, tuple) else axes
    axis %= len(shape)
    return shape[:axis] + shape[axis + 1 :]


RUNNING = """cnp.cumsum({0}, {axis}) / 2; cnp.cumprod(1 + {0} / 4, {axis}) / 3
lax.cummax(ramp({0}, {c0}), {axis}) / 3; lax.cummin(ramp({0}, {c0}), {axis}, reverse=True) / 3
lax.cumlogsumexp({0}, {axis}) / 2; lax.cumsum({0}, {axis}, reverse=True) / 2
cnp.flip({0}, {axis}); cnp.roll({0}, 2, {axis}); cnp.sort(ramp({0}, {c0}), {axis}) / 3
cv.nn.softmax({0}, {axis}); cv.nn.log_softmax({0}, {axis}) / 2
lax.associative_scan(cnp.multiply, 1 + {0} / 4, axis={number}) / 3
lax.associative_scan(lambda a, b: a * b + b, {0} / 4, axis={number}, reverse=True)
lax.sort((ramp({0}, {c0}), {0}), dimension={number})[1]
lax.rev({0}, ({number},)); cnp.gradient(cnp.concatenate([{0}, {0}], {axis}), {axis})[{half}] / 2
lax.top_k(cnp.moveaxis(ramp({0}, {c0}), {number}, -1), 1)[0] * 0.1 + {0}.sum() / 9
cnp.median(ramp({0}, {c0}), {axis}, keepdims=True) / 3 + 0 * {0}"""


@writer(3)
def along_an_axis(scope: Scope) -> None:
    x = scope.float_()
    if not x.shape:
        return
    axis = int(scope.maker.rng.integers(len(x.shape)))
    text = scope.maker.choose(_lines(RUNNING))
    shape = x.shape
    if "top_k" in text:
        shape = (*_without(x.shape, axis), 1)
    half = ", ".join([":"] * axis + [f":{x.shape[axis]}"])
    text = text.replace("{axis}", f"axis={axis}").replace("{number}", str(axis))
    text = text.replace("{half}", half)
    scope.add(text, [x], FLOAT, shape, _constants(text))


@writer(4)
def shape_of_it(scope: Scope) -> None:
    x = scope.float_()
    shape, ndim = x.shape, len(x.shape)
    axis = int(scope.maker.rng.integers(max(ndim, 1)))
    options = [
        ("{0}.T", shape[::-1]),
        ("{0}.reshape(-1)", (x.size,)),
        ("cnp.expand_dims({0}, 0)", (1, *shape)),
        ("{0}[..., None]", (*shape, 1)),
        ("cnp.broadcast_to({0}, (2, *{0}.shape))", (2, *shape)),
        ("cnp.stack([{0}, 2 * {0}]) / 2", (2, *shape)),
    ]
    if ndim:
        n = shape[axis]
        front, back = shape[:axis], shape[axis + 1 :]
        cut = ":, " * axis
        options += [
            (f"cnp.concatenate([{{0}}, {{0}} / 2], {axis})", (*front, 2 * n, *back)),
            (f"cnp.repeat({{0}}, 2, {axis})", (*front, 2 * n, *back)),
            ("cnp.tile({0}, 2)", (*shape[:-1], 2 * shape[-1])),
            (f"{{0}}[{cut}::2]", (*front, (n + 1) // 2, *back)),
            (f"{{0}}[{cut}::-1]", shape),
            (f"{{0}}[{cut}-1]", (*front, *back)),
            (f"cnp.moveaxis({{0}}, {axis}, 0)", (n, *front, *back)),
            (
                f"cnp.pad({{0}}, 1)[{cut}1:]" if ndim == 1 else "{0}",
                (n + 1,) if ndim == 1 else shape,
            ),
            (
                f"cnp.diff({{0}}, axis={axis}, append=0.5) / 2" if ndim == 1 else "{0}",
                shape,
            ),
            (
                f"lax.pad({{0}}, 0.25, [({-1 if n > 1 else 0}, 2, 1)] + [(0, 0, 0)] * {ndim - 1})",
                (2 * shape[0] - 1 + 2 + (-1 if n > 1 else 0), *shape[1:]),
            )
            if axis == 0
            else ("{0}", shape),
        ]
    if ndim == 2:
        rows, columns = shape
        options += [("cnp.tril({0})", shape), ("cnp.triu({0}, 1)", shape)]
        options += [("cnp.diag({0})", (min(rows, columns),))]
    if ndim == 1:
        options += [
            ("cnp.diag({0})", (x.size, x.size)),
            ("cnp.convolve({0}, {0}[:2], 'same') / 3", (max(x.size, min(2, x.size)),)),
            ("cnp.outer({0}, {0}) / 2", (x.size, x.size)),
        ]
    if ndim == 1 and x.size > 2:
        options += [
            (
                "cnp.interp({0}, cnp.array([-9., 0.437, 9.]), cnp.array([-1., 0.3, 1.]))",
                shape,
            ),
            ("lax.reduce_window({0}, 0.0, lax.add, (2,), (1,), 'SAME') / 2", shape),
            (
                "lax.reduce_window(ramp({0}, 1.37), -9.0, lax.max, (3,), (1,), 'SAME') / 5",
                shape,
            ),
        ]
    text, shape = scope.maker.choose(options)
    if np.prod(shape) <= 24:
        scope.add(text, [x], FLOAT, shape)


@writer(3)
def contraction(scope: Scope) -> None:
    x = scope.float_()
    if not x.shape:
        return
    n = x.shape[-1]
    y = scope.fitted(scope.maker.choose([(n,), (n, 2), (n, 3)]))
    front = x.shape[:-1]
    many = len(x.shape) > 1
    options = [
        ("{0} @ {1} / 3", (*front, *y.shape[1:])),
        ("cnp.tensordot({0}, {1}, 1) / 3", (*front, *y.shape[1:])),
        ("cnp.einsum('...i,i...->...', {0}, {1}) / 3", front)
        if len(y.shape) == 1
        else ("cnp.einsum('...i,ij->j...', {0}, {1}) / 3", (y.shape[-1], *front)),
        (
            "lax.dot_general({0}, {1}, ((({last},), (0,)), ((), ()))) / 3".replace(
                "{last}", str(len(front))
            ),
            (*front, *y.shape[1:]),
        ),
        ("cnp.vdot({0}, {0}) / 5", ()),
    ]
    if many:
        options += [
            ("cnp.einsum('...ij,...ik->...jk', {0}, {0}) / 4", (*x.shape[:-2], n, n)),
            (
                "cnp.inner({0}, {0}) / 4" if len(front) == 1 else "{0}",
                (front[0], front[0]) if len(front) == 1 else x.shape,
            ),
        ]
    text, shape = scope.maker.choose(options)
    if np.prod(shape) <= 24:
        scope.add(text, [x, y], FLOAT, shape)


@writer(4)
def reading_at_an_index(scope: Scope) -> None:
    x = scope.float_()
    if not x.shape:
        return
    n, rest = x.shape[0], x.shape[1:]
    i, far, half = scope.index(n), scope.integer(()), (n + 1) // 2
    many = scope.maker.choose([(2,), (3,), (2, 2)])
    rows = scope.index(n, many)
    options = [
        ("{0}[{1}]", [x, i], rest),
        ("{0}[{1}]", [x, rows], (*many, *rest)),
        ("{0}[-1 - {1}.astype(int)]", [x, rows], (*many, *rest)),
        ("cnp.take({0}, {1}, axis=0, mode='clip')", [x, far], rest),
        ("cnp.take({0}, {1}, axis=0, mode='wrap')", [x, far], rest),
        ("cnp.take({0}, {1}, axis=0, mode='fill', fill_value=0.5)", [x, far], rest),
        ("{0}.at[{1}].get(mode='fill', fill_value=0.7)", [x, far], rest),
        ("lax.dynamic_slice_in_dim({0}, {1}, 1)", [x, i], (1, *rest)),
        ("lax.dynamic_index_in_dim({0}, {1}, keepdims=False)", [x, far], rest),
        (
            f"lax.dynamic_slice({{0}}, ({{1}},) + (0,) * {len(rest)}, (1, *{{0}}.shape[1:]))",
            [x, far],
            (1, *rest),
        ),
        (
            f"lax.dynamic_slice_in_dim({{0}}, {{1}}, {half})[{{1}} % {half}]",
            [x, far],
            rest,
        ),
        (
            f"lax.dynamic_index_in_dim(lax.dynamic_slice_in_dim({{0}}, {{1}}, {half}), "
            "{1} // 2, keepdims=False)",
            [x, far],
            rest,
        ),
        ("{0}[..., {1} % {0}.shape[-1]]", [x, rows], (*x.shape[:-1], *many)),
        ("{0}[None, ::-1][:, {1}]", [x, i], (1, *rest)),
    ]
    text, operands, shape = scope.maker.choose(options)
    if np.prod(shape) <= 24:
        scope.add(text, operands, FLOAT, shape)


@writer(4)
def writing_at_an_index(scope: Scope) -> None:
    x = scope.float_()
    if not x.shape:
        return
    n, rest = x.shape[0], x.shape[1:]
    i, far, rows = scope.index(n), scope.integer(()), scope.index(n, (3,))
    row, some = scope.fitted(rest), scope.fitted((3, *rest))
    fixed, some_fixed = scope.fitted(x.shape, True), scope.fitted((3, *rest), True)
    text, operands = scope.maker.choose(
        [
            ("{0}.at[{1}].set({2})", [x, i, row]),
            ("{0}.at[{1}].add({2}) / 2", [x, i, row]),
            ("{0}.at[{1}].add({2}) / 4", [x, rows, some]),
            ("{0}.at[{1}].multiply({2} / 2)", [x, i, row]),
            ("{0}.at[{1}].multiply(1 + {2} / 4) / 3", [fixed, rows, some_fixed]),
            ("{0}.at[{1}].max({2} + 0.7137) / 2", [x, i, row]),
            ("{0}.at[{1}].min(ramp({2}, 0.337)) / 3", [x, rows, some]),
            ("{0}.at[{1}].apply(cnp.sin)", [x, i]),
            ("{0}.at[{1}].set({2}, mode='drop')", [x, far, row]),
            ("{0}.at[{1}].add({2}, mode='clip') / 2", [x, far, row]),
            ("{0}.at[::2].set({2})", [x, i, row]),
            ("{0}.at[-1].subtract({2}) / 2", [x, i, row]),
            (
                "{0}.at[..., {1} % {0}.shape[-1]].add({2}) / 2"
                if len(rest) <= 1
                else "{0}",
                [x, far, scope.fitted(x.shape[:-1])],
            ),
            ("lax.dynamic_update_index_in_dim({0}, {2}, {1}, 0)", [x, far, row]),
            ("lax.dynamic_update_slice_in_dim({0}, {2}[None], {1}, 0)", [x, i, row]),
            ("{0}.at[1:].set({0}[:-1] / 2)", [x]),
            (
                "{0}.reshape(-1, 1).at[1:].set({0}.reshape(-1, 1)[:-1])"
                ".reshape({0}.shape)",
                [x],
            ),
            (
                "lax.dynamic_update_slice_in_dim({0}, {0}[: ({0}.shape[0] + 1) // 2] / 2,"
                " {1}, 0)",
                [x, far],
            ),
        ]
    )
    active = any([v.active for v in operands])
    scope.add(text, operands, FLOAT, x.shape, simpler=("{0}",), active=active)


@writer()
def along_indices(scope: Scope) -> None:
    x = scope.float_(fixed=False)
    if not x.shape:
        return
    fixed = scope.fitted(x.shape, fixed=True)
    axis = int(scope.maker.rng.integers(len(x.shape)))
    order = scope.add(
        f"cnp.argsort(ramp({{0}}, {{c0}}), axis={axis})",
        [fixed],
        "int64",
        x.shape,
        [(0.3, 0.9)],
    )
    text = f"cnp.take_along_axis({{0}}, {{1}}, axis={axis})"
    scope.add(text, [x, order], FLOAT, x.shape)


INTEGER_UNARY = """-{0}; ~{0}; {0} * 3; {0} // 3; {0} % 5; {0} >> 1; {0} << 2; cnp.sign({0})
cnp.abs({0}); {0} ** 2; lax.population_count({0}); lax.clz({0}); cnp.clip({0}, 1, 9); {0} - 7 % 5"""
INTEGER_BINARY = """{0} + {1}; {0} * {1}; {0} - {1}; {0} & {1}; {0} | {1}; {0} ^ {1}
cnp.maximum({0}, {1}); cnp.minimum({0}, {1}); {0} // ({1} | 1); {0} % ({1} | 1)
lax.rem({0} + 0 * {1}, {1} + 0 * {0} | 1); cnp.where({0} > {1}, {0}, {1}); cnp.gcd({0}, {1}); lax.div({0} + 0 * {1}, {1} + 0 * {0} | 1)"""
INTEGER_ALONG = """cnp.cumsum({0}, dtype={0}.dtype); cnp.sort({0}); cnp.flip({0}); cnp.roll({0}, 1)
cnp.argsort({0}).astype({0}.dtype); lax.cummax({0}); cnp.searchsorted(cnp.sort({0}), {0}).astype({0}.dtype)
{0}.at[0].add({0}[-1]); {0}.at[{0} % {0}.size].add(1); cnp.cumprod({0}, dtype={0}.dtype)
{0}[::-1]; cnp.bincount({0} % {0}.size, length={0}.size).astype({0}.dtype)
{0}[cnp.argsort(-{0})]; lax.sort(({0} % 2, {0}), num_keys=2)[1]"""


@writer(3)
def integers(scope: Scope) -> None:
    k = scope.integer(scope.maker.choose([(), (3,), (4,)]))
    if k.shape and scope.maker.chance(0.4):
        scope.add(scope.maker.choose(_lines(INTEGER_ALONG)), [k], k.dtype, k.shape)
    elif scope.maker.chance(0.5):
        scope.add(scope.maker.choose(_lines(INTEGER_UNARY)), [k], k.dtype, k.shape)
    else:
        other = scope.find(lambda v: v.dtype == k.dtype and _fit(v.shape, k.shape)) or k
        shape = np.broadcast_shapes(k.shape, other.shape)
        scope.add(
            scope.maker.choose(_lines(INTEGER_BINARY)), [k, other], k.dtype, shape
        )


@writer(2)
def casts(scope: Scope) -> None:
    k = scope.integer(scope.maker.choose([(), (3,), (4,)]))
    if scope.maker.chance(0.4):
        dtype = scope.maker.choose(INTEGERS)
        scope.add(f"{{0}}.astype('{dtype}')", [k], dtype, k.shape)
    elif scope.maker.chance(0.6):
        text = scope.maker.choose(
            ["cnp.sin({0})", "{0} % 7 / 4", "lax.convert_element_type({0} % 3, float)"]
        )
        text = f"({text}).astype('float64')" if k.dtype in ("int8", "uint8") else text
        if k.dtype in ("int8", "uint8") and not scope.maker.exact:
            return
        scope.add("cnp.sin({0}.astype(float))", [k], FLOAT, k.shape)
    else:
        p = scope.float_(fixed=True)
        dtype = scope.maker.choose(["int32", "int64", "int8"])
        scope.add(
            f"cnp.floor(4 * {{0}} + {{c0}}).astype('{dtype}')",
            [p],
            dtype,
            p.shape,
            [(0.3, 0.7)],
        )


@writer()
def flags(scope: Scope) -> None:
    shape = scope.maker.choose([(), (3,)])
    one, other = scope.flag(shape), scope.flag(shape)
    text = scope.maker.choose(
        ["{0} & {1}", "{0} | {1}", "{0} ^ {1}", "~{0} | {1}", "{0} == {1}"]
    )
    flag = scope.add(text, [one, other], BOOL, shape)
    if shape and scope.maker.chance(0.5):
        scope.add(
            scope.maker.choose(["cnp.any({0})", "cnp.all({0})"]), [flag], BOOL, ()
        )


@writer()
def random_numbers(scope: Scope) -> None:
    shape, k = scope.maker.choose(SHAPES), scope.index(7)
    what = scope.maker.choose(["uniform", "normal"])
    text = f"cv.random.{what}(cv.random.fold_in(cv.random.key({{n0}}), {{0}}), {shape}) / 2"
    scope.add(
        text.replace("{n0}", str(scope.maker.rng.integers(99))),
        [k],
        FLOAT,
        shape,
        active=False,
    )


@writer(0.5)
def called_back(scope: Scope) -> None:
    x = scope.float_(fixed=True)
    f = scope.maker.choose(
        ["np.sin", "np.cos", "lambda x: x[..., ::-1].copy()" if x.shape else "np.tanh"]
    )
    scope.add(f"on_host({f}, {{0}})", [x], FLOAT, x.shape, active=False)
