"""What networks are made of: softmax, norms, attention, losses, and their gradients."""

from collections.abc import Callable
from typing import Any

from benchmarks.measure import Bound, Measure
from benchmarks.measures.workload import Inputs, both, integers, normal, workload

TITLE = "Networks"


def measures(tiny: bool) -> list[Measure]:
    return [*rowwise(tiny), *groups(tiny), *attentions(tiny), *losses(tiny)]


def rowwise(tiny: bool) -> list[Measure]:
    rows, units = (3, 4) if tiny else (4096, 1024)
    size = f"{rows} × {units}"
    x, pair = normal((rows, units)), normal((rows, units), (rows, units))
    norm = normal((rows, units), (units,), (units,))
    once, twice = (Bound(bytes=4 * k * rows * units) for k in (1, 2))
    return [
        workload(
            f"softmax, {size}",
            lambda cv: cv.nn.softmax,
            x,
            others={"torch": lambda torch: lambda x: torch.softmax(x, -1)},
            bound=twice,
        ),
        workload(
            f"gradient of softmax, {size}",
            lambda cv: lambda x, y: (cv.nn.softmax(x) * y).sum(),
            pair,
            wrt=0,
            compiled=not tiny,
            others={
                "torch": lambda torch: lambda x, y: (torch.softmax(x, -1) * y).sum()
            },
            bound=Bound(bytes=12 * rows * units),
        ),
        workload(
            f"logsumexp, {size}",
            lambda cv: lambda x: cv.nn.logsumexp(x, -1),
            x,
            others={"torch": lambda torch: lambda x: torch.logsumexp(x, -1)},
            bound=once,
        ),
        workload(
            f"layer norm, {size}",
            lambda cv: layer_norm(cv.lax.rsqrt),
            norm,
            others={"torch": torch_layer_norm},
            bound=twice,
        ),
        workload(
            f"gradients of layer norm, {size}",
            lambda cv: against_first(layer_norm(cv.lax.rsqrt)),
            norm,
            wrt=(0, 1, 2),
            compiled=not tiny,
            others={"torch": lambda torch: against_first(torch_layer_norm(torch))},
            bound=twice,
        ),
        workload(
            f"gelu, {size}",
            lambda cv: cv.nn.gelu,
            x,
            others={
                "torch": lambda torch: (
                    lambda x: torch.nn.functional.gelu(x, approximate="tanh")
                )
            },
            bound=twice,
        ),
    ]


def layer_norm(rsqrt: Callable[[Any], Any]) -> Callable[..., Any]:
    """As it is written by hand."""

    def norm(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred**2).mean(-1, keepdims=True)
        return centred * rsqrt(variance + 1e-5) * scale + shift

    return norm


def torch_layer_norm(torch: Any) -> Callable[..., Any]:
    norm = torch.nn.functional.layer_norm
    return lambda x, scale, shift: norm(x, x.shape[-1:], scale, shift)


