"""``python -m covector`` is the command ``covector``."""

import sys

from covector.cli.main import main

sys.exit(main())
