"""Writers of steps that run programs: control flow, custom rules, transformations."""

# ruff: noqa: E501  a template is a line of a program
from tests.random_programs.maker import FLOAT, SHAPES, Scope, writer
from tests.random_programs.program import Block, Var

#: how deep blocks may be in each other
DEEPEST = 4


def may_nest(scope: Scope) -> bool:
    return scope.depth < DEEPEST and scope.maker.left > 1


def typed(*variables: Var) -> list[tuple[str, tuple[int, ...], bool]]:
    """Parameters for variables that are to be passed."""
    return [(v.dtype, v.shape, v.active) for v in variables]


def is_active(block: Block, *operands: Var) -> bool:
    """Whether a result of a block is differentiated."""
    return any(v.active for v in (*block.results, *operands))


@writer(3)
def branches(scope: Scope) -> None:
    if not may_nest(scope):
        return
    x, shape = scope.float_(), scope.maker.choose(SHAPES)
    count = scope.maker.choose([2, 2, 3])
    made = [scope.block(typed(x), [(FLOAT, shape)]) for _ in range(count)]
    active = any(is_active(b) for b in made)
    if count == 2:
        flag = scope.flag()
        text, simpler = "lax.cond({0}, {f}, {g}, {1})", ("{f}({1})", "{g}({1})")
    else:
        flag = scope.index(3) if scope.maker.chance(0.7) else scope.integer(())
        text, simpler = (
            "lax.switch({0}, [{f}, {g}, {h}], {1})",
            ("{f}({1})", "{h}({1})"),
        )
    scope.add(
        text,
        [flag, x],
        FLOAT,
        shape,
        blocks=tuple(made),
        simpler=simpler,
        active=active,
    )


@writer(3)
def scan(scope: Scope) -> None:
    if not may_nest(scope):
        return
    carry, rows, row = scope.float_(), scope.float_(), scope.maker.choose(SHAPES)
    if not rows.shape:
        return
    n = rows.shape[0]
    body = scope.block(
        [(FLOAT, carry.shape, True), (FLOAT, rows.shape[1:], True)],
        [(FLOAT, carry.shape), (FLOAT, row)],
        returns="cnp.sin({0}), {1}",
    )
    how = scope.maker.choose(["", "", ", reverse=True", ", unroll=2", ", unroll=True"])
    stacked = (n, *row)
    outs = [(FLOAT, carry.shape, True), (FLOAT, stacked, True)]
    scope.add_several(
        f"lax.scan({{f}}, {{0}}, {{1}}{how})",
        [carry, rows],
        outs,
        blocks=(body,),
        simpler=("lax.scan({f}, {0}, {1})",),
    )


@writer(1.5)
def scan_of_integers(scope: Scope) -> None:
    """A scan whose carry has an integer, which indexes, and without rows."""
    if not may_nest(scope):
        return
    carry, k = scope.float_(), scope.integer(())
    body = scope.block(
        [(k.dtype, (), False), (FLOAT, carry.shape, True)],
        [(k.dtype, ()), (FLOAT, carry.shape)],
        returns="({0}, cnp.tanh({1})), None",
    )
    outs = [(k.dtype, (), False), (FLOAT, carry.shape, True)]
    scope.add_several(
        "lax.scan(lambda c, _: {f}(*c), ({0}, {1}), None, length={n0})[0]",
        [k, carry],
        outs,
        blocks=(body,),
        numbers=(int(scope.maker.rng.integers(0, 5)),),
        simpler=("{f}({0}, {1})[0]",),
    )


@writer(2)
def counted_loop(scope: Scope) -> None:
    if not may_nest(scope):
        return
    carry = scope.float_()
    body = scope.block(
        [("int64", (), False), (FLOAT, carry.shape, True)],
        [(FLOAT, carry.shape)],
        returns="cnp.sin({0})",
    )
    if scope.maker.chance(0.5):
        text, count = "lax.fori_loop(0, {n0}, {f}, {0})", scope.integer(())
    else:
        count = scope.index(4)
        text = "lax.fori_loop(0, {1}.astype('int64'), {f}, {0})"
    scope.add(
        text,
        [carry, count],
        FLOAT,
        carry.shape,
        blocks=(body,),
        numbers=(int(scope.maker.rng.integers(0, 5)),),
        active=True,
        simpler=("{f}(cnp.array(0), {0})",),
    )


