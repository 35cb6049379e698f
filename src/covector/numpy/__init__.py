"""The NumPy namespace, with the names of the Python array API standard.

Every function promotes and broadcasts its operands as NumPy does, and then applies an
operation of ``covector.lax``. Arrays never change; 64-bit dtypes need ``enable_x64``.

A public name is stated in the ``__all__`` of its module, and nowhere else.
"""

import typing

from covector import namespaces
from covector.numpy import creation, scalar_types
from covector.numpy.arithmetic import *
from covector.numpy.axis_order import *
from covector.numpy.bitwise import *
from covector.numpy.comparison import *
from covector.numpy.complex import *
from covector.numpy.concatenation import *
from covector.numpy.creation import *
from covector.numpy.cumulative import *
from covector.numpy.einsum import *
from covector.numpy.exp_log import *
from covector.numpy.filling import *
from covector.numpy.floating import *
from covector.numpy.indexing_take import *
from covector.numpy.matrices import *
from covector.numpy.matrix_products import *
from covector.numpy.minmax import *
from covector.numpy.powers import *
from covector.numpy.ranges import *
from covector.numpy.reductions import *
from covector.numpy.reshaping import *
from covector.numpy.rounding import *
from covector.numpy.scalar_types import *
from covector.numpy.searching import *
from covector.numpy.selection import *
from covector.numpy.sorting import *
from covector.numpy.splitting import *
from covector.numpy.trigonometric import *
from covector.numpy.types import *
from covector.numpy.ufunc import *
from covector.numpy.ufuncs import *
from covector.numpy.vectorize import *

scalar_types.install_constructor(creation.array)

if typing.TYPE_CHECKING:
    from covector.numpy import fft as fft
    from covector.numpy import linalg as linalg
    from covector.numpy.contraction import *
    from covector.numpy.convolution import *
    from covector.numpy.covariance import *
    from covector.numpy.differences import *
    from covector.numpy.files import *
    from covector.numpy.histograms import *
    from covector.numpy.index_tricks import *
    from covector.numpy.insert_delete import *
    from covector.numpy.integers import *
    from covector.numpy.interpolation import *
    from covector.numpy.mesh_grids import *
    from covector.numpy.nan_reductions import *
    from covector.numpy.nonzeros import *
    from covector.numpy.order_statistics import *
    from covector.numpy.padding import *
    from covector.numpy.polynomial import *
    from covector.numpy.polynomial_zeros import *
    from covector.numpy.printing import *
    from covector.numpy.repeating import *
    from covector.numpy.sets import *
    from covector.numpy.special import *
    from covector.numpy.statistics import *
    from covector.numpy.unique_elements import *
    from covector.numpy.windows import *
else:
    #: modules that are imported when one of their names is first asked for
    _LAZY = (
        "bits",
        "contraction",
        "convolution",
        "covariance",
        "differences",
        "files",
        "histograms",
        "index_tricks",
        "insert_delete",
        "integers",
        "interpolation",
        "mesh_grids",
        "nan_reductions",
        "nonzeros",
        "order_statistics",
        "padding",
        "polynomial",
        "polynomial_zeros",
        "printing",
        "repeating",
        "sets",
        "special",
        "statistics",
        "unique_elements",
        "windows",
    )
    __getattr__, __dir__ = namespaces.lazy(
        __name__,
        _LAZY,
        "__array_api_version__",
        "__array_namespace_info__",
        packages=("fft", "linalg"),
    )
