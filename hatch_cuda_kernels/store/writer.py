"""Write a store: packed, staged beside its place, put there whole, byte for byte the same from the same inputs.

Unfinished files are in a folder with a lock. A process that is killed leaves its folder, and the next process removes
it.

A pack is a file of .xz streams, one per block. The images of neighbouring architectures are much alike, so a block is
far smaller than its images are apart; ``docs/explanation/packing.md`` has the measurements behind the numbers here. A
block of the store that a build replaces is not compressed again if its images did not change.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from glob import escape
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hatch_cuda_kernels.cache import held, open_unchecked, remove
from hatch_cuda_kernels.errors import BuildError, InputError
from hatch_cuda_kernels.integrity import check_shape, sha256
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.store.index import (
    DETAILS_FILE,
    INDEX_FILE,
    INDEX_SCHEMA,
    KERNELS_FILE,
    PLACES,
    PROMISES_FILE,
    STANDARD_FILE,
    ImageRecord,
    Stored,
    module_names,
)
from hatch_cuda_kernels.store.promises import Promises, check_store
from hatch_cuda_kernels.store.reader import unpack_whole
from hatch_cuda_kernels.store.texts import DIGESTS_FILE, ListedModule, digests_of, json_text, kernels_text

if TYPE_CHECKING:
    from hatch_cuda_kernels.store.module import BuiltModule

    #: Packed blocks, each by the digests of its images in their order.
    Blocks: TypeAlias = Mapping[tuple[str, ...], bytes]

PACK_FILE: Final = "images.xz"
#: Most bytes of images in a block; a larger image is alone in its block. So what a reader unpacks is bounded.
BLOCK_BYTES: Final = 1 << 20
#: ``packing: auto`` packs a module whose images have this many bytes; a smaller one would save less than some 10 KB.
_WORTH_PACKING: Final = 32 << 10


def pack_block(data: bytes) -> bytes:
    """Return a block. Raises ModuleNotFoundError where this Python has no lzma."""
    import lzma  # only for packed stores, and not every Python has it

    # Preset 6 with a cheaper search (three quarters of the time, 2 % larger), and contexts for machine code: its
    # instructions have 8 or 16 bytes.
    search: dict[str, Any] = {"mf": lzma.MF_HC4, "nice_len": 64, "depth": 16, "pb": 3, "lc": 1}
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": BLOCK_BYTES, **search}]
    return lzma.compress(data, lzma.FORMAT_XZ, check=lzma.CHECK_NONE, filters=filters)  # images have their digest


class LaidOut(NamedTuple):
    """What a module's folder holds of its images, and the index's records of them."""

    images: tuple[ImageRecord, ...]
    files: dict[str, bytes]


class NewImage(NamedTuple):
    """An image whose bytes no module before has, in the order of the build."""

    record: ImageRecord
    data: bytes


def lay_out(modules: Sequence[BuiltModule], before: Blocks, *, may_pack: bool = True) -> list[LaidOut]:
    """Return the layout of each module; an image equal to an earlier one is not stored again.

    ``before`` has packed blocks by the digests of their images. Raises BuildError if packing is needed without lzma.
    """
    new: list[list[NewImage]] = []
    taken: set[str] = set()
    for built in modules:
        new.append([])
        for record, entry in zip(built.images, built.entries, strict=True):
            if record.sha256 not in taken:
                taken.add(record.sha256)
                new[-1].append(NewImage(record, entry.image))
    with ThreadPoolExecutor(os.cpu_count()) as threads:  # lzma runs without the GIL
        laid = list(threads.map(lambda built, images: _store(built, images, before, may_pack=may_pack), modules, new))
    places = {digest: place for _, stored in laid for digest, place in stored.items()}

    def placed(record: ImageRecord, built: BuiltModule) -> ImageRecord:
        place = places[record.sha256]
        return record if place == Stored(f"{built.name}/{record.file}") else record._replace(stored=place)

    return [
        LaidOut(tuple(placed(record, built) for record in built.images), files)
        for built, (files, _) in zip(modules, laid, strict=True)
    ]


def _store(
    built: BuiltModule, images: list[NewImage], before: Blocks, *, may_pack: bool
) -> tuple[dict[str, bytes], dict[str, Stored]]:
    """Return a module's files, and where each of the images is in the store, by digest."""
    worth = len(images) > 1 and sum(len(image.data) for image in images) >= _WORTH_PACKING
    if not (may_pack and images and (built.packing == "solid" or (built.packing == "auto" and worth))):
        files = {record.file: data for record, data in images}
        return files, {record.sha256: Stored(f"{built.name}/{record.file}") for record, _ in images}
    pack, places = b"", {}
    for block in blocks(images):
        packed = before.get(tuple(image.record.sha256 for image in block))
        if packed is None:
            try:
                packed = pack_block(b"".join(image.data for image in block))
            except ImportError as error:
                message = f"this Python cannot pack images, because it has no lzma module ({error}); set packing: none"
                raise BuildError([f"{built.where}: {message}"]) from error
        skips = accumulate((len(image.data) for image in block), initial=0)
        for image, skip in zip(block, skips, strict=False):
            places[image.record.sha256] = Stored(f"{built.name}/{PACK_FILE}", len(pack), len(packed), skip)
        pack += packed
    return {PACK_FILE: pack}, places


