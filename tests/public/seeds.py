"""The seed of today's samples: all machines draw the same ones, tomorrow others."""

import datetime
import os

SEED = int(
    os.environ.get("TEST_SEED") or f"{datetime.datetime.now(datetime.UTC):%Y%m%d}"
)
