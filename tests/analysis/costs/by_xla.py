"""What XLA counts of a program, before it optimises."""

from jaxlib import _jax

from covector.core.jaxpr import Jaxpr
from covector.lowering.compile import LoweredProgram
from covector.runtime import client


def by_xla(program: Jaxpr, platform: str = "gpu") -> tuple[int, int]:
    """FLOPs and transcendentals. For a GPU operations are lowered to those of XLA; for
    a CPU some are computed in other ways, which are quicker there.
    """
    device = client.cpu_device()
    lowered = LoweredProgram(program, "f", device, platform=platform)
    module = lowered.hlo().as_hlo_module()
    found = _jax.hlo_module_cost_analysis(device.client, module)
    return int(found.get("flops", 0)), int(found.get("transcendentals", 0))
