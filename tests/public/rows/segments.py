"""Rows of ``covector.ops``."""

from typing import Any

import numpy as np

from tests.public.draws import Draw
from tests.public.table import rows


def segments(draw: Draw) -> Any:
    draw.huge = False
    shape = (draw.integer(1, 7), *draw.shape((0, 1), empty=False))
    data = draw.array("iuf", shape)
    ids = draw.values("int32", shape[:1], (-2, 6))
    if draw.smooth:  # an extremum of nothing is infinite
        data, ids = draw.array("f", (6, *shape[1:])), np.array([3, 0, 2, -1, 1, 0])
    ids = ids.astype(draw.pick("int32", "int16"))
    return (data, ids, 4), draw.some(bucket_size=(2,), mode=("clip", "drop"))


rows("ops", "segment_sum segment_prod segment_max segment_min", segments, cancels=True,
     shuffled=False)