def blocks(images: Iterable[NewImage]) -> Iterator[list[NewImage]]:
    """Yield the images of each block of a pack, in the order in which they stand there."""
    block: list[NewImage] = []
    size = 0
    # CUBINs ascending by architecture, then LTO-IR or PTX: images that are alike pack well together.
    for image in sorted(images, key=lambda image: image.record.kind):
        if block and size + len(image.data) > BLOCK_BYTES:
            yield block
            block, size = [], 0
        block.append(image)
        size += len(image.data)
    if block:
        yield block


def read_blocks(store: Path) -> Blocks:
    """Return the blocks of a store by their images' digests; none if it is damaged, or other code packed it."""
    packed, sizes = {}, {}
    try:
        for place, images in _blocks(store):
            with (store / place.file).open("rb") as pack:
                pack.seek(place.at)
                block = pack.read(place.size)
            digests, lengths = zip(*images, strict=True)
            sizes[block] = sum(lengths)
            data = unpack_whole(block, sizes[block]) or b""
            parts = (data[end - size : end] for size, end in zip(lengths, accumulate(lengths), strict=True))
            if tuple(sha256(part).hexdigest() for part in parts) == digests:
                packed[digests] = block
        # Another liblzma, or other settings, may pack the same images to other bytes than a build into an empty folder.
        smallest = min(sizes, key=lambda block: sizes[block], default=b"")
        unpacked = unpack_whole(smallest, sizes[smallest]) if sizes else None
        return packed if unpacked is not None and pack_block(unpacked) == smallest else {}
    except (OSError, ValueError, ImportError, RecursionError):
        return {}


def _blocks(store: Path) -> Iterator[tuple[Stored, list[tuple[str, int]]]]:
    """Yield where each block is, with the digests and sizes of its images."""
    blocks: defaultdict[Stored, dict[int, tuple[str, int]]] = defaultdict(dict)
    for name in module_names(store):
        index = json.loads((store / name / INDEX_FILE).read_bytes())
        check_shape(index, PLACES)
        for image in index["images"]:
            stored = image.get("stored")
            if stored is not None and stored["size"]:
                place = Stored(stored["file"], stored["at"], stored["size"])
                blocks[place][stored["skip"]] = image["sha256"], image["bytes"]
    for place, images in blocks.items():
        yield place, [images[skip] for skip in sorted(images)]


_LOCK: Final = "lock"
_LOCK_SECONDS: Final = 2.0
#: No other temporary folder's name begins so: those of workers and of ptxas have no lock, and are empty at first.
_TEMPORARY: Final = "hatch-cuda-kernels.build-"


def check_replaceable(folder: Path) -> None:
    """Raise InputError unless a folder is a store, empty, or not there: nobody's own files may be replaced."""
    try:
        free = not folder.exists() or (folder / KERNELS_FILE).is_file() or not any(folder.iterdir())
    except OSError as error:  # not a folder, or a closed one
        raise InputError(f"{folder} cannot hold a kernel store: {error.strerror}") from error
    if not free:
        raise InputError(
            f"{folder} is not a kernel store: it has files, but no {KERNELS_FILE}, and they would be lost; move them "
            "or choose another folder"
        )


