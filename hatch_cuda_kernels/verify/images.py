"""Checks of images: each is for the architecture, and has the kernels, that its index lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.arch import version_text
from hatch_cuda_kernels.compiler.binary import BUILTIN, Cubin, Ptx, function_parameters
from hatch_cuda_kernels.errors import Problem
from hatch_cuda_kernels.names import base_name, found_names, listed_module, normalize_name, plain_name, without_archs
from hatch_cuda_kernels.signature import sizes_agree
from hatch_cuda_kernels.verify.subject import REBUILD, Outcome, StoredImage, Subject, names_by_key

if TYPE_CHECKING:
    from hatch_cuda_kernels.store import KernelLine, ModuleIndex


_TYPES: Final = {spelled: code for code, spelled in BUILTIN.items()} | {"unsigned": "j"}
_NUMBER: Final = re.compile(r"(-?)(0|[1-9][0-9]*)")
_TRUTH: Final = {"true": "1", "false": "0"}


def can_mean(name: str, lowered: str) -> bool:
    """Return whether a kernel or variable with this name may have this lowered name."""
    word = base_name(name).rpartition("::")[2]
    if name == lowered or not word or "(" in name:  # a cast names an overload
        return True
    if "<" not in name:
        plain = plain_name(lowered)
        last = f"{len(word)}{word}" in lowered if plain is None else plain.rpartition("::")[2] == word
        return last or word == lowered
    return plain_name(lowered) is None and bool(re.search(_pattern(word, name), lowered))


def _pattern(word: str, name: str) -> str:
    """Return a regular expression for a template's name and those of its arguments before the first unknown one."""
    codes = []
    for argument in _arguments(normalize_name(name)):
        code = _code(argument)
        if code is None:
            break
        codes.append(f"J?{code}E?")  # J and E stand around a pack
    return rf"{len(word)}{re.escape(word)}I{''.join(codes)}"


def _code(argument: str) -> str | None:
    if argument in _TYPES:
        return _TYPES[argument]
    number = _NUMBER.fullmatch(argument)
    if number is None and argument not in _TRUTH:
        return None
    value = f"{'n' if number[1] else ''}{number[2]}" if number else _TRUTH[argument]
    return rf"L(?:[a-z]|D[a-z]){value}E"


def _arguments(name: str) -> Iterator[str]:
    """Yield the arguments of a template's name, up to the first that has brackets."""
    for argument in name.partition("<")[2].removesuffix(">").split(","):
        if any(bracket in argument for bracket in "<>()[]{}'\""):
            return
        yield argument


_LTO_IR: Final = bytes.fromhex("ed434e7f")


def check_architectures(subject: Subject) -> Outcome:
    """Check that every CUBIN is ELF for CUDA and its SM, and that every PTX has its target and its ISA."""
    problems = [image.problem(message) for image in subject.images for message in _arch_problems(image)]
    return Outcome.of(len(subject.images), "images", problems)


def _arch_problems(image: StoredImage) -> Iterator[str]:
    record, toolchain = image.record, image.index.toolchain
    writers = {"ptxas"} if record.kind == "cubin" and "ptxas" in toolchain else {"nvrtc", "nvjitlink"}
    tools = {toolchain[name].partition("+")[0] for name in writers & toolchain.keys()}
    try:
        contents = image.contents
    except ValueError as error:
        yield str(error)
        return
    match contents:
        case Cubin(relocatable=True):
            yield "the CUBIN has not been linked: no driver loads it"
        case Cubin(sm=sm) if sm != record.arch.number:
            yield f"the CUBIN is for sm_{sm}, but the index says {record.arch}"
        case Cubin(arch=arch) if arch not in {None, str(record.arch)}:
            yield f"the CUBIN is for {arch}, but the index says {record.arch}"
        case Ptx(target=target) if target != str(record.arch.real):
            yield f"the PTX has .target {target}, but the index says {record.arch}"
        case Ptx(isa=isa) if isa != record.ptx_isa:
            yield f"the PTX has .version {version_text(isa)}, but the index says {version_text(record.ptx_isa)}"
        case Cubin(tool=tool) | Ptx(tool=tool) if tool and tool not in tools:
            yield f"written by CUDA {tool}, which the index does not have in its toolchain"
        case None if image.data is not None and not image.data.startswith(_LTO_IR):
            yield "not LTO-IR"


