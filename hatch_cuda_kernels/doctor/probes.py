"""Probes: each looks at one thing in a child process, which a damaged library or driver may end.

``python -c`` runs ``main`` with the probe's name and argument. It prints its finding as one line of JSON.
"""

from __future__ import annotations

import ctypes
import json
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from hatch_cuda_kernels.arch import parse_version, version_text
from hatch_cuda_kernels.compiler.toolchain import bindings, first_release, loaded_files, pip_install
from hatch_cuda_kernels.doctor import Finding
from hatch_cuda_kernels.driver import DRIVER_NEEDED
from hatch_cuda_kernels.errors import HatchCudaKernelsError, ManifestError, Problem, ToolchainError

_NO_DEVICE: Final = 100
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*


def main(name: str, argument: str = "") -> None:
    """Run a probe and print what it found."""
    try:
        found = _PROBES[name](argument)
    except ToolchainError as error:
        found = Finding({}, Problem(error.message, error.fix), missing="is not installed" in error.message)
    except Exception as error:  # noqa: BLE001 - whatever is broken here is what the report is for
        text = str(error) if isinstance(error, HatchCudaKernelsError) else f"{type(error).__name__}: {error}"
        found = Finding({}, Problem(text))
    print(json.dumps(found.to_json()))  # noqa: T201 - to the process that asked