@writer(2)
def while_loop(scope: Scope) -> None:
    """A loop that an integer ends, or a float that does not move."""
    if not may_nest(scope):
        return
    carry, count = scope.float_(), scope.index(5)
    body = scope.block(
        [(count.dtype, (), False), (FLOAT, carry.shape, True)],
        [(FLOAT, carry.shape)],
        returns="{0}",
    )
    body = with_countdown(body, "cnp.tanh({0})")
    scope.add_several(
        "lax.while_loop(lambda c: c[0] > 0, lambda c: {f}(*c), ({1}, {0}))",
        [carry, count],
        [(count.dtype, (), False), (FLOAT, carry.shape, True)],
        blocks=(body,),
        simpler=("{f}({1}, {0})",),
    )


def with_countdown(body: Block, value: str) -> Block:
    """The body, which gives its first parameter less one as well."""
    results = (body.parameters[0], *body.results)
    returns = "{0} - 1, " + value.replace("{0}", "{1}")
    return Block(body.name, body.parameters, body.steps, results, returns)


@writer(1.5)
def mapped(scope: Scope) -> None:
    if not may_nest(scope):
        return
    rows, shape = scope.float_(), scope.maker.choose(SHAPES[:6])
    if not rows.shape:
        return
    body = scope.block([(FLOAT, rows.shape[1:], rows.active)], [(FLOAT, shape)])
    how = scope.maker.choose(["", ", batch_size=2"])
    scope.add(
        f"lax.map({{f}}, {{0}}{how})",
        [rows],
        FLOAT,
        (rows.shape[0], *shape),
        blocks=(body,),
        active=is_active(body),
        simpler=("cnp.stack([{f}(x) for x in {0}])",),
    )


COLLECTIVES = """lax.psum({0}, "{axis}") / 4; lax.pmean({0}, "{axis}"); lax.pmax({0}, "{axis}")
lax.ppermute({0}, "{axis}", [(i, (i + 1) % {size}) for i in range({size})]); lax.pmin({0}, "{axis}")
lax.all_gather({0}, "{axis}").sum(0) / 4; {0} * lax.axis_index("{axis}") / 2
lax.all_gather({0}, "{axis}")[0]"""


@writer(3)
def collective(scope: Scope) -> None:
    """Communication between participants, where there are some."""
    if not scope.axes:
        return
    axis, size = scope.maker.choose(scope.axes)
    text = scope.maker.choose(COLLECTIVES.replace("\n", ";").split(";")).strip()
    x = scope.float_(fixed="pm" in text and "mean" not in text)
    text = text.replace("{axis}", axis).replace("{size}", str(size))
    scope.add(text, [x], FLOAT, x.shape)


@writer(3)
def batched(scope: Scope) -> None:
    """vmap, with and without a name for the axis."""
    if not may_nest(scope):
        return
    maker = scope.maker
    rows, same, shape = scope.float_(), scope.float_(), maker.choose(SHAPES[:6])
    if not rows.shape:
        return
    axis = int(maker.rng.integers(len(rows.shape)))
    size = rows.shape[axis]
    name = maker.name("axis") if maker.chance(0.5) else None
    one = (FLOAT, rows.shape[:axis] + rows.shape[axis + 1 :], rows.active)
    body = scope.block(
        [one, *typed(same)], [(FLOAT, shape)], axis=(name, size) if name else None
    )
    out = int(maker.rng.integers(len(shape) + 1))
    named = f", axis_name='{name}'" if name else ""
    how = f"in_axes=({axis}, None), out_axes={out}{named}"
    scope.add(
        f"cv.vmap({{f}}, {how})({{0}}, {{1}})",
        [rows, same],
        FLOAT,
        (*shape[:out], size, *shape[out:]),
        blocks=(body,),
        active=is_active(body),
    )


WRAPPERS = """{f}; cv.jit({f}); cv.jit({f}, inline=True); cv.checkpoint({f}); with_jvp_rule({f})
with_both_rules({f}); with_both_rules({f}); with_batching_rule({f})
sequential_vmap({f}); cv.named_call({f}); cv.checkpoint({f}, prevent_cse=False)
cv.checkpoint({f}, policy=cv.checkpoint_policies.dots_saveable); cv.jit(cv.checkpoint({f}))
cv.checkpoint({f}, policy=some_names(["kept"])); cv.jit(with_both_rules({f}))
cv.checkpoint({f}, policy=cv.checkpoint_policies.everything_saveable)
cv.checkpoint(with_jvp_rule({f})); cv.checkpoint(cv.jit({f})); partial({f})
cv.vmap(cv.jit({f}), axis_size=1, in_axes=None, out_axes=None)"""
REVERSE_ONLY = """with_vjp_rule({f}); with_gradient({f}); cv.jit(with_vjp_rule({f}))
with_vjp_of_jvp({f}); cv.checkpoint(with_vjp_rule({f}))"""


