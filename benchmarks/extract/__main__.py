"""``python -m benchmarks.extract``."""

from benchmarks.extract.run import main

raise SystemExit(main())