def prepare_place(out: Path) -> None:
    """Remove what killed builds left beside ``out``; put back a store that one moved aside. Raises InputError."""

    def restore(folder: Path) -> None:
        if (folder / "old").is_dir() and not out.exists():  # it was killed between the two renames
            (folder / "old").rename(out)

    with contextlib.suppress(OSError):  # then the build itself will say what is wrong there
        sweep(out.parent, f".{out.name}.", rescue=restore)
    check_replaceable(out)


def write_store(
    out: Path,
    modules: Sequence[BuiltModule],
    *,
    read: Callable[[str], bytes],
    editable: dict[str, str] | None,
    promises: Promises,
    before: Blocks | None = None,
    schema: int = INDEX_SCHEMA,
) -> None:
    """Replace the folder ``out`` with a store of these modules, or leave it as it was, also if it is that store.

    ``read`` returns a file that was compiled. ``before`` are the packed blocks of the store that is there, if they were
    read already. ``schema`` is for comparing with an older store. Raises InputError for a folder that is not a store,
    BuildError when a source has changed meanwhile, the store cannot be written, or is larger than the wheel may be. An
    editable store is never packed.
    """
    may_pack = editable is None
    if before is None:
        before = read_blocks(out) if may_pack else {}
    laid_out = lay_out(modules, before, may_pack=may_pack)
    try:
        files = render_store(modules, laid_out, read=read, editable=editable, promises=promises, schema=schema)
        if clashes := [*name_clashes(files)]:
            raise BuildError([f"{clash}; rename the source" for clash in clashes])
        if may_pack and promises.max_wheel_size is not None:
            check_store(files, promises.max_wheel_size)
        check_replaceable(out)
        if not _holds(out, files):
            _write(files, out)
    except OSError as error:
        raise BuildError([f"cannot write the store {out}: {error}"]) from error


def _holds(out: Path, files: Mapping[str, bytes]) -> bool:
    """Return whether a folder has these files and nothing else: no other file, no link, no empty folder."""
    found: dict[str, Path] = {}
    try:
        for place, folders, names in os.walk(out):
            inner = [Path(place, name) for name in (*folders, *names)]
            if not inner or any(path.is_symlink() for path in inner):
                return False
            found |= {path.relative_to(out).as_posix(): path for path in inner[len(folders) :]}
        return found.keys() == files.keys() and all(found[name].read_bytes() == data for name, data in files.items())
    except OSError:
        return False


