"""Initial value problems of ordinary differential equations: ``odeint``."""

from covector.experimental.ode.odeint import odeint

__all__ = ["odeint"]
