"""Operations that the field has not: they have their names and parameters.

Most are functions that are compositions there: ``logaddexp``, ``ndtri``, ``xlogy``.
"""

from covector.compat.operation_primitives import primitive
from covector.experimental.checkify.check import Check
from covector.experimental.sparse.sparsify import ToDense
from covector.export.exported import CallExported
from covector.export.size_of_dimension import SizeOfDimension
from covector.operations import (
    beta,
    counter_streams,
    entropies,
    error_functions,
    exponential_integrals,
    gamma,
    identities,
    incomplete_beta,
    random,
    random_streams,
    special,
    trigonometric_integrals,
)
from covector.operations.linear_algebra import determined, pseudo_inverse, solve
from covector.operations.logaddexp import LogAddExp
from covector.operations.logarithms import Log2
from covector.operations.logit import Logit
from covector.operations.owens_t import OwensT
from covector.operations.pochhammer import Pochhammer
from covector.operations.spence import Spence
from covector.programs.control_flow.reverse_while import ReverseWhile
from covector.programs.control_flow.safe_operands import SafeOperands
from covector.programs.custom_rules.linear_call import LinearCall
from covector.programs.custom_rules.root import Root
from covector.programs.remat.chunks import Chunked
from covector.programs.remat.within_memory import WithinMemory

for _cls in [
    *[Log2, LogAddExp, Logit, OwensT, Pochhammer, Spence, special.Gamma],
    *[beta.LogBeta, beta.Beta, gamma.GammaDensity],
    *[incomplete_beta.BetaDensity, incomplete_beta.BetaincDerivative],
    *[entropies.XLogY, entropies.XLog1pY, entropies.Entr, entropies.RelEntr],
    entropies.KlDiv,
    *[error_functions.Erfcx, error_functions.Dawsn, error_functions.Ndtr],
    *[error_functions.LogNdtr, error_functions.Ndtri],
    *[exponential_integrals.Exp1, exponential_integrals.Expi],
    exponential_integrals.Expn,
    *[trigonometric_integrals.Si, trigonometric_integrals.Ci],
    *[trigonometric_integrals.FresnelS, trigonometric_integrals.FresnelC],
    *[solve.Solve, solve.Inverse, solve.Determinant, solve.SignAndLogDeterminant],
    *[pseudo_inverse.PseudoInverse, pseudo_inverse.LeastSquares],
    *[determined.Determined, determined.Turns, determined.TurnsOfTwo],
    *[identities.ComputedOnce, identities.LayoutConstraint],
    *[random.Unrolled, random_streams.RandomWords],
    *[counter_streams.PhiloxBlocks, counter_streams.ThreefryBlocks],
    *[ReverseWhile, SafeOperands, LinearCall, Root, Chunked, WithinMemory],
    *[Check, ToDense, CallExported, SizeOfDimension],
]:
    primitive(_cls.name, _cls)