def _write(files: Mapping[str, bytes], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with workspace(out.parent, f".{out.name}.") as folder:
        staged = folder / "new"
        staged.mkdir()
        for place in sorted({os.path.dirname(name) for name in files}):  # noqa: PTH120 - Path takes several times as long
            (staged / place).mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (staged / name).write_bytes(data)
        if not out.exists():
            staged.rename(out)
            return
        aside = out.rename(folder / "old")  # a folder cannot be renamed over another
        try:
            staged.rename(out)
        except BaseException:
            aside.rename(out)
            raise


def render_store(
    modules: Sequence[BuiltModule],
    laid_out: Sequence[LaidOut],
    *,
    read: Callable[[str], bytes],
    editable: dict[str, str] | None,
    promises: Promises,
    schema: int,
) -> dict[str, bytes]:
    """Return a store's files by path. Raises BuildError if a file of the project changed meanwhile, and OSError."""

    @cache
    def compiled(path: str, digest: str) -> bytes:
        data = read(path)
        if sha256(data).hexdigest() != digest:
            raise BuildError([f"{path} changed while it was built; build again"])
        return data

    listed = (
        ListedModule(built.name, built.kernels, built.globals, built.family, built.axes, built.others is not None)
        for built in modules
    )
    headers = {name: built.sources.texts[name] for built in modules for name in built.sources.standard}
    texts = {KERNELS_FILE: kernels_text(listed), PROMISES_FILE: promises.text()}
    texts |= {STANDARD_FILE: json_text(headers)} if headers else {}
    files = {name: text.encode() for name, text in texts.items() if text}
    standard = sha256(files[STANDARD_FILE]).hexdigest() if STANDARD_FILE in files else ""
    for built, laid in zip(modules, laid_out, strict=True):
        files |= {f"{built.name}/{name}": data for name, data in laid.files.items()}
        index = built.index(laid.images, standard=standard, editable=editable)._replace(schema=schema)
        shipped = index.files | (built.others.files if built.others else {})
        files |= {f"{index.source_folder}/{path}": compiled(path, digest) for path, digest in shipped.items()}
        files[f"{built.name}/{INDEX_FILE}"] = json_text(index.to_json()).encode()
        files[f"{built.name}/{DETAILS_FILE}"] = json_text(built.details.to_json()).encode()
    files[DIGESTS_FILE] = digests_of([built.name for built in modules], files.get).encode()
    if editable is not None:
        files[".gitignore"] = b"*\n"
    return files


#: Devices, whatever follows their dot; what Windows drops or forbids; and short names, such as ``KERNEL~1.TSV``.
#: Source: Win32's "Naming Files, Paths, and Namespaces".
_NOT_ON_WINDOWS: Final = (
    r"(?i)^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\xb9\xb2\xb3]) *(\.|$)"
    r"|[. ]$"
    r'|[<>:"|?*\\\x00-\x1f]'
    r"|^[^.]{1,6}~[0-9]+(\.[^.]{0,3})?$"
)


def name_clashes(names: Collection[str]) -> Iterator[str]:
    """Yield which paths are one path on some systems, are both file and folder, or cannot be on Windows."""
    yield from dict.fromkeys(_ambiguous_paths(names))
    for part in dict.fromkeys(part for name in names for part in name.removesuffix("/").split("/")):
        if re.search(_NOT_ON_WINDOWS, part):
            yield f"{part!r} cannot be a file on Windows, or names another file there"


def _ambiguous_paths(names: Iterable[str]) -> Iterator[str]:
    spelled: dict[str, tuple[str, bool]] = {}
    for name in names:
        path = key = ""
        parts = name.removesuffix("/").split("/")
        for number, part in enumerate(parts, 1):
            path, key = f"{path}/{part}".lstrip("/"), f"{key}/{_fold(part)}"
            is_folder = number < len(parts) or name.endswith("/")
            first, was_folder = spelled.setdefault(key, (path, is_folder))
            if first != path:
                yield f"{first} and {path} are the same {'folder' if is_folder else 'file'} on some systems"
                break
            if was_folder != is_folder:
                yield f"{path} is a file and a folder"


@cache
def _fold(part: str) -> str:
    """Return one spelling for all names that some system takes for the same.

    macOS folds case, composes letters or takes them apart, and skips invisible ones; Windows folds case, and drops dots
    and spaces at the end.
    """
    if part.isascii():
        return part.lower().rstrip(". ")
    visible = "".join(letter for letter in part if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", visible).casefold()).rstrip(". ")


@contextmanager
def workspace(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield a new folder in ``parent``, which is removed at the end, and remove those that dead processes left.

    A living process holds a lock in its folder; the system releases it however the process ends.
    """
    sweep(parent, prefix)
    with ExitStack() as stack:
        while True:
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
            stack.callback(_remove, folder)
            with suppress(FileNotFoundError), open_unchecked(folder) as opened:
                stack.enter_context(held(opened, _LOCK, _LOCK_SECONDS))
            if folder.is_dir():  # else another process took it for a dead one's, before it was locked
                break
        yield folder


def temporary_workspace() -> AbstractContextManager[Path]:
    """Return such a folder among the system's temporary ones."""
    return workspace(Path(tempfile.gettempdir()), _TEMPORARY)


def sweep(parent: Path, prefix: str, *, rescue: Callable[[Path], None] = lambda _: None) -> None:
    """Remove the folders of that prefix that dead processes left, each after it was given to ``rescue``."""
    for folder in parent.glob(f"{escape(prefix)}*"):
        try:
            owner = folder.lstat().st_uid
        except OSError:
            continue
        # Others put files and folders into a shared temporary folder.
        if not folder.is_dir() or folder.is_symlink() or (hasattr(os, "getuid") and owner != os.getuid()):
            continue
        if not (folder / _LOCK).is_file():
            with suppress(OSError):  # with anything in it, it is not ours; empty, its process was killed at once
                folder.rmdir()
            continue
        try:
            opened = open_unchecked(folder)
        except OSError:  # removed meanwhile
            continue
        with opened, held(opened, _LOCK, 0.0) as dead:
            if dead:
                rescue(folder)
                _remove(folder)
        if dead:  # Windows keeps the lock's file until it is released
            _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a folder, its lock last, so that the next process removes what is left if this one is killed meanwhile."""
    with suppress(OSError), open_unchecked(folder) as opened:
        for name in opened.names():
            if name != _LOCK:
                remove(opened, name)
    shutil.rmtree(folder, ignore_errors=True)
