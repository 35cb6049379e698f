"""Parts of SciPy, for arrays that are differentiated, batched and compiled.

A part is imported when it is first asked for.
"""

import typing

from covector import namespaces

if typing.TYPE_CHECKING:
    from covector.scipy import cluster as cluster
    from covector.scipy import fft as fft
    from covector.scipy import integrate as integrate
    from covector.scipy import interpolate as interpolate
    from covector.scipy import linalg as linalg
    from covector.scipy import ndimage as ndimage
    from covector.scipy import optimize as optimize
    from covector.scipy import signal as signal
    from covector.scipy import sparse as sparse
    from covector.scipy import spatial as spatial
    from covector.scipy import special as special
    from covector.scipy import stats as stats
else:
    __getattr__, __dir__ = namespaces.lazy(
        __name__,
        (),
        packages=(
            "cluster",
            "fft",
            "integrate",
            "interpolate",
            "linalg",
            "ndimage",
            "optimize",
            "signal",
            "sparse",
            "spatial",
            "special",
            "stats",
        ),
    )