_STRUCT: Final = re.compile(r"b8\[(\d+)\]:\d+")
#: A kernel with more bytes of parameters describes them in another way, without marks.
_MOST_MARKED: Final = 4096
_SCALAR: Final = re.compile(r"[a-z]+(\d+)")


def check_kernels(subject: Subject) -> Outcome:
    """Check that every listed kernel and variable is in every image that should have it, with the same parameters."""
    problems = [problem for image in subject.images for problem in _image_problems(subject, image)]
    for index in subject.modules:
        problems += (Problem(message, REBUILD, index.module) for message in _line_problems(subject, index))
    return Outcome.of(sum(not line.is_variable for line in subject.lines), "kernels", problems)


def _line_problems(subject: Subject, index: ModuleIndex) -> Iterator[str]:
    """Yield what is wrong with the lines of ``kernels.tsv``, as far as it shows without a compiler."""
    images, lines = subject.module_images[index.module], subject.module_lines[index.module]
    called = [(image, _keys_in_image(image, lines)) for image in images if image.readable is not None]
    for line in lines:
        if called and not any(line.key in keys for _, keys in called):
            yield f"the kernel {line.lowered} is listed as {line.name!r}, a name that no image gives it"
        if line.is_variable and line.params:
            yield f"the variable {line.name!r} is listed with parameters"
        own = function_parameters(line.lowered) if plain_name(line.lowered) else None
        if line.types and not (sizes_agree(line.params, line.types) and own in {None, line.types}):
            listed = ", ".join(line.types)
            yield f"the kernel {line.name!r} is listed with the parameters ({listed}), which are not its own"
        if line.names and len(line.names) != len(line.params):
            yield f"the kernel {line.name!r} is listed with {len(line.names)} names for {len(line.params)} parameters"
        if not can_mean(line.name, line.lowered):
            yield f"{line.lowered} is not the lowered name of {line.name!r}"
        first = next((image.record for image in images if line.lowered not in image.record.lacks), None)
        if first is not None and line.key in first.lowered:
            yield f"{line.name!r} is not listed under its lowered name in {first.file}, the first image with it"
    if index.front_end == "per-arch" and not index.options.get("lto") and not index.is_linked:
        yield from _pointer_problems(lines, called)  # other modules take their types from another compile


def _keys_in_image(image: StoredImage, lines: Sequence[KernelLine]) -> set[str]:
    """Return the keys of the lines whose names a build would give to symbols of this image.

    A kernel without a name expression is named after its symbol; overloads keep the whole symbol.
    """
    own, named = image.record.lowered, names_by_key(image.index.names)
    lowered = {line.key: own.get(line.key, line.lowered) for line in lines}
    taken = {lowered[key] for key in named if key in lowered}
    found = _entry_points(image.readable) if image.readable is not None else {}
    own_kernels = {*lowered.values()} if image.index.libraries else {*found}
    names = found_names(symbol for symbol in found if symbol not in taken and symbol in own_kernels)
    known = {key for key in lowered if key in named or key.startswith("&")}
    return known | {line.key for line in lines if names.get(lowered[line.key]) == line.name}


def _pointer_problems(lines: Sequence[KernelLine], called: Sequence[tuple[StoredImage, set[str]]]) -> Iterator[str]:
    """Check which parameters are listed as pointers, if some image tells them from integers."""
    marks = [(image, keys, _pointers(image)) for image, keys in called]
    if not any(marked for _, _, found in marks for marked in found.values()):
        return
    for line in lines:
        if sum(map(_size, line.params)) > _MOST_MARKED:
            continue
        holding = ((image.record.lowered, found) for image, keys, found in marks if line.key in keys)
        wanted = sorted({at for own, found in holding for at in found.get(own.get(line.key, line.lowered), ())})
        listed = [at for at, param in enumerate(line.params) if param == "ptr"]
        if listed != wanted:
            yield f"{line.name!r} has pointers at {wanted}, but kernels.tsv says at {listed} (counted from 0)"


def _pointers(image: StoredImage) -> dict[str, frozenset[int]]:
    contents = image.readable
    if isinstance(contents, Cubin):
        return {name: kernel.pointers for name, kernel in contents.kernels.items()}
    entries = contents.entries if contents is not None else {}
    return {name: frozenset(at for at, one in enumerate(params) if one == "ptr") for name, params in entries.items()}


