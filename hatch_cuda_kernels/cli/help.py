"""What the commands' help says of them: a sentence or two, and examples to copy."""

from __future__ import annotations

from typing import Final

from hatch_cuda_kernels.compiler.toolchain.origin import documentation

__all__ = ["describe", "page_of"]

_PROGRAM: Final = "hatch-cuda-kernels"

#: By the words of the command: what it does, and the rest of each example.
_TEXTS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "": (
        (
            "Compiles CUDA C++ kernels into Python wheels, and says what is in a wheel, which image a device gets, "
            "and what is wrong. Begin with init in the folder of a project, or in an empty one."
        ),
        ("init", "check", "build", "explain saxpy --package mylib --arch sm_90", "doctor"),
    ),
    "init": (
        (
            "Sets up the project here for kernels, or creates one in an empty folder. Adds what is missing and never "
            "overwrites a file."
        ),
        ("init", "init --name mylib", "init --backend hatchling"),
    ),
    "port": (
        (
            "Guards the host code of existing sources, as a patch, so that NVRTC compiles them as nvcc does, and "
            "drafts their manifest."
        ),
        ("port src/*.cu", "port --include include --manifest kernels.yaml src/*.cu"),
    ),
    "check": (
        (
            "Validates the manifest and lists every image with what a build would do: compile it, or take it from the "
            "disk cache. Compiles nothing."
        ),
        ("check", "check --json cuda/kernels.yaml"),
    ),
    "build": (
        "Compiles the manifest into a folder, without building a wheel.",
        ("build", "build --arch sm_90", "build --out store --jobs 4", "build --executor dask:tcp://scheduler:8786"),
    ),
    "inspect": (
        "Lists the modules, kernels and images of a wheel, a folder or an installed package.",
        ("inspect dist/mylib-1.0-py3-none-any.whl", "inspect mylib --extract images"),
    ),
    "explain": (
        ("Says which image a kernel gets on the device here or on another, and why not the others. Compiles nothing."),
        ("explain saxpy --package mylib", "explain saxpy --package mylib --arch sm_120 --driver 12.8"),
    ),
    "verify": (
        "Checks a wheel before its release, without a GPU: everything promised is in it, and nothing is damaged.",
        (
            "verify dist/mylib-1.0-py3-none-any.whl",
            "verify dist/mylib-1.0-py3-none-any.whl --rebuild",
            "verify mylib --supports-devices 8.0 9.0 --max-size 5MB",
        ),
    ),
    "report": (
        "Writes what a wheel holds and costs as an HTML page, and what changed since an older wheel.",
        ("report dist/new.whl", "report dist/new.whl --against old.whl --fail-on-regression"),
    ),
    "cache": (
        "Shows, trims, empties, exports or imports the disk cache of this user.",
        ("cache info", "cache prune --max-bytes 500MB"),
    ),
    "cache info": ("Shows where the disk cache is, and how much it holds.", ("cache info", "cache info --json")),
    "cache ls": ("Lists the images in the disk cache.", ("cache ls",)),
    "cache prune": (
        "Removes the least recently used images, down to the cap or to a size, and what crashed processes left.",
        ("cache prune", "cache prune --max-bytes 500MB"),
    ),
    "cache clear": (
        "Removes every image, and what is remembered of toolchains, headers and sources.",
        ("cache clear",),
    ),
    "cache export": (
        "Writes all images into a bundle, for another machine or a layer of a container.",
        ("cache export kernels.zip",),
    ),
    "cache import": ("Reads the images of a bundle into the disk cache.", ("cache import kernels.zip",)),
    "promote": (
        "Makes a patch for the manifest of what was compiled for a package on this machine at run time.",
        ("promote --package mylib", "promote --package mylib --apply"),
    ),
    "doctor": (
        "Shows what is installed here, what would work, and how to fix the rest.",
        ("doctor", "doctor --for build", "doctor --package mylib"),
    ),
    "schema": (
        "Prints the JSON Schema of the manifest, for editors.",
        ("schema > kernels.schema.json",),
    ),
    "completion": (
        "Prints the script with which a shell completes commands and options.",
        (
            "completion bash > ~/.hatch-cuda-kernels.bash",
            "completion zsh > ~/.zfunc/_hatch-cuda-kernels",
            "completion fish \\\n    > ~/.config/fish/completions/hatch-cuda-kernels.fish",
        ),
    ),
}


def describe(words: str) -> tuple[str, list[str]]:
    """Return what a command does, and examples, as they are typed. Raises KeyError for a command without a text."""
    text, examples = _TEXTS[words]
    return text, [f"{_PROGRAM} {example}" for example in examples]


def page_of(words: str) -> str:
    """Return where a command is described in full."""
    return documentation("reference/cli", words.partition(" ")[0])
