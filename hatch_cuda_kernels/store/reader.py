"""Find a store and read it. A look-up touches a few lines and one module's index, however large the store."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from hatch_cuda_kernels.errors import InputError, StoreError, suggest
from hatch_cuda_kernels.integrity import check_shape, file_name, sha256
from hatch_cuda_kernels.names import axes_key, family_key, spell_values, values_text
from hatch_cuda_kernels.store.index import (
    DETAILS_FILE,
    INDEX_FILE,
    KERNELS_FILE,
    STANDARD_FILE,
    STORE_FOLDER,
    ImageRecord,
    KernelLine,
    ModuleIndex,
    Stored,
    module_names,
)

if TYPE_CHECKING:
    import mmap

    from hatch_cuda_kernels.store.families import ModuleFamily
    from hatch_cuda_kernels.store.texts import ModuleDetails
    from hatch_cuda_kernels.store.unlisted import UnlistedModule

    T = TypeVar("T")

#: More than any block written here needs; a damaged pack may ask for gigabytes.
_UNPACKING_MEMORY: Final = 64 << 20
#: Bytes of a list of kernels from which on it is mapped, because most look-ups read little of it.
_LARGE: Final = 1 << 18
#: Of names in a message.
_MOST_LISTED: Final = 20


def find_store(package: str | Path) -> Path:
    """Return the store of a package, which is not imported, or of a path. Raises StoreError if there is none."""
    if isinstance(package, Path) or "/" in package or "\\" in package:
        candidates = [Path(package), Path(package, STORE_FOLDER)]
    else:
        candidates = [folder / STORE_FOLDER for folder in _package_folders(package)]
    for folder in candidates:
        if (folder / KERNELS_FILE).is_file():
            return folder
    if not candidates:
        raise StoreError(str(package), "no wheel or folder here, and no import package installed, has this name")
    problem = f"no kernel store here (looked for {KERNELS_FILE} in {', '.join(map(str, candidates))})"
    source = next((folder for folder in candidates if (folder.parent / "__init__.py").is_file()), None)
    if source is not None and any((place / "pyproject.toml").is_file() for place in source.parents):
        from hatch_cuda_kernels.compiler.toolchain import editable_install  # no store is found without it

        problem += f"; a source tree has none until it is installed: {editable_install(source)}"
    raise StoreError(str(package), problem)


def _package_folders(package: str) -> list[Path]:
    module = sys.modules.get(package)
    locations = getattr(module, "__path__", None)
    if locations is None:
        from importlib.util import find_spec  # most callers are the package itself

        try:
            spec = find_spec(package)
        except (ImportError, ValueError):
            return []
        locations = spec.submodule_search_locations if spec is not None else None
    return [Path(location) for location in locations or ()]


class StoreReader:
    """The files of one store, each opened when it is needed. What is damaged raises StoreError."""

    def __init__(self, folder: Path, label: str = "") -> None:
        self.folder = folder
        self.label = label or str(folder)
        """The name of the store in messages."""
        self._modules: dict[str, ModuleIndex] = {}
        self._families: dict[str, tuple[ModuleFamily, ModuleDetails]] = {}
        self.unlisted: Final[dict[str, UnlistedModule]] = {}
        """Combinations of axes that were asked for and that the store does not list, by their keys."""
        self._ahead: dict[tuple[str, int], bytes] = {}
        self._last = "", b""

    def find(self, key: str, module: str | None = None) -> list[KernelLine]:
        """Return the lines of a normalised name: one for each module that has it, or for this module and its chunks."""
        if module in self.unlisted:
            return self.unlisted[module].find(key, self.find(key, self.unlisted[module].base))
        starts = (f"{key}\t",) if module is None else (f"{key}\t{module}\t", f"{key}\t{module}.")
        prefixes = [start.encode(errors="replace") for start in starts]  # no store has a name that cannot be encoded
        return [line for prefix in prefixes for line in self._lines_from(prefix, prefix)]

    def families(self) -> dict[str, list[str]]:
        """Return the modules that have the details of each family; for suggestions, not for look-ups."""
        found: dict[str, list[str]] = {}
        for line in self._lines_from(b"{", b"{"):
            if "=" not in line.key:
                found.setdefault(line.name, []).append(line.module)
        return found

    def family(self, module: str) -> tuple[ModuleFamily, ModuleDetails]:
        """Return what a module says of its family, with all its details, read once. Raises StoreError."""
        if module not in self._families:
            details = self.details(module)
            if details.family is None:
                message = f"it lacks the family that {KERNELS_FILE} says it has; reinstall the package"
                raise StoreError(str(self.folder / module / DETAILS_FILE), message)
            self._families[module] = details.family, details
        return self._families[module]

    def add(self, module: UnlistedModule) -> str:
        """Take in a combination of axes that the store does not list; return what stands for its module's name."""
        self._modules[module.key] = self.unlisted.setdefault(module.key, module).index
        return module.key

    def find_template(self, template: str, module: str | None = None) -> list[str]:
        """Return the modules that list instances of a template, such as ``block_sum``; this one at most, if given."""
        return [line.module for line in self.find(f"<{template}", module)]

    def lines(self) -> list[KernelLine]:
        """Return the line of every kernel and variable; for listings and suggestions, not for look-ups."""
        return [line for line in self._lines_from(b"", b"") if not line.key.startswith(("<", "{"))]

    def kernels(self) -> list[tuple[str, str | None]]:
        """Return every listed kernel with its module, which is None if no other module has the name."""
        lines = [line for line in self.lines() if not line.is_variable]
        count = Counter(line.key for line in lines)
        return [(line.name, line.module if count[line.key] > 1 else None) for line in lines]

    def module(self, name: str) -> ModuleIndex:
        """Return a module's index, read once. Raises StoreError when it is missing or damaged."""
        known = self._modules.get(name)
        if known is None:
            path = self.folder / name / INDEX_FILE
            known = _read_json(path, ModuleIndex.from_json)
            if known.module != name:
                raise StoreError(str(path), f"it is of the module {known.module!r}, not of {name!r}")
            self._modules[name] = known
        return known

    def details(self, name: str) -> ModuleDetails:
        """Return what is known of each kernel of a module. Raises StoreError when it is missing or damaged."""
        if name in self.unlisted:
            return self.unlisted[name].details
        from hatch_cuda_kernels.store.texts import ModuleDetails  # not for look-ups

        return _read_json(self.folder / name / DETAILS_FILE, ModuleDetails.from_json)

    def names(self, name: str) -> tuple[str, ...]:
        """Return the names of the details without the rest. Raises what ``details`` raises."""
        if name in self.unlisted:
            return self.unlisted[name].details.names
        from hatch_cuda_kernels.store.texts import ModuleDetails  # as above

        return _read_json(self.folder / name / DETAILS_FILE, ModuleDetails.names_in)

    def whole_module(self, name: str) -> ModuleIndex:
        """Return a module's index with its details; for checks, not for look-ups: it grows with the kernels."""
        return self.details(name).add_to(self.module(name))

    def has_module(self, name: str) -> bool:
        """Return whether the store has a module of that name."""
        return name in self.unlisted or (file_name(name) and (self.folder / name / INDEX_FILE).is_file())

    def modules(self) -> list[ModuleIndex]:
        """Return every module's index, by name."""
        return [self.module(name) for name in module_names(self.folder)]

    def check_module(self, name: str) -> None:
        """Raise StoreError if a module's index and details are not those that the build recorded the digest of."""
        from hatch_cuda_kernels.store.texts import DIGESTS_FILE, module_digest, read_digests  # only for a compile

        name = self.unlisted[name].base if name in self.unlisted else name
        path, folder = self.folder / DIGESTS_FILE, self.folder / name
        if not path.is_file():  # other builders, and the first versions, write none
            return
        texts = [file.read_bytes() for file in (folder / INDEX_FILE, folder / DETAILS_FILE) if file.is_file()]
        if _read_json(path, read_digests).get(name) != module_digest(texts):
            message = (
                f"it does not match its digest in {DIGESTS_FILE}, or {DETAILS_FILE} does not; reinstall the package"
            )
            raise StoreError(str(folder / INDEX_FILE), message)

    def read_image(self, module: str, record: ImageRecord) -> bytes:
        """Return an image's bytes; the last image is remembered. Raises StoreError for missing or damaged bytes."""
        known, data = self._last
        if known == record.sha256:
            return data
        path, stored = self.image_path(module, record), record.stored
        try:
            data = self._unpack(stored, record.bytes) if stored and stored.size else path.read_bytes()
        except (OSError, ValueError) as error:
            raise StoreError(str(path), f"cannot read the image {record.file}: {error}") from error
        if sha256(data).hexdigest() != record.sha256:
            message = f"the image {record.file} does not match the digest in its index; reinstall the package"
            raise StoreError(str(path), message)
        self._last = record.sha256, data
        return data

    def image_path(self, module: str, record: ImageRecord) -> Path:
        """Return the file that holds an image: its own, a pack, or that of an identical image."""
        return self.folder / (record.stored.file if record.stored else f"{module}/{record.file}")

    def look_ahead(self, key: str, module: str | None = None) -> None:
        """Read what a look-up of this name will need, whatever the device: an index, and a pack of a single block."""
        for line in self.find(key, module)[:1] if module not in self.unlisted else ():
            images = self.module(line.module).images
            packed = {stored._replace(skip=0) for image in images if (stored := image.stored) and stored.size}
            if len(packed) == 1:
                [block] = packed
                most = max(image.bytes + image.stored.skip for image in images if image.stored)
                self._ahead[block.file, block.at] = self._unpack(block, most)

    def _unpack(self, stored: Stored, size: int) -> bytes:
        end = stored.skip + size
        block = self._ahead.pop((stored.file, stored.at), b"")
        if len(block) < end:
            with (self.folder / stored.file).open("rb") as file:
                file.seek(stored.at)
                # A damaged size may ask for more bytes than there is memory.
                packed = file.read(min(stored.size, os.fstat(file.fileno()).st_size))
            block = unpack_block(packed, end)
        return block[stored.skip : end]

    def lowered(self, line: KernelLine, image: str) -> str:
        """Return the lowered name of a kernel or variable in the image of this digest. Raises StoreError."""
        records = (record for record in self.module(line.module).images if record.sha256 == image and record.renames)
        names = (self.details(line.module).lowered.get(record.file, {}) for record in records)
        return next(names, {}).get(line.key, line.lowered)

    def source_root(self, module: str) -> Path:
        """Return the folder that holds a module's source and headers in project layout, beside those of others."""
        return self.folder / self.module(module).source_folder

    def standard_headers(self, digest: str) -> dict[str, str]:
        """Return the store's standard headers by name. Raises StoreError unless they have the index's digest."""
        from hatch_cuda_kernels.store.index import STANDARD  # only for a compile

        path = self.folder / STANDARD_FILE
        try:
            data = path.read_bytes()
            if sha256(data).hexdigest() != digest:
                raise StoreError(str(path), "it does not match the digest in the index; reinstall the package")
            headers: dict[str, str] = json.loads(data)
            check_shape(headers, STANDARD)
        except (OSError, ValueError, RecursionError) as error:
            raise StoreError(str(path), f"cannot read the standard headers: {error}") from error
        return headers

    def _lines_from(self, start: bytes, prefix: bytes) -> Iterator[KernelLine]:
        """Yield the lines from the first that is not below ``start``, as long as they begin with ``prefix``."""
        text, at, high = self._kernels, 0, len(self._kernels)
        while at < high:  # lines are sorted, and each ends
            begin = text.rfind(b"\n", at, (at + high) // 2) + 1 or at
            end = text.find(b"\n", begin) + 1 or len(text)
            at, high = (end, high) if text[begin : end - 1] < start else (at, begin)
        while at < len(text):
            end = text.find(b"\n", at)
            if end < 0:
                raise StoreError(str(self.folder / KERNELS_FILE), "cut short: the last line does not end")
            line = text[at:end]
            if not line.startswith(prefix):
                return
            try:
                yield KernelLine.parse(line)
            except ValueError as error:
                raise StoreError(str(self.folder / KERNELS_FILE), f"damaged line {line!r}") from error
            at = end + 1

    @cached_property
    def _kernels(self) -> mmap.mmap | bytes:
        path = self.folder / KERNELS_FILE
        try:
            with path.open("rb") as file:
                # On Windows, nobody can remove or replace a file that is mapped.
                if sys.platform == "win32" or os.fstat(file.fileno()).st_size < _LARGE:
                    return file.read()
                import mmap  # few stores have as many kernels

                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise StoreError(str(path), f"cannot read: {error}") from error


def _read_json(path: Path, parse: Callable[[Any], T]) -> T:
    try:
        text = path.read_bytes().decode()  # of bytes, json.loads would guess the encoding
        return parse(json.loads(text, parse_constant=_refuse_constant))
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(str(path), f"cannot read the index: {error}") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")  # RFC 8259, section 6; Python reads NaN and Infinity


def unpack_block(block: bytes, size: int) -> bytes:
    """Return the first ``size`` bytes of a block's images. Raises ValueError where the block does not hold them."""
    try:
        import lzma  # many stores have no packs, and not every Python has it
    except ImportError as error:
        raise ValueError(f"this Python cannot unpack it, because it has no lzma module ({error})") from error
    try:
        data = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_UNPACKING_MEMORY).decompress(block, size)
    except (lzma.LZMAError, EOFError, MemoryError) as error:
        raise ValueError(f"the pack is damaged ({error}); reinstall the package") from error
    if len(data) != size:
        raise ValueError("the pack is damaged (a block ends early); reinstall the package")
    return data


