"""Elementwise operations, which have the same parameters in the field."""

from covector.compat.operation_primitives import primitive
from covector.operations import (
    arithmetic,
    bessel,
    bitwise,
    comparison,
    complex,
    extrema,
    gamma,
    incomplete_beta,
    magnitude,
    powers,
    roots,
    rounding,
    selection,
    special,
    transcendental,
)
from covector.operations.casting import (
    BitcastConvertType,
    ConvertElementType,
    ReducePrecision,
)

_SAME = [
    *[arithmetic.Neg, arithmetic.Add, arithmetic.Sub, arithmetic.Mul],
    *[arithmetic.Div, arithmetic.Rem],
    *[bitwise.And, bitwise.Or, bitwise.Xor, bitwise.Not, bitwise.ShiftLeft],
    *[bitwise.ShiftRightLogical, bitwise.ShiftRightArithmetic],
    *[bitwise.PopulationCount, bitwise.Clz],
    *[comparison.Eq, comparison.Ne, comparison.Lt, comparison.Le, comparison.Gt],
    *[comparison.Ge, comparison.EqTo, comparison.LtTo, comparison.LeTo],
    *[comparison.IsFinite, selection.SelectN, extrema.Max, extrema.Min, extrema.Clamp],
    *[complex.Real, complex.Imag, complex.Complex],
    *[magnitude.Abs, magnitude.Sign, rounding.Floor, rounding.Ceil, rounding.Round],
    *[rounding.Nextafter, roots.Sqrt, roots.Rsqrt, roots.Cbrt],
    *[powers.Pow, powers.IntegerPow, powers.Square],
    *[transcendental.Exp, transcendental.Exp2, transcendental.Expm1],
    *[transcendental.Log, transcendental.Log1p, transcendental.Logistic],
    *[transcendental.Sin, transcendental.Cos, transcendental.Tan],
    *[transcendental.Asin, transcendental.Acos, transcendental.Atan],
    *[transcendental.Atan2, transcendental.Sinh, transcendental.Cosh],
    *[transcendental.Tanh, transcendental.Asinh, transcendental.Acosh],
    transcendental.Atanh,
    *[special.Erf, special.Erfc, special.ErfInv, special.Lgamma, special.Digamma],
    *[special.Polygamma, special.Zeta, bessel.BesselI0e, bessel.BesselI1e],
    *[gamma.Igamma, gamma.Igammac, gamma.RandomGammaGrad],
    incomplete_beta.RegularizedIncompleteBeta,
]
for _cls in _SAME:
    primitive(_cls.name, _cls)

primitive("igamma_grad_a", gamma.IgammaDerivative)
primitive(
    "conj",
    complex.Conj,
    derived={"input_dtype": lambda op, types: types[0].dtype},
)
primitive(
    "convert_element_type",
    ConvertElementType,
    new_dtype="dtype",
    weak_type="weak",
    constant={"sharding": None},
)
primitive("bitcast_convert_type", BitcastConvertType)
primitive("reduce_precision", ReducePrecision)
