"""``python -m hatch_cuda_kernels`` is the command line."""

from __future__ import annotations

import sys

from hatch_cuda_kernels.cli import main

if __name__ == "__main__":
    sys.exit(main())