def unpack_whole(block: bytes, size: int) -> bytes | None:
    """Return a block's images; None unless it holds exactly ``size`` bytes of them, and nothing comes after it."""
    import lzma  # as above

    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_UNPACKING_MEMORY)
    try:
        data = unpacker.decompress(block, size + 1)
    except (lzma.LZMAError, EOFError, MemoryError):
        return None
    return data if len(data) == size and unpacker.eof and not unpacker.unused_data else None


def find_module(reader: StoreReader, family: str, values: Mapping[str, object]) -> str:
    """Return the module with these values of a family's axes; without values, the module so called.

    For a combination that is not listed, that is a key by which the reader knows the module from now on. Raises
    InputError with what there is, and StoreError.
    """
    for axis, value in values.items():
        if value is None or isinstance(value, bytes | type | list | tuple | dict | set | complex):
            raise InputError(f"{axis} takes C++ text or a number, not {value!r}")
    axes = spell_values(values)
    key = family_key(family, axes)
    lines = reader.find(key) if axes else []
    if lines or key in reader.unlisted:
        found_module = lines[0].module if lines else key
        _check_spaces(reader, family, axes, reader.module(found_module).axes)
        return found_module
    if not axes and reader.has_module(family):
        return family
    holders = reader.find(axes_key(family, axes)) if axes else []
    if not holders:
        raise InputError(_unknown(reader, family, axes))
    known = {line.module: reader.family(line.module) for line in holders}
    refusal = next(filter(None, (found.refusal(axes) for found, _ in known.values())), "")
    what = f"{reader.label} has no module {family!r} with {values_text(axes)}"
    if refusal:
        raise InputError(f"{what}: {refusal}")
    if len(known) > 1:
        entries = " and ".join(repr(found.entry) for found, _ in known.values())
        raise InputError(f"{what}, and both {entries} could have it; list it in the manifest")
    from hatch_cuda_kernels.store.unlisted import UnlistedModule  # most combinations are listed

    ((base, (found, details)),) = known.items()
    return reader.add(UnlistedModule(found, reader.module(base), found.spelled(axes), details.levels))


