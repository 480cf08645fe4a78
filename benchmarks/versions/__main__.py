"""``python -m benchmarks.versions``."""

from benchmarks.versions.run import main

raise SystemExit(main())
