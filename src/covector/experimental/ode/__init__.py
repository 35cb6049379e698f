"""Initial value problems of ordinary differential equations: ``odeint``."""

from covector import namespaces
from covector.experimental.ode.odeint import odeint

__all__ = ["odeint"]
__dir__ = namespaces.completions(globals())
