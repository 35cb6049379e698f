"""Sparse arrays: elements with their indices, and functions of them.

    BCOO             batched coordinates: any number of axes; all functions know it
    BCSR             batched matrices by rows
    COO, CSR, CSC    one matrix

They are pytrees, and arguments and results of transformed functions. ``sparsify`` turns
functions of arrays into functions of sparse arrays.

>>> import covector.numpy as cnp
>>> from covector.experimental import sparse
>>> m = sparse.BCOO.fromdense(cnp.array([[0.0, 2.0], [3.0, 0.0]]))
>>> m
BCOO(float32[2, 2], nse=2)
>>> (m @ cnp.array([1.0, 10.0])).tolist()
[20.0, 3.0]

The room is ``elements`` (one matrix: reading, adding, ordering), ``bcoo``, whose
functions are in ``bcoo_conversion`` (from dense and back), ``bcoo_order``,
``bcoo_layout``, ``bcoo_shapes``, ``bcoo_slicing``, ``bcoo_products``,
``bcoo_sparse_products`` and ``bcoo_convolution``; ``bcsr``, ``coo`` and ``csr``, which
are computed as BCOO; ``sparsify`` with its ``rules``, of which ``operators`` are made;
``creation``, ``derivatives`` and ``linalg``.
"""

import sys
import typing

from covector import namespaces
from covector.errors import SparseEfficiencyError as SparseEfficiencyError
from covector.errors import SparseEfficiencyWarning as SparseEfficiencyWarning
from covector.experimental.sparse import linalg as linalg
from covector.experimental.sparse import operators as operators
from covector.experimental.sparse import rules as rules
from covector.experimental.sparse.base import *
from covector.experimental.sparse.base import link as _link
from covector.experimental.sparse.bcoo import *
from covector.experimental.sparse.bcoo_conversion import *
from covector.experimental.sparse.bcoo_convolution import *
from covector.experimental.sparse.bcoo_layout import *
from covector.experimental.sparse.bcoo_order import *
from covector.experimental.sparse.bcoo_products import *
from covector.experimental.sparse.bcoo_shapes import *
from covector.experimental.sparse.bcoo_slicing import *
from covector.experimental.sparse.bcoo_sparse_products import *
from covector.experimental.sparse.bcsr import *
from covector.experimental.sparse.coo import *
from covector.experimental.sparse.creation import *
from covector.experimental.sparse.csr import *
from covector.experimental.sparse.derivatives import *
from covector.experimental.sparse.sparsify import *

_link.sparse = sys.modules[__name__]

if not typing.TYPE_CHECKING:  # editors follow the star imports
    __all__ = namespaces.public(globals(), "linalg")
    __dir__ = namespaces.completions(globals())
