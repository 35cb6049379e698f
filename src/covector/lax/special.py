"""Special functions, element by element, of floating-point numbers of one type."""

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.lax.operands import operands
from covector.operations import bessel, gamma, incomplete_beta, special

__all__ = [
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "lgamma",
    "polygamma",
    "random_gamma_grad",
    "zeta",
]


def erf(x: ArrayLike) -> Array:
    """The error function, 2/√π · ∫₀ˣ exp(−t²) dt.

    >>> erf(0.0).tolist()
    0.0

    See also: ``erfc``, which is 1 − erf(x) without the loss of digits; ``erf_inv``.
    """
    return special.erf(as_array(x, "erf"))


def erfc(x: ArrayLike) -> Array:
    """The complement 1 − erf(x), accurate where that is small.

    >>> erfc(0.0).tolist()
    1.0
    """
    return special.erfc(as_array(x, "erfc"))


def erf_inv(x: ArrayLike) -> Array:
    """The number with error function x: ±∞ of ±1, NaN of |x| > 1.

    >>> erf_inv(0.0).tolist()
    0.0
    """
    return special.erf_inv(as_array(x, "erf_inv"))


def lgamma(x: ArrayLike) -> Array:
    """The logarithm log|Γ(x)|; infinite at whole x ≤ 0.

    >>> lgamma(2.0).tolist()
    0.0
    """
    return special.lgamma(as_array(x, "lgamma"))


def digamma(x: ArrayLike) -> Array:
    """The derivative ψ(x) of log Γ(x); NaN at whole x ≤ 0.

    >>> round(float(digamma(1.0)), 4)
    -0.5772
    """
    return special.digamma(as_array(x, "digamma"))


def bessel_i0e(x: ArrayLike) -> Array:
    """The modified Bessel function I₀(x), times e^−|x|.

    >>> round(float(bessel_i0e(0.0)), 4)
    1.0
    """
    return bessel.bessel_i0e(as_array(x, "bessel_i0e"))


def bessel_i1e(x: ArrayLike) -> Array:
    """The modified Bessel function I₁(x), times e^−|x|.

    >>> bessel_i1e(0.0).tolist()
    0.0
    """
    return bessel.bessel_i1e(as_array(x, "bessel_i1e"))


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of order m of ``digamma`` at x, for whole m ≥ 0.

    Raises:
      NotDifferentiable: for a derivative by m.

    >>> round(float(polygamma(1.0, 1.0)), 4)
    1.6449
    """
    return special.polygamma(*operands("polygamma", m, x))


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """Hurwitz's zeta function Σ 1/(k + q)ˣ over k ≥ 0, for x > 1.

    Raises:
      NotDifferentiable: for a derivative by x.

    >>> round(float(zeta(2.0, 1.0)), 4)
    1.6449
    """
    return special.zeta(*operands("zeta", x, q))


def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """P(a, x), the regularised lower incomplete gamma function, for a ≥ 0, x ≥ 0.

    >>> round(float(igamma(1.0, 1.0)), 4)
    0.6321
    """
    return gamma.igamma(*operands("igamma", a, x))


def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """Q(a, x) = 1 − P(a, x), the regularised upper incomplete gamma function.

    >>> round(float(igammac(1.0, 1.0)), 4)
    0.3679
    """
    return gamma.igammac(*operands("igammac", a, x))


def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """∂P(a, x)/∂a, for a > 0, x ≥ 0.

    >>> round(float(igamma_grad_a(1.0, 1.0)), 4)
    -0.4317
    """
    return gamma.igamma_grad_a(*operands("igamma_grad_a", a, x))


def random_gamma_grad(a: ArrayLike, x: ArrayLike) -> Array:
    """∂x/∂a at constant P(a, x), for a sample x of the gamma distribution.

    >>> round(float(random_gamma_grad(1.0, 1.0)), 4)
    1.1736
    """
    return gamma.random_gamma_grad(*operands("random_gamma_grad", a, x))


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularised incomplete beta function, for a ≥ 0, b ≥ 0 and 0 ≤ x ≤ 1.

    >>> round(float(betainc(2.0, 2.0, 0.5)), 4)
    0.5
    """
    return incomplete_beta.regularized_incomplete_beta(*operands("betainc", a, b, x))
