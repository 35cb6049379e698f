"""Explanations as data, without a program: small ones, and one of 5,000 operations."""

from dataclasses import dataclass, field
from typing import Any

FLOAT = 4


@dataclass
class Builder:
    """Makes the lists of an explanation; every value is f32[size]."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    equations: list[dict[str, Any]] = field(default_factory=list)
    values: list[dict[str, Any]] = field(default_factory=list)
    known: dict[Any, int] = field(default_factory=dict)

    def line(
        self, function, number, source, scope="", *, parent=None, kind="line", n=1
    ):
        key = (function, number, scope, parent)
        if key not in self.known:
            self.known[key] = len(self.lines)
            self.lines.append(
                dict(
                    file="/home/ada/transformer/model.py",
                    line=number,
                    function=function,
                    scope=scope,
                    source=source,
                    parent=parent,
                    kind=kind,
                    times=n,
                    times_known=True,
                    flops=0,
                    transcendentals=0,
                    bytes=0,
                    intensity=None,
                    estimated_share=0.0,
                    measured_share=None,
                    memory_made=0,
                    memory_kept=0,
                    equations=[],
                )
            )
        return self.known[key]

    def value(self, size, made_by=None, argument=None, ties=()):
        self.values.append(
            dict(
                name=f"v{len(self.values)}" if argument is None else argument,
                type=f"f32[{size}]",
                bytes=FLOAT * size,
                made_by=made_by,
                argument=argument,
                used_by=[],
                born=-1 if made_by is None else made_by,
                dies=-1,
                ties=list(ties),
            )
        )
        return len(self.values) - 1

    def apply(
        self, operation, line, *inputs, size=64, flops=0, around=(), times=1, text=""
    ):
        """An equation with one result."""
        number = len(self.equations)
        out = self.value(size, number)
        moved = FLOAT * size + sum(self.values[v]["bytes"] for v in inputs)
        levels = [
            self.equations[m]["level"] + 1
            for v in inputs
            if (m := self.values[v]["made_by"]) is not None
        ]
        self.equations.append(
            dict(
                operation=operation,
                parameters=text,
                inputs=list(inputs),
                outputs=[out],
                line=line,
                around=list(around),
                times=times,
                flops=times * flops,
                bytes=times * moved,
                estimated_share=0.0,
                level=max(levels, default=0),
                critical=False,
                fusion=None,
            )
        )
        for v in inputs:
            self.values[v]["used_by"].append(number)
            self.values[v]["dies"] = number
        at = self.lines[line]
        at["equations"].append(number)
        at["flops"] += times * flops
        at["bytes"] += times * moved
        at["memory_made"] += FLOAT * size
        return out

    def data(self, name, results, measured=False):
        """All of it, as ``to_dict`` gives it."""
        for v in results:
            self.values[v]["dies"] = len(self.equations)
        moved = sum(x["bytes"] for x in self.equations if not x["around"]) or 1
        flops = sum(x["flops"] for x in self.equations)
        for x in self.equations:
            x["estimated_share"] = x["bytes"] / moved
        for x in self.lines:
            x["intensity"] = x["flops"] / x["bytes"] if x["bytes"] else None
            x["estimated_share"] = x["bytes"] / moved
            x["measured_share"] = 0.8 * x["bytes"] / moved if measured else None
        memory = self.memory()
        for held in memory["peak"]["values"]:
            if held["line"] is not None:
                self.lines[held["line"]]["memory_kept"] += held["bytes"]
        arguments = [v for v in self.values if v["argument"] is not None]
        fusions, entries = self.fusions()
        bound = sum(x["lower_bound_s"] for x in entries)
        return dict(
            version=1,
            name=name,
            platform="cpu",
            device="cpu:0",
            covector="0.1.0",
            totals=dict(
                equations=len(self.equations),
                flops=flops,
                transcendentals=0,
                bytes=moved,
                intensity=flops / moved,
                peak_bytes=memory["peak"]["bytes"],
                compiled_peak_bytes=int(0.8 * memory["peak"]["bytes"]),
                argument_bytes=sum(v["bytes"] for v in arguments),
                result_bytes=sum(self.values[v]["bytes"] for v in results),
                lower_bound_s=bound,
                measured_s=1.7 * bound if measured else None,
            ),
            machine=dict(
                name="a machine of 16 cores",
                bytes_per_s=4.0e10,
                flops_per_s=dict(f32=1.2e12, f64=6.0e11),
                measured_on="2026-01-01",
                cached=[[1 << 18, 1.6e11]],
            ),
            lines=self.lines,
            equations=self.equations,
            values=self.values,
            results=[dict(path=f"result[{k}]", value=v) for k, v in enumerate(results)],
            memory=memory,
            graph=self.graph(),
            optimisation=dict(
                before=dict(
                    equations=len(self.equations), instructions=len(self.equations) + 40
                ),
                after=dict(
                    instructions=len(self.equations) // 2,
                    kernels=len(fusions) + 3,
                    fusions=len(fusions),
                ),
                changes=[
                    dict(
                        kind="fused",
                        count=len(self.equations) // 2,
                        lines=[0, 1],
                        reason="elementwise operations beside their reader",
                    ),
                    dict(
                        kind="dead code removed",
                        count=12,
                        lines=[1],
                        reason="no result needs them",
                    ),
                ],
                not_done=[
                    dict(what="fusion of exponential", line=1, reason="used twice"),
                    dict(
                        what="reuse of an argument",
                        line=None,
                        reason="it is not donated",
                    ),
                ],
                fusions=fusions,
            ),
            roofline=dict(
                fusions=entries,
                lower_bound_s=bound,
                gains=[
                    dict(
                        line=k, seconds=bound / (3 + k), why="reads its operands twice"
                    )
                    for k in range(min(3, len(self.lines)))
                ],
            ),
            compilation=dict(
                trace_s=0.21,
                lower_s=0.34,
                compile_s=2.9,
                cached=False,
                functions=[
                    dict(name="loss", trace_s=0.15),
                    dict(name="attention", trace_s=0.05),
                ],
                recompiled_because="argument 1 was f32[8], and is f32[16]",
                collectives=[
                    dict(operation="all_reduce", bytes=4096, line=0, axes=["data"])
                ],
            ),
        )

    def memory(self):
        top = [i for i, x in enumerate(self.equations) if not x["around"]]
        curve, held, best = [], 0, (0, -1)
        changes = [0] * (len(self.equations) + 2)
        for v in self.values:
            if v["born"] >= 0 and self.equations[v["born"]]["around"]:
                continue
            changes[max(v["born"], 0)] += v["bytes"]
            changes[max(v["dies"], v["born"], 0) + 1] -= v["bytes"]
        for i in range(len(self.equations)):
            held += changes[i]
            if i in set(top[-1:]) or not self.equations[i]["around"]:
                curve.append([i, held])
            best = max(best, (held, -i))
        at = -best[1] if self.equations else 0
        alive = [
            (k, v) for k, v in enumerate(self.values) if v["born"] <= at <= v["dies"]
        ]
        alive.sort(key=lambda x: -x[1]["bytes"])
        lines = [
            None if v["made_by"] is None else self.equations[v["made_by"]]["line"]
            for _, v in alive
        ]
        values = [
            dict(value=k, bytes=v["bytes"], line=line)
            for (k, v), line in zip(alive, lines, strict=True)
        ]
        return dict(curve=curve, peak=dict(position=at, bytes=best[0], values=values))

    def graph(self):
        levels = [x["level"] for x in self.equations]
        counts = [0] * (max(levels, default=-1) + 1)
        for level in levels:
            counts[level] += 1
        path = []
        at = max(range(len(levels)), key=levels.__getitem__, default=None)
        while at is not None:
            path.append(at)
            made = [self.values[v]["made_by"] for v in self.equations[at]["inputs"]]
            made = [m for m in made if m is not None]
            at = max(made, key=levels.__getitem__, default=None)
        for k in path:
            self.equations[k]["critical"] = True
        return dict(
            levels=counts,
            width=max(counts, default=0),
            critical_path=path[::-1],
            critical_path_flops=sum(self.equations[k]["flops"] for k in path),
        )

    def fusions(self):
        """Runs of elementwise operations, and each product for itself."""
        groups: list[list[int]] = []
        for i, x in enumerate(self.equations):
            alone = x["operation"] == "dot_general" or not groups
            if alone or len(groups[-1]) > 6:
                groups.append([])
            groups[-1].append(i)
        fusions, entries = [], []
        for k, group in enumerate(groups):
            members = [self.equations[i] for i in group]
            for x in members:
                x["fusion"] = k
            flops = sum(x["flops"] for x in members)
            moved = members[0]["bytes"] + members[-1]["bytes"]
            seconds = max(moved / 4.0e10, flops / 1.2e12)
            fusions.append(
                dict(
                    name=f"fusion.{k}",
                    kind="loop" if members[0]["operation"] != "dot_general" else "dot",
                    operations=[x["operation"] for x in members],
                    lines=sorted({x["line"] for x in members}),
                    flops=flops,
                    bytes=moved,
                    lower_bound_s=seconds,
                    measured_s=None,
                )
            )
            entries.append(
                dict(
                    fusion=k,
                    intensity=flops / moved,
                    bound="compute" if flops / 1.2e12 > moved / 4.0e10 else "memory",
                    lower_bound_s=seconds,
                )
            )
        return fusions, entries


def small() -> dict[str, Any]:
    """A loss with a loop of three steps, and a line that tries to be markup."""
    b = Builder()
    x, w = b.value(1000, argument="x"), b.value(1000, argument="params['w']")
    product = b.line("loss", 3, "h = x * w")
    loop = b.line(
        "loss", 4, "h, _ = lax.scan(step, h, None, length=3)", kind="loop", n=3
    )
    inside = b.line(
        "step", 8, 'return cnp.tanh(h) * 2.0, "</script>"', parent=loop, n=3
    )
    end = b.line("loss", 5, "return cnp.sum(h ** 2)  # <img src=x onerror=alert(1)>")
    h = b.apply("mul", product, x, w, size=1000, flops=1000)
    scan = b.apply("scan", loop, h, size=1000, text="length=3")
    around = (b.values[scan]["made_by"],)
    carry = b.value(1000, ties=[h])
    t = b.apply("tanh", inside, carry, size=1000, flops=1000, around=around, times=3)
    out = b.apply("mul", inside, t, size=1000, flops=1000, around=around, times=3)
    b.values[carry]["ties"].append(out)
    b.values[scan]["ties"].append(out)
    square = b.apply("integer_pow", end, scan, size=1000, flops=1000, text="y=2")
    total = b.apply("reduce_sum", end, square, size=1, flops=1000, text="axes=(0,)")
    return b.data("loss", [total])


LAYER = [
    ("layer_norm", 12, "mean = cnp.mean(x, -1, keepdims=True)", 4),
    ("layer_norm", 13, "x = (x - mean) * lax.rsqrt(var + 1e-6)", 6),
    ("attention", 20, "q, k, v = cnp.split(x @ params['qkv'], 3, -1)", 5),
    ("attention", 21, "scores = q @ k.mT / sqrt(q.shape[-1])", 4),
    ("attention", 22, "weights = nn.softmax(scores + mask)", 9),
    ("attention", 23, "return (weights @ v).reshape(x.shape) @ params['out']", 4),
    ("layer_norm", 12, "mean = cnp.mean(x, -1, keepdims=True)", 4),
    ("layer_norm", 13, "x = (x - mean) * lax.rsqrt(var + 1e-6)", 6),
    ("mlp", 30, "x = nn.gelu(x @ params['up'] + params['bias'])", 12),
    ("mlp", 31, "return x @ params['down']", 3),
    ("block", 40, "return x + mlp(params, layer_norm(x))", 2),
]
ELEMENTWISE = ("mul", "add", "sub", "exp", "tanh", "reduce_sum", "broadcast", "select")


def transformer(layers=12, scopes=True, operations=1.0) -> dict[str, Any]:
    """A synthetic gradient of a transformer: each layer forward, then backward.

    Twelve layers have about 1,800 operations; ``operations`` multiplies them.
    """
    b = Builder()
    x = b.value(65536, argument="tokens")
    saved: list[list[int]] = []
    weights = [
        b.value(262144, argument=f"params['layers'][{k}]['{name}']")
        for k in range(layers)
        for name in ("qkv", "out", "up", "down", "bias")
    ]
    for k in range(layers):
        kept = []
        for j, (function, number, source, count) in enumerate(LAYER):
            line = b.line(function, number, source, f"layer_{k}" if scopes else "")
            for i in range(max(1, round(count * operations))):
                before = x
                if i == 0 and function in ("attention", "mlp"):
                    w = weights[5 * k + j % 5]
                    x = b.apply("dot_general", line, x, w, size=65536, flops=4e8)
                    kept.append(before)
                    continue
                name = ELEMENTWISE[(i + j) % len(ELEMENTWISE)]
                other = b.apply("broadcast", line, size=256) if i % 3 == 0 else before
                x = b.apply(name, line, x, other, size=65536, flops=65536)
                if i % 4 == 0:
                    kept.append(x)
        saved.append(kept)
    end = b.line("loss", 50, "return -cnp.mean(log_softmax(x)[labels])")
    x = b.apply("reduce_sum", end, x, size=1, flops=65536)
    x = b.apply("broadcast", end, x, size=65536)
    gradients = []
    for k in reversed(range(layers)):
        kept = saved[k]
        for j, (function, number, source, count) in reversed(list(enumerate(LAYER))):
            scope = f"transpose(layer_{k})" if scopes else ""
            line = b.line(function, number, source, scope)
            for i in range(max(1, round(count * operations))):
                residual = kept.pop() if kept and i % 4 == 0 else x
                if i == 0 and function in ("attention", "mlp"):
                    w = weights[5 * k + j % 5]
                    gradients.append(
                        b.apply(
                            "dot_general", line, x, residual, size=262144, flops=4e8
                        )
                    )
                    x = b.apply("dot_general", line, x, w, size=65536, flops=4e8)
                    continue
                name = ELEMENTWISE[(i + j) % len(ELEMENTWISE)]
                x = b.apply(name, line, x, residual, size=65536, flops=65536)
    return b.data("grad(loss)", [*gradients, x], measured=True)


def empty() -> dict[str, Any]:
    """A program without operations, of which nothing was measured or compiled."""
    data = Builder().data("identity", [])
    totals = dict.fromkeys(data["totals"])
    totals.update(equations=0, flops=0, transcendentals=0, bytes=0, peak_bytes=0)
    nothing = dict.fromkeys(["trace_s", "lower_s", "compile_s", "recompiled_because"])
    return data | dict(
        totals=totals,
        machine=None,
        optimisation=None,
        roofline=None,
        compilation=nothing | dict(cached=False, functions=[], collectives=[]),
    )
