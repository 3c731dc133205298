"""`python -m dlqwatch`."""

from __future__ import annotations

import sys

from dlqwatch.cli.main import main

sys.exit(main())
