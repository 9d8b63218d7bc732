"""The extension, for the stable ABI of Python 3.11: one wheel for that release and all later ones, with the GIL."""

import sys
from pathlib import Path

from setuptools import Extension, setup

#: Other libraries of the process see the initialisation of the module only; on Windows they see no more anyway.
FLAGS = [] if sys.platform == "win32" else ["-fvisibility=hidden"]
SOURCES = sorted(path.as_posix() for path in Path("src").glob("*.c"))

setup(
    ext_modules=[
        Extension(
            "hatch_cuda_kernels_accelerator",
            SOURCES,
            depends=sorted(path.as_posix() for path in Path("src").glob("*.h")),
            extra_compile_args=FLAGS,
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