def _driver(_: str) -> Finding:
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        absent = "No such file" in str(error)
        message = f"no CUDA driver here: {name} is not found" if absent else f"{name} cannot be loaded: {error}"
        return Finding({}, Problem(message, DRIVER_NEEDED), missing=absent)
    version = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    facts: dict[str, Any] = {
        "file": next(iter(loaded_files("/libcuda.so")), ""),
        "release": _kernel_module(),
        "cuda": version_text((version.value // 1000, version.value % 1000 // 10)),
        "devices": [],
    }
    status = library.cuInit(0)
    if status != 0:
        text = ctypes.c_char_p()
        library.cuGetErrorName(status, ctypes.byref(text))
        message = f"cuInit failed with {(text.value or b'an unknown error').decode()} ({status})"
        fix = "nvidia-smi shows more; give a container the host's driver and devices"
        return Finding(facts, Problem(message, fix), missing=status == _NO_DEVICE)
    count = ctypes.c_int()
    library.cuDeviceGetCount(ctypes.byref(count))
    return Finding({**facts, "devices": [_device(library, ordinal) for ordinal in range(count.value)]})


def _device(library: ctypes.CDLL, ordinal: int) -> dict[str, Any]:
    device, value = ctypes.c_int(), ctypes.c_int()
    library.cuDeviceGet(ctypes.byref(device), ordinal)
    name = ctypes.create_string_buffer(256)
    library.cuDeviceGetName(name, len(name), device)
    capability = []
    for attribute in (_MAJOR, _MINOR):
        library.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        capability.append(str(value.value))
    return {"ordinal": ordinal, "name": name.value.decode(errors="replace"), "capability": ".".join(capability)}


def _kernel_module() -> str:
    """Return the version of the driver's kernel module, such as 580.159.03; empty if the kernel does not show it."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(r"\b\d{3}\.\d+(?:\.\d+)?\b", text)
    return found[0] if found else ""


def _bindings(_: str) -> Finding:
    try:
        from cuda.bindings import __version__, driver  # may be what is broken
    except ModuleNotFoundError as error:
        problem = Problem(f"cuda-bindings is not installed ({error})", pip_install(bindings(first_release()[0])))
        return Finding({}, problem, missing=True)
    return Finding({"version": __version__, "folder": str(Path(driver.__file__).parent)})


def _nvrtc(_: str) -> Finding:
    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.toolchain import load_toolchain, supported_numbers

    version = load_toolchain().nvrtc
    archs = [str(SmArch(number // 10, number % 10)) for number in sorted(supported_numbers())]
    return Finding({"version": version, "file": next(iter(loaded_files("/libnvrtc.so")), ""), "archs": archs})


def _headers(_: str) -> Finding:
    from hatch_cuda_kernels.compiler.toolchain import (
        PARTS,
        bindings_major,
        disagreement,
        find_parts,
        find_toolchain,
        header_folders,
        install_compiler,
    )

    major = bindings_major()
    folders = [str(folder) for folder in header_folders(major)]
    found = {part.name: part.version for part in find_parts(folders, major)}
    facts: dict[str, Any] = {"versions": found, "folders": folders}
    lacking = [name for name in PARTS if name not in found]
    if lacking:
        problem = Problem(f"toolkit headers are not installed: {', '.join(lacking)}", install_compiler())
        return Finding(facts, problem, missing=True)
    with suppress(ToolchainError):  # which the probe of NVRTC tells
        return Finding(facts, disagreement(find_toolchain(), (), finisher="nvrtc"))
    return Finding(facts)


def _nvjitlink(_: str) -> Finding:
    from hatch_cuda_kernels.compiler.toolchain import disagreement, find_toolchain, library_version, nvjitlink_version

    version = library_version("nvJitLink") or version_text(nvjitlink_version())
    facts: dict[str, Any] = {"version": version, "file": next(iter(loaded_files("/libnvJitLink.so")), "")}
    with suppress(ToolchainError):  # as above
        problem = disagreement(find_toolchain(), None, finisher="nvjitlink")
        facts |= {"limits": problem[:2]} if problem is not None else {}
    return Finding(facts)


def _ptxas(_: str) -> Finding:
    from hatch_cuda_kernels.compiler.toolchain import find_toolchain, require_ptxas

    found = require_ptxas(find_toolchain().nvrtc)
    return Finding({"version": found.version, "file": str(found.path)})


def _manifest(path: str) -> Finding:
    from hatch_cuda_kernels.manifest import load_manifest
    from hatch_cuda_kernels.plan import check_release

    try:
        manifest = load_manifest(path)
    except ManifestError as error:
        first, *others = error.problems
        more = f", and {len(others)} more: see hatch-cuda-kernels check" if others else ""
        return Finding({"file": path}, Problem(f"{first}{more}"))
    facts = {"file": path, "cuda": version_text(manifest.release), "modules": len(manifest.modules)}
    try:
        check_release(manifest)
    except ToolchainError as error:
        return Finding(facts, Problem(error.message, error.fix), missing=True)
    return Finding(facts)


def _images(argument: str) -> Finding:
    """Find which image each module of a package would get on devices of given capabilities and driver."""
    from hatch_cuda_kernels.load import store_of
    from hatch_cuda_kernels.store import open_package

    asked = json.loads(argument)
    images = []
    with open_package(asked["package"]) as reader:
        store = store_of(reader)
        modules = store.contents()["modules"]
        first = {module: next(iter(content["kernels"])) for module, content in modules.items()}
        driver = parse_version(asked["driver"])
        for capability in asked["capabilities"]:
            arch = f"sm_{capability.replace('.', '')}"
            for module, kernel in first.items():
                answer = store.explain(kernel, module=module, arch=arch, driver=driver)
                images.append({"module": module, "device": capability, **_chosen(answer)})
    return Finding({"images": images})


def _chosen(answer: Any) -> dict[str, Any]:  # Explanation
    chosen = answer.chosen
    if chosen is None:
        return {"origin": None, "arch": None, "kind": None, "reason": "; ".join(answer.fixes)}
    return {"origin": chosen.origin, "arch": str(chosen.arch), "kind": chosen.kind, "reason": chosen.reason}


_PROBES: Final = {
    "driver": _driver,
    "bindings": _bindings,
    "nvrtc": _nvrtc,
    "headers": _headers,
    "nvjitlink": _nvjitlink,
    "ptxas": _ptxas,
    "images": _images,
    "manifest": _manifest,
}
