"""``python -m benchmarks.gate``."""

from benchmarks.gate.run import main

raise SystemExit(main())
