"""Lineax: direct and iterative solutions, least squares, derivatives of both."""

import jax
import jax.numpy as jnp
import lineax as lx

jax.config.update("jax_enable_x64", True)


def direct_solutions_and_their_derivatives() -> dict[str, object]:
    matrix = jax.random.normal(jax.random.key(0), (5, 5), jnp.float64)
    vector = jnp.arange(5.0)

    def solution(matrix, solver):
        return lx.linear_solve(lx.MatrixLinearOperator(matrix), vector, solver).value

    solvers = {"lu": lx.LU(), "qr": lx.QR(), "svd": lx.SVD()}
    values = {name: solution(matrix, solver) for name, solver in solvers.items()}
    gradient = jax.grad(lambda m: jnp.sum(solution(m, lx.LU()) ** 2))(matrix)
    batch = jax.vmap(lambda s: solution(s * matrix, lx.LU()))(jnp.asarray([1.0, 2.0]))
    return {"values": values, "gradient": gradient, "batch": batch}


def conjugate_gradients_of_an_operator_without_a_matrix() -> dict[str, object]:
    factor = jax.random.normal(jax.random.key(1), (6, 6), jnp.float64)
    shape = jax.ShapeDtypeStruct((6,), jnp.float64)

    @jax.jit
    def solve(shift):
        operator = lx.FunctionLinearOperator(
            lambda v: factor @ (factor.T @ v) + shift * v,
            shape,
            tags=lx.positive_semidefinite_tag,
        )
        solver = lx.CG(rtol=1e-10, atol=1e-10)
        return lx.linear_solve(operator, jnp.ones(6), solver).value

    tangent = jax.jvp(solve, (0.5,), (1.0,))[1]
    nonsymmetric = lx.MatrixLinearOperator(factor + 4 * jnp.eye(6))
    krylov = lx.linear_solve(
        nonsymmetric, jnp.ones(6), lx.GMRES(rtol=1e-9, atol=1e-9)
    ).value
    return {"solution": solve(0.5), "tangent": tangent, "gmres": krylov}


def structured_operators_and_least_squares() -> dict[str, object]:
    tall = jax.random.normal(jax.random.key(2), (7, 3), jnp.float64)
    target = jnp.linspace(0.0, 1.0, 7)

    def fitted(tall):
        solver = lx.AutoLinearSolver(well_posed=False)
        return lx.linear_solve(lx.MatrixLinearOperator(tall), target, solver).value

    tridiagonal = lx.TridiagonalLinearOperator(
        jnp.full(5, 4.0), jnp.full(4, -1.0), jnp.full(4, -1.5)
    )
    composed = tridiagonal @ lx.DiagonalLinearOperator(jnp.arange(1.0, 6.0))
    return {
        "fitted": fitted(tall),
        "jacobian": jax.jacfwd(lambda t: fitted(t).sum())(tall),
        "tridiagonal": lx.linear_solve(tridiagonal, jnp.ones(5)).value,
        "composed": composed.mv(jnp.ones(5)),
        "matrix": lx.materialise(composed).as_matrix(),
    }


PROGRAMS = (
    direct_solutions_and_their_derivatives,
    conjugate_gradients_of_an_operator_without_a_matrix,
    structured_operators_and_least_squares,
)