def _image_problems(subject: Subject, image: StoredImage) -> Iterator[Problem]:
    contents = image.readable
    if contents is None:
        return
    found, lines, own = _entry_points(contents), subject.module_lines[image.index.module], image.record.lowered
    kernels = [(own.get(line.key, line.lowered), line) for line in lines if not line.is_variable]
    yield from _kernel_problems(image, found, kernels)
    listed = {lowered: line.lowered for lowered, line in kernels}
    known = () if image.index.libraries else found  # libraries have kernels, which are not listed
    first = listed_module(image.index.module)  # kernels that are not instances are in every chunk, and listed with it
    listed_once = {line.lowered for line in subject.module_lines[first] if first != image.index.module}
    unlisted = (name for name in known if name not in listed and name not in listed_once)
    yield from (image.problem(f"the kernel {name} is not in kernels.tsv") for name in unlisted)
    for line in lines:
        lowered = own.get(line.key, line.lowered)
        if line.is_variable and lowered not in contents.variables:
            yield image.problem(f"the variable {line.name!r} ({lowered}) is not in the image")
    yield from (image.problem(message) for message in _rename_problems(image, lines))
    if isinstance(contents, Cubin):
        own_kernels, used = listed if image.index.libraries else contents.resources, contents.resources
        if image.record.resources != {listed.get(name, name): used[name] for name in own_kernels if name in used}:
            yield image.problem("the index lists other registers or kernels under 'resources' than the CUBIN has")


def _kernel_problems(
    image: StoredImage, found: dict[str, Sequence[str | int]], kernels: Sequence[tuple[str, KernelLine]]
) -> Iterator[Problem]:
    lacks = image.record.lacks
    for lowered, line in kernels:
        if lowered not in found and line.lowered not in lacks:
            fix = f"find out what removed it from the {image.record.arch} image, then build the wheel again"
            yield image.problem(f"the kernel {line.name!r} ({lowered}) is not in the image", fix)
        elif lowered in found and line.lowered in lacks:
            yield image.problem(f"the index says that the kernel {line.name!r} is not in the image, but it is")
        elif lowered in found and not _parameters_agree(line.params, found[lowered]):
            declared = ", ".join(map(str, found[lowered]))
            listed = ", ".join(line.params)
            yield image.problem(f"the kernel {line.name!r} takes ({declared}), but kernels.tsv says ({listed})")
    if list(lacks) != sorted({*lacks} & {line.lowered for _, line in kernels}):
        yield image.problem("the index says that it lacks kernels that no image of the module has")


def _rename_problems(image: StoredImage, lines: Sequence[KernelLine]) -> Iterator[str]:
    """Yield which renamed symbols are not listed, or differ in more than the architectures in their names."""
    listed = {line.key: line.lowered for line in lines}
    for key, lowered in image.record.lowered.items():
        other = listed.get(key)
        if other is None or other == lowered or without_archs(other) != without_archs(lowered):
            yield f"the details rename {key!r} to {lowered}, which cannot be its symbol"


def _entry_points(contents: Cubin | Ptx) -> dict[str, Sequence[str | int]]:
    """Return each kernel's parameters by lowered name: types for PTX, sizes in bytes for a CUBIN."""
    if isinstance(contents, Ptx):
        return dict(contents.entries)
    return {name: [size for _, size in kernel.params] for name, kernel in contents.kernels.items()}


def _parameters_agree(listed: Sequence[str], found: Sequence[str | int]) -> bool:
    """Return whether two lists of parameters agree; only some architectures' PTX tells pointers from integers."""
    if any(isinstance(param, int) for param in found):
        return [_size(param) for param in listed] == list(found)
    return [_plain(param) for param in listed] == [_plain(str(param)) for param in found]


def _plain(param: str) -> str:
    return "u64" if param == "ptr" else param


def _size(param: str) -> int:
    """Return the size of a parameter type in bytes, -1 if it is not a parameter type."""
    struct, scalar = _STRUCT.fullmatch(param), _SCALAR.fullmatch(_plain(param))
    if struct is not None:
        return int(struct[1])
    return int(scalar[1]) // 8 if scalar is not None else -1