@writer(5)
def wrapped(scope: Scope) -> None:
    """A function under something that leaves it what it is."""
    if not may_nest(scope):
        return
    texts = WRAPPERS
    if not scope.maker.forward and scope.maker.chance(0.4):
        texts = REVERSE_ONLY
    text = scope.maker.choose(texts.replace("\n", ";").split(";")).strip()
    x, y, shape = scope.float_(), scope.float_(), scope.maker.choose(SHAPES)
    given, closed = [x, y], ""
    if "with_batching_rule" in text or "sequential" in text:
        given, closed = [x, y, scope.float_(fixed=True), scope.integer()], "all"
    elif "with_" in text:
        closed = "active"
    # A rule may differentiate with respect to everything that it is given.
    parameters = [
        (d, s, active or (closed == "active" and d == FLOAT))
        for d, s, active in typed(*given)
    ]
    # These rules differentiate what they wrap in forward mode.
    forward = scope.maker.forward
    scope.maker.forward = forward or "jvp" in text
    body = scope.block(parameters, [(FLOAT, shape)], closed=closed)
    scope.maker.forward = forward
    call = "(" + ", ".join([f"{{{i}}}" for i in range(len(given))]) + ")"
    scope.add(
        text + call,
        given,
        FLOAT,
        shape,
        blocks=(body,),
        # A rule may give a tangent, of zeros, to what does not move.
        active=is_active(body, *given),
        simpler=("{f}" + call,) if text != "{f}" else (),
    )


GRADIENTS = """cv.grad(total({f}))({0}, {1}); cv.value_and_grad(total({f}), argnums=0)({0}, {1})[1]
cv.jvp({g}, ({0},), (cnp.cos({0}),))[1]; cv.linearize({g}, {0})[1](cnp.sin({0}))
cv.vjp({f}, {0}, {1})[1](cnp.ones({shape}))[0]; cv.grad(total(cv.jit({f})))({0}, {1})
cv.jit(cv.grad(total({f})))({0}, {1}); cv.grad(cv.checkpoint(total({f})))({0}, {1})
cnp.sum(cv.jacfwd({f})({0}, {1}), {axes}); cnp.sum(cv.jacrev({f})({0}, {1}), {axes})
cv.jvp(cv.grad(total({f})), ({0}, {1}), ({0}, 0 * {1}))[1]; cv.grad(total(cv.grad(total({f}))))({0}, {1})
cv.linear_transpose(cv.linearize({g}, {0})[1], {0})(cnp.ones({shape}))[0]"""


FORWARD = ("jvp(", "jacfwd", "linearize")


@writer(3)
def derivative(scope: Scope) -> None:
    """A derivative of a function, made moderate."""
    if not may_nest(scope):
        return
    texts = GRADIENTS.replace("\n", ";").split(";")
    if not scope.maker.forward:
        texts = [t for t in texts if not any(w in t for w in FORWARD)]
    text = scope.maker.choose(texts).strip()
    x, y = scope.float_(), scope.float_()
    shape = scope.maker.choose(SHAPES[:6])
    both = "vjp({f}" in text or "({0}, {1}), (" in text
    parameters = [(FLOAT, x.shape, True), (FLOAT, y.shape, y.active or both)]
    body = scope.block(parameters, [(FLOAT, shape)])
    text = text.replace("{g}", "(lambda z: {f}(z, {1}))").replace("{shape}", str(shape))
    text = text.replace("{axes}", f"axis={tuple(range(len(shape)))}")
    result = shape if text.startswith(("cv.jvp((lambda", "cv.linearize")) else x.shape
    scope.add(
        f"cnp.arctan({text})",
        [x, y],
        FLOAT,
        result,
        blocks=(body,),
        active=is_active(body, x, y),
    )


@writer(1.5)
def on_devices(scope: Scope) -> None:
    """shard_map over two or four devices, with communication inside."""
    if not may_nest(scope) or scope.depth > 1 or scope.axes:
        return
    maker = scope.maker
    count = maker.devices
    rest = maker.choose([(), (3,), (2,)])
    rows = scope.fitted((4, *rest))
    same = scope.float_()
    body = scope.block(
        [(FLOAT, (4 // count, *rest), True), *typed(same)],
        [(FLOAT, (4 // count, *rest))],
        returns="{0} + 0 * " + "lax.axis_index('d')",
        axis=("d", count),
    )
    scope.add(
        f"over_devices({{f}}, {count}, (P('d'), P()), P('d'))({{0}}, {{1}})",
        [rows, same],
        FLOAT,
        (4, *rest),
        blocks=(body,),
        active=True,
    )