def _check_spaces(reader: StoreReader, family: str, axes: Mapping[str, str], known: Mapping[str, str]) -> None:
    """Raise InputError for a value that differs in spaces from that of the module, if a string of the source has it."""
    other = [axis for axis, value in axes.items() if value != known.get(axis, value)]
    for line in reader.find(axes_key(family, axes)) if other else ():
        for axis in reader.family(line.module)[0].quoted.intersection(other):
            message = f"{axis} is {known[axis]!r}, and not {axes[axis]!r}, and spaces count, because it is in a string"
            fix = "write the quotes into the values, and not around the placeholder"
            raise InputError(f"{reader.label} has a module {family!r} with {message}; to have both, {fix}")


def _unknown(reader: StoreReader, family: str, axes: Mapping[str, str]) -> str:
    """Return what is said of a family, or of axes, that no module has."""
    families = reader.families()
    if family not in families:
        names = [*families] if axes else [*families, *(index.module for index in reader.modules())]
        known = f"; there are {_some(names, ', ')}" if names else "; no module of it has axes in its name"
        return f"{reader.label} has no module {family!r}{suggest(family, names, known)}"
    values: dict[str, dict[str, None]] = {}
    for found, _ in (reader.family(module) for module in families[family]):
        for axis, listed in found.axes.items():
            values.setdefault(axis, {}).update(dict.fromkeys(listed))
    given = values_text(axes) if axes else "no axis"
    unknown, missing = [axis for axis in axes if axis not in values], [axis for axis in values if axis not in axes]
    wrong = f"{unknown[0]} is no axis of it; " if unknown else ""
    wrong += f"the value of {' and '.join(missing)} is missing; " if missing and axes else ""
    listed_axes = "; ".join(f"{axis} is {_some([*known], ' or ')}" for axis, known in values.items())
    return f"{reader.label} has no module {family!r} with {given}; {wrong}{listed_axes}"


def _some(names: list[str], joint: str) -> str:
    """Return names for a message: a matrix of macros may have made thousands."""
    more = [f"{len(names) - _MOST_LISTED} more"] if len(names) > _MOST_LISTED else []
    return joint.join([*names[:_MOST_LISTED], *more])
