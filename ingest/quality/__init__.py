"""The quality gate: what a batch of chunks must show before any of it is loaded.

Nothing heavy is imported here. What is set here holds before any module of this package imports
Great Expectations, which reads the environment and logs hundreds of lines while it is imported.
"""

from __future__ import annotations

import logging
import os

os.environ["GX_ANALYTICS_ENABLED"] = "false"
logging.getLogger("great_expectations").setLevel(logging.WARNING)
