"""``custom_jvp``: a function with a derivative rule of its own, for both modes."""

from covector.programs.custom_rules.custom_derivative import CustomFunction, P, R


class custom_jvp(CustomFunction[P, R]):
    """A function whose derivative is given by a rule.

    The rule, set with ``defjvp``, takes the primals and the tangents as tuples and
    returns the value and its tangent, which must be linear in the tangents. It serves
    forward and reverse mode, and can itself be differentiated. With ``defvjp`` as well,
    reverse mode takes that: see ``custom_vjp``.

    Args:
      nondiff_argnums, nondiff_argnames: arguments that are not differentiated; the rule
        takes them first.

    >>> import covector as cv, covector.numpy as cnp
    >>> @cv.custom_jvp
    ... def log1pexp(x):
    ...     return cnp.log(1 + cnp.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (dx,) = primals, tangents
    ...     return log1pexp(x), dx * (1 - 1 / (1 + cnp.exp(x)))
    >>> float(cv.grad(log1pexp)(100.0))
    1.0
    """
