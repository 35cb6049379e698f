"""The seed of today's samples: all machines draw the same ones, tomorrow others."""

import datetime
import os

#: told to the processes that this one starts, which may be another day's
os.environ["TEST_SEED"] = os.environ.get("TEST_SEED") or (
    f"{datetime.datetime.now(datetime.UTC):%Y%m%d}"
)
SEED = int(os.environ["TEST_SEED"])
