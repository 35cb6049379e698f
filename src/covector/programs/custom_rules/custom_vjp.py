"""``custom_vjp``: a function whose reverse-mode derivative two functions give."""

from covector.programs.custom_rules.custom_derivative import CustomFunction, P, R


class custom_vjp(CustomFunction[P, R]):
    """A function whose reverse-mode derivative is given by two functions.

    Set with ``defvjp(fwd, bwd)``: ``fwd`` takes the arguments and returns the value and
    residuals (any tree); ``bwd(residuals, cotangent)`` returns a tuple with one
    cotangent per argument, None for zero.

    Forward mode (jvp, jacfwd, what linearize gives) needs a rule of its own, set with
    ``defjvp`` as for ``custom_jvp``. Then each mode takes its own rule: in a derivative
    of a derivative, forward over reverse runs ``fwd`` and ``bwd`` in forward mode, and
    reverse over forward differentiates the rule of ``defjvp`` in reverse.

    Args:
      nondiff_argnums, nondiff_argnames: arguments that are not differentiated; ``fwd``
        takes them at their positions, ``bwd`` before the residuals.

    >>> import covector as cv, covector.numpy as cnp
    >>> @cv.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (cnp.minimum(ct, 1.0),))
    >>> float(cv.grad(lambda x: 5 * clipped(x))(2.0))
    1.0
    """