def against_first(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A scalar that depends on all of the result, also where its rows are normed."""
    return lambda *args: (fun(*args) * args[0]).sum()


def groups(tiny: bool) -> list[Measure]:
    images, side, channels, count = (2, 3, 4, 2) if tiny else (8, 32, 64, 8)
    size = f"{images} × {side}² × {channels} in {count} groups"
    pixels = normal((images, side, side, channels))
    bound = Bound(bytes=8 * images * side**2 * channels)
    return [
        workload(
            f"group norm, {size}",
            lambda cv: group_norm(cv.lax.rsqrt, count),
            pixels,
            others={"torch": lambda torch: torch_group_norm(torch, count)},
            bound=bound,
        ),
        workload(
            f"gradient of group norm, {size}",
            lambda cv: against_first(group_norm(cv.lax.rsqrt, count)),
            pixels,
            wrt=0,
            others={
                "torch": lambda torch: against_first(torch_group_norm(torch, count))
            },
            bound=bound,
        ),
    ]


def group_norm(rsqrt: Callable[[Any], Any], count: int) -> Callable[..., Any]:
    """As Flax computes it: the channels of a group are an axis of their own."""

    def norm(x: Any) -> Any:
        groups = x.reshape(*x.shape[:-1], count, -1)
        mean = groups.mean((1, 2, 4), keepdims=True)
        square = (groups * groups).mean((1, 2, 4), keepdims=True)
        normed = (groups - mean) * rsqrt(square - mean * mean + 1e-5)
        return normed.reshape(x.shape)

    return norm


def torch_group_norm(torch: Any, count: int) -> Callable[..., Any]:
    norm = torch.nn.functional.group_norm
    return lambda x: norm(x.permute(0, 3, 1, 2), count).permute(0, 2, 3, 1)


def attentions(tiny: bool) -> list[Measure]:
    batch, heads, length, units = (2, 2, 4, 3) if tiny else (4, 8, 512, 64)
    size = f"{batch} × {heads} heads × {length} × {units}"
    qkv: Inputs = normal(*[(batch, heads, length, units)] * 3)
    swapped: Inputs = normal(*[(batch, length, heads, units)] * 3)
    flops = 4 * batch * heads * length**2 * units
    return [
        workload(
            f"attention, {size}",
            lambda cv: attention(cv.numpy.einsum, cv.nn.softmax),
            qkv,
            others={"torch": torch_attention},
            bound=Bound(flops=flops),
        ),
        workload(
            f"gradients of attention, {size}",
            lambda cv: against_first(attention(cv.numpy.einsum, cv.nn.softmax)),
            qkv,
            wrt=(0, 1, 2),
            others={"torch": lambda torch: against_first(torch_attention(torch))},
            bound=Bound(flops=3 * flops),
        ),
        workload(
            f"dot_product_attention, causal, {size}",
            lambda cv: (
                lambda q, k, v: cv.nn.dot_product_attention(q, k, v, is_causal=True)
            ),
            swapped,
            others={"torch": torch_causal},
            bound=Bound(flops=flops / 2),
        ),
    ]


def attention(einsum: Any, softmax: Any) -> Callable[..., Any]:
    def attend(q: Any, k: Any, v: Any) -> Any:
        scores = einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
        return einsum("bhqk,bhkd->bhqd", softmax(scores, -1), v)

    return attend


def torch_attention(torch: Any) -> Callable[..., Any]:
    return torch.nn.functional.scaled_dot_product_attention


def torch_causal(torch: Any) -> Callable[..., Any]:
    attend = torch.nn.functional.scaled_dot_product_attention

    def causal(*args: Any) -> Any:
        q, k, v = (x.transpose(1, 2) for x in args)
        return attend(q, k, v, is_causal=True).transpose(1, 2)

    return causal


def losses(tiny: bool) -> list[Measure]:
    batch, classes = (3, 5) if tiny else (1024, 32_000)
    images, channels, side = (2, 3, 4) if tiny else (32, 64, 56)
    pixels = images * channels * side**2
    return [
        workload(
            f"gradient of cross-entropy, {batch} × {classes:,}",
            cross_entropy,
            both(normal((batch, classes)), integers(classes, (batch,))),
            wrt=0,
            compiled=not tiny,
            others={
                "torch": lambda torch: (
                    lambda x, i: torch.nn.functional.cross_entropy(x, i.long())
                )
            },
            bound=Bound(bytes=8 * batch * classes),
        ),
        workload(
            f"gradients of batch norm, {images} × {channels} × {side}²",
            lambda cv: against_first(batch_norm(cv.lax.rsqrt)),
            normal((images, channels, side, side), (channels, 1, 1), (channels, 1, 1)),
            wrt=(0, 1, 2),
            compiled=not tiny,
            others={"torch": lambda torch: against_first(batch_norm(torch.rsqrt))},
            bound=Bound(bytes=12 * pixels),
        ),
    ]


def cross_entropy(cv: Any) -> Callable[..., Any]:
    def loss(scores: Any, labels: Any) -> Any:
        chances = cv.nn.log_softmax(scores)
        return -cv.numpy.take_along_axis(chances, labels[:, None], 1).mean()

    return loss


def batch_norm(rsqrt: Callable[[Any], Any]) -> Callable[..., Any]:
    def norm(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - x.mean((0, 2, 3), keepdims=True)
        variance = (centred**2).mean((0, 2, 3), keepdims=True)
        return centred * rsqrt(variance + 1e-5) * scale + shift

    return norm
