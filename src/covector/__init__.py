"""covector (trial)."""
from covector import numpy
from covector.core.array_like import Array, link
from covector.core.trace import install_base
from covector.lowering.evaluate import base
from covector.programs.jit import jit
from covector.transforms.derivatives import grad, value_and_grad, vjp, jvp, linearize
from covector.core.staging import stage
link.numpy = numpy
install_base(base)
