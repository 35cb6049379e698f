"""Derivatives with respect to the elements that sparse arrays store.

``cv.grad`` and the others see a sparse array as a tree of data and indices, and refuse
the indices. These differentiate with respect to the data, and give the derivative at
the same indices: that with respect to the elements that are not stored is left out.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from covector import tree
from covector.core.flat import argument_numbers, who_of
from covector.core.source import wraps
from covector.errors import TypeMismatch
from covector.experimental.sparse.base import is_sparse
from covector.experimental.sparse.bcoo import BCOO
from covector.transforms import gradients
from covector.transforms import jacobian as jacobians
from covector.transforms.checks import Argnums
from covector.transforms.gradients import as_argnums

__all__ = ["grad", "jacfwd", "jacobian", "jacrev", "value_and_grad"]


def value_and_grad(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., tuple[Any, Any]]:
    """``cv.value_and_grad`` with respect to sparse arguments too.

    The gradient of a sparse argument is sparse, with its indices.

    >>> import covector.numpy as cnp
    >>> from covector.experimental import sparse
    >>> f = lambda m: (m @ cnp.ones(2)).sum()
    >>> value, g = sparse.value_and_grad(f)(sparse.eye(2))
    >>> float(value), g.data.tolist()
    (2.0, [1.0, 1.0])
    """
    made = _WithData(gradients.value_and_grad, fun, argnums, has_aux, kwargs)

    @wraps(fun)
    def on_sparse(*args: Any, **options: Any) -> tuple[Any, Any]:
        (value, gradient), like = made(args, options)
        return value, tree.map(_gradient, like, gradient, is_leaf=is_sparse)

    return on_sparse


def grad(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """``cv.grad`` with respect to sparse arguments too, as ``value_and_grad``.

    >>> import covector.numpy as cnp
    >>> from covector.experimental import sparse
    >>> sparse.grad(lambda m: (m @ cnp.ones(2)).sum())(sparse.eye(2))
    BCOO(float32[2, 2], nse=2)
    """
    made = _WithData(gradients.grad, fun, argnums, has_aux, kwargs)

    @wraps(fun)
    def on_sparse(*args: Any, **options: Any) -> Any:
        out, like = made(args, options)
        gradient, *aux = out if has_aux else (out,)
        gradient = tree.map(_gradient, like, gradient, is_leaf=is_sparse)
        return (gradient, *aux) if has_aux else gradient

    return on_sparse


def jacobian(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """``cv.jacobian`` with respect to sparse arguments too.

    The Jacobian of a sparse argument is sparse; the axes of the result are batch axes.

    >>> import covector.numpy as cnp
    >>> from covector.experimental import sparse
    >>> sparse.jacobian(lambda m: m @ cnp.ones(2))(sparse.eye(2))
    BCOO(float32[2, 2, 2], nse=2, n_batch=1)
    """
    return _jacobian(jacobians.jacobian, fun, argnums, has_aux, kwargs)


def jacfwd(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """``cv.jacfwd`` with respect to sparse arguments too, as ``jacobian``.

    >>> import covector.numpy as cnp
    >>> from covector.experimental import sparse
    >>> sparse.jacfwd(lambda m: m @ cnp.ones(2))(sparse.eye(2)).data.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return _jacobian(jacobians.jacfwd, fun, argnums, has_aux, kwargs)


def jacrev(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """``cv.jacrev`` with respect to sparse arguments too, as ``jacobian``.

    >>> import covector.numpy as cnp
    >>> from covector.experimental import sparse
    >>> sparse.jacrev(lambda m: m @ cnp.ones(2))(sparse.eye(2)).data.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return _jacobian(jacobians.jacrev, fun, argnums, has_aux, kwargs)


class _WithData:
    """A transformed function of arguments in which data stand for sparse arrays."""

    def __init__(
        self, transform: Any, fun: Any, argnums: Any, has_aux: bool, options: Any
    ) -> None:
        self.who = who_of(transform.__name__, fun)
        self.transform, self.fun, self.argnums = transform, fun, argnums
        self.options = {**options, "has_aux": has_aux}

    def __call__(self, args: Sequence[Any], kwargs: Any) -> tuple[Any, Any]:
        """The result, and the arguments that it differentiates, sparse as they are."""
        count = len(args)
        several = not isinstance(as_argnums(self.argnums, self.who), int)
        numbers = argument_numbers(self.who, "argnums", self.argnums)
        chosen = {n + count if n < 0 else n for n in numbers}
        like = {i: args[i] for i in chosen if 0 <= i < count}

        def with_data(*args: Any, **kwargs: Any) -> Any:
            full = [
                tree.map(_with_data, like[i], x, is_leaf=is_sparse) if i in like else x
                for i, x in enumerate(args)
            ]
            return self.fun(*full, **kwargs)

        functools.update_wrapper(with_data, self.fun)
        data = [
            tree.map(_data, x, is_leaf=is_sparse) if i in like else x
            for i, x in enumerate(args)
        ]
        made = self.transform(with_data, argnums=self.argnums, **self.options)
        wanted = tuple([args[n] for n in numbers])
        return made(*data, **kwargs), wanted if several else wanted[0]


def _data(x: Any) -> Any:
    return x.data if is_sparse(x) else x


def _with_data(mat: Any, x: Any) -> Any:
    return mat.with_data(x) if is_sparse(mat) else x


_gradient = _with_data


def _jacobian(
    transform: Any, fun: Any, argnums: Any, has_aux: bool, options: Any
) -> Callable[..., Any]:
    seen: list[Any] = []

    @wraps(fun)
    def watched(*args: Any, **kwargs: Any) -> Any:
        out = fun(*args, **kwargs)
        seen.append(tree.structure(out[0] if has_aux else out))
        return out

    made = _WithData(transform, watched, argnums, has_aux, options)

    @wraps(fun)
    def on_sparse(*args: Any, **kwargs: Any) -> Any:
        del seen[:]
        result, like = made(args, kwargs)
        blocks, *aux = result if has_aux else (result,)
        structure = seen[-1]
        full = structure.unflatten(
            [
                tree.map(_block, like, block, is_leaf=is_sparse)
                for block in structure.flatten_up_to(blocks)
            ]
        )
        return (full, *aux) if has_aux else full

    return on_sparse


def _block(mat: Any, data: Any) -> Any:
    """The Jacobian of one result with respect to a sparse argument."""
    if not is_sparse(mat):
        return data
    if not isinstance(mat, BCOO):
        raise TypeMismatch(
            f"a Jacobian with respect to {mat} has more axes, which only BCOO can "
            "have. Convert the argument with to_bcoo()."
        )
    new = (1,) * (data.ndim - mat.data.ndim)
    return mat.replace(data=data, indices=mat.indices.reshape(new + mat.indices.shape))
