"""Checks of a store's files and texts: all are there, as a build writes them, they agree, and there are no others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels import store
from hatch_cuda_kernels.arch import ptx_isa_of_driver, release_of, version_text
from hatch_cuda_kernels.compiler.toolchain import Toolchain
from hatch_cuda_kernels.device_library import DEVICE_RUNTIME
from hatch_cuda_kernels.errors import InputError, Problem, StoreError
from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.manifest import FRONT_ENDS
from hatch_cuda_kernels.names import build_order, expand, listed_module, placeholders
from hatch_cuda_kernels.options import canonical_options, options_from
from hatch_cuda_kernels.verify.subject import (
    MISSING,
    REBUILD,
    Outcome,
    StoredImage,
    Subject,
    common_problems,
    grouped,
    names_by_key,
)

if TYPE_CHECKING:
    from pathlib import Path


def check_index(subject: Subject) -> Outcome:
    """Check that every text of the store is what a build writes, that they agree, and that look-ups find every line."""
    problems = [*subject.damage, *_table_problems(subject)]
    for index in subject.modules:
        messages = (
            *_listing_problems(subject, index),
            *_text_problems(subject, index),
            *_index_problems(subject, index),
        )
        problems += [Problem(message, REBUILD, index.module) for message in messages]
    problems += _pattern_problems(subject)
    problems += _promise_problems(subject)
    return Outcome.of(len(subject.modules), "modules", problems)


def _known_modules(subject: Subject) -> set[str]:
    return {index.module for index in subject.modules} | {damage.where for damage in subject.damage}


def _table_problems(subject: Subject) -> Iterator[Problem]:
    known = _known_modules(subject)
    if not known:
        yield Problem(f"the store has no modules: no folder has {store.INDEX_FILE}", REBUILD)
    for module, count in Counter(line.module for line in subject.lines).items():
        if module not in known:
            yield Problem(
                f"{store.KERNELS_FILE} lists {count} names, but there is no {store.INDEX_FILE}", REBUILD, module
            )
    if subject.lines:
        yield from _other_lines(subject)


def _other_lines(subject: Subject) -> Iterator[Problem]:
    """Write ``kernels.tsv`` again from the kernels it lists, and yield the first line that differs."""
    modules = sorted({line.module for line in subject.lines})
    families = {
        index.module: (index.family, index.axes, subject.reader.details(index.module).family is not None)
        for index in subject.modules
    }
    listed = (
        store.ListedModule(
            module, subject.symbols(module), subject.symbols(module, variables=True), *families.get(module, ("", {}))
        )
        for module in modules
    )
    written = store.kernels_text(listed).encode().splitlines(keepends=True)
    there = (subject.reader.folder / store.KERNELS_FILE).read_bytes().splitlines(keepends=True)
    if there == written:
        return
    pairs = zip([*there, b""], [*written, b""], strict=False)
    number, line = next((number, line) for number, (line, other) in enumerate(pairs, 1) if line != other)
    found = f"{line.decode(errors='replace').rstrip()!r}" if line else "the end of the file"
    message = f"line {number} of {store.KERNELS_FILE} is {found}, which is not what a build writes there"
    yield Problem(message, REBUILD)


def _listing_problems(subject: Subject, index: store.ModuleIndex) -> Iterator[str]:
    lines = {line.key: line for line in subject.module_lines[index.module]}
    kernels = names_by_key(index.names)
    variables = {f"&{key}": name for key, name in names_by_key(index.globals).items()}
    for key, name in (kernels | variables).items():
        if key not in lines:
            yield f"{store.KERNELS_FILE} does not list {name if key in kernels else key!r}, but the index does"
        elif lines[key].name != name:
            yield f"{store.KERNELS_FILE} lists {lines[key].name!r}, which the index spells {name!r}"
    for key, line in lines.items():
        if key.startswith("&") and key not in variables:
            yield f"{store.KERNELS_FILE} lists the variable {line.name!r}, but the index does not"
    if all(key.startswith("&") for key in lines):
        yield f"{store.KERNELS_FILE} lists no kernel"
    if not index.images:
        yield "the index lists no image"
    for listed, count in Counter(f"{image.arch} {image.kind}" for image in index.images).items():
        if count > 1:
            yield f"the index lists the {listed} {count} times"


def _text_problems(subject: Subject, index: store.ModuleIndex) -> Iterator[str]:
    """Write the index and its details again, and yield what differs: readers ignore what they do not need."""
    summed = index._replace(images=tuple(image.with_summary() for image in index.images))
    resources = {image.file: image.resources for image in index.images if image.kind == "cubin"}
    lowered = {image.file: image.lowered for image in index.images if image.renames}
    read = subject.reader.details(index.module)
    details = read._replace(names=index.names, resources=resources, lowered=lowered)
    for file, data in ((store.INDEX_FILE, summed.to_json()), (store.DETAILS_FILE, details.to_json())):
        there = (subject.reader.folder / index.module / file).read_bytes()
        if there == store.json_text(data).encode():
            continue
        read = json.loads(there)
        names = sorted(name for name in read.keys() | data.keys() if read.get(name, ...) != data.get(name, ...))
        what = ", ".join(names) or "order, spaces or keys that are there twice"
        yield f"{file}: differs from what a build writes: {what}"


def _file_problems(index: store.ModuleIndex) -> Iterator[str]:
    for source in index.sources:
        if source not in index.files:
            yield f"the source {source} is not among the shipped files"
    for name, digest in index.libraries:
        if name != DEVICE_RUNTIME and index.files.get(name) != digest:
            yield f"the library {name} is not among the shipped files"
    linked = [*index.sources, *(name for name, _ in index.libraries)]
    yield from (f"{name} is listed twice" for name, count in Counter(linked).items() if count > 1)
    if (DEVICE_RUNTIME in linked) != bool(index.toolchain.get(DEVICE_RUNTIME)):
        yield f"the index names {DEVICE_RUNTIME} under libraries or in its toolchain, and not in both"


def _index_problems(subject: Subject, index: store.ModuleIndex) -> Iterator[str]:
    yield from _list_problems(index)
    yield from _file_problems(index)
    first = next((one for one in subject.modules if one.module == listed_module(index.module)), index)
    apart = {"module", "names", "images", "patterns"}
    differ = [name for name in index._fields if name not in apart and getattr(index, name) != getattr(first, name)]
    if differ:
        yield f"it is a chunk of {first.module}, and differs in {', '.join(differ)}"
    if canonical_options(options_from(index.options)) != index.options:
        yield "the index lists options that have their default values"
    if index.front_end not in FRONT_ENDS:
        yield f"the index has an unknown front_end, {index.front_end!r}"
    by_nvjitlink = index.is_linked or index.front_end == "lto" or index.options.get("lto")
    if by_nvjitlink and not index.toolchain.get("nvjitlink"):
        yield "the index does not say which nvJitLink finished the images"
    if index.toolchain.get("headers") and index.outside is None:
        yield "the toolchain has toolkit headers, which the source does not use"
    if index.editable is not None and (subject.wheel is not None or subject.record is not None):
        yield "the index is of an editable install, and would take the source from outside the package"
    elif index.editable != subject.modules[0].editable:
        yield "the modules are not all of the same editable install"
    if index.schema != subject.modules[0].schema:
        yield "the modules are not all of the same schema"
    archs = [image.arch for image in index.images]
    if archs != sorted(archs):
        yield "the images are not in the order of their architectures"
    yield from (message for image in index.images for message in _image_problems(index, image))


def _list_problems(index: store.ModuleIndex) -> Iterator[str]:
    options = options_from(index.options)
    lists = {
        "names": index.names,
        "globals": index.globals,
        "headers": index.headers,
        "include folders": options.include,
        "macros": [name for name, _ in options.define],
    }
    for what, names in lists.items():
        if len({*names}) < len(names):
            yield f"the index lists one of its {what} twice"
    if any(pattern.keys() != {"pattern", "matrix"} for pattern in index.patterns):
        yield "the index has a pattern with unknown fields"
    if not all(map(_is_rule, index.launch)):
        yield "the index has a launch rule that no build writes"
    tools: dict[str, Any] = {
        name: index.toolchain.get(name, "") for name in Toolchain._fields if name != "include_dirs"
    }
    if Toolchain(**tools).to_json() != index.toolchain:
        yield "the index has a toolchain that no build writes"


def _is_rule(data: dict[str, Any]) -> bool:
    """Return whether a launch rule can be read. What it says is the author's choice."""
    rule = store.LaunchRule.from_json(data)
    try:
        rule.python_texts(rule.names, dict.fromkeys(placeholders(rule.kernel), "1"))
    except ValueError:
        return False
    return rule.to_json() == data


def _image_problems(index: store.ModuleIndex, image: store.ImageRecord) -> Iterator[str]:
    name = f"{index.module}.{image.arch}.{image.kind}"
    if image.file != name:
        yield f"a build names {image.file} {name}"
    tools = (index.toolchain[tool] for tool in ("nvrtc", "nvjitlink") if index.toolchain.get(tool))
    known = {ptx_isa_of_driver(release_of(tool)) for tool in tools}
    if image.kind == "cubin" and None not in known and image.ptx_isa not in known:
        yield f"{image.file}: PTX ISA {version_text(image.ptx_isa)} is not that of the recorded toolchain"


def _pattern_problems(subject: Subject) -> Iterator[Problem]:
    """Check that the instances of each pattern stand together among its module's names, in the order of patterns."""
    ordered = sorted(subject.modules, key=lambda index: build_order(index.module))
    names = grouped((listed_module(index.module), name) for index in ordered for name in index.names)
    for index in subject.modules:
        rest = names[listed_module(index.module)]
        for pattern in index.patterns:
            block = _block(rest, pattern["pattern"], pattern["matrix"])
            rest = rest[block.stop :]
            if not block:
                message = f"the pattern {pattern['pattern']!r} does not give the names in {store.DETAILS_FILE}"
                yield Problem(message, REBUILD, index.module)


def _block(names: list[str], pattern: str, matrix: dict[str, list[str]]) -> range:
    """Return where the instances of a pattern are among names; an empty range if they are not all there."""
    count = prod(map(len, matrix.values()))
    if matrix.keys() != {*placeholders(pattern)} or not 0 < count <= len(names):
        return range(0)
    given = {*expand(pattern, matrix)}
    first = next((at for at, name in enumerate(names) if name in given), 0)
    block = range(first, first + count)
    return block if len(given) == count and {names[at] for at in block if at < len(names)} == given else range(0)


def _promise_problems(subject: Subject) -> Iterator[Problem]:
    path, text = subject.reader.folder / store.PROMISES_FILE, subject.promises.text()
    damaged = any(damage.message.startswith(store.PROMISES_FILE) for damage in subject.damage)
    if path.is_file() and not damaged and path.read_bytes() != text.encode():
        yield Problem(
            f"{store.PROMISES_FILE} differs from what a build writes: order, spaces or keys there twice", REBUILD
        )
    for name in sorted(subject.promises.max_spill_bytes.keys() - _known_modules(subject)):
        yield Problem(f"{store.PROMISES_FILE} limits the spills of {name!r}, which is not a module", REBUILD)


def _place_problems(subject: Subject) -> Iterator[Problem]:
    """Yield a problem for each image that is not where a build puts it, and for anything else in a pack.

    Yields nothing if an image or an index cannot be read: other checks report that.
    """
    if subject.unread or any(image.data is None for image in subject.images):
        return
    places: dict[str, store.Stored] = {}
    for module in sorted((index.module for index in subject.modules), key=build_order):
        new: dict[str, StoredImage] = {}  # the images that no earlier module has, by digest
        for image in subject.module_images[module]:
            if image.record.sha256 not in places:
                new.setdefault(image.record.sha256, image)
        pack = f"{module}/{store.PACK_FILE}"
        if any(image.record.stored and image.record.stored.file == pack for image in new.values()):
            yield from _pack_problems(subject, pack, [*new.values()], places)
        else:
            places |= {sha256: store.Stored(f"{module}/{image.record.file}") for sha256, image in new.items()}
    for image in subject.images:
        own = store.Stored(f"{image.index.module}/{image.record.file}")
        place = places[image.record.sha256]
        if image.record.stored != (None if place == own else place):
            yield image.problem(f"the index lists another place for it than a build, which has it in {place.file}")


def _pack_problems(
    subject: Subject, pack: str, images: Sequence[StoredImage], places: dict[str, store.Stored]
) -> Iterator[Problem]:
    """Note the place of each image of a pack, and yield what else is in the pack."""
    data, at = (subject.reader.folder / pack).read_bytes(), 0
    for block in store.blocks(store.NewImage(image.record, image.data or b"") for image in images):
        stored = block[0].record.stored
        size, skip = stored.size if stored else 0, 0
        for record, image in block:
            places[record.sha256] = store.Stored(pack, at, size, skip)
            skip += len(image)
        if store.unpack_whole(data[at : at + size], skip) is None:
            yield Problem(f"the block at {at} of {pack} holds other bytes than its images", REBUILD)
        at += size
    if at != len(data):
        yield Problem(f"{pack} has {len(data) - at} bytes that belong to no image", REBUILD)


_FILES: Final = (store.KERNELS_FILE, store.PROMISES_FILE)


def check_files(subject: Subject) -> Outcome:
    """Check that every file the indexes need is there, and no other file is."""
    folder = subject.reader.folder
    there = {path for path in folder.rglob("*") if not path.is_dir()}
    needed = {folder / name for name in (store.KERNELS_FILE, store.PROMISES_FILE, store.DIGESTS_FILE)}
    if any(index.editable is not None for index in subject.modules):
        needed.add(folder / ".gitignore")
    problems = []
    for image in subject.images:
        if image.damage == MISSING:
            stored = image.record.stored
            file = f"the file that holds it, {stored.file}," if stored else "the file"
            problems.append(image.problem(f"{file} is missing"))
    for index in subject.modules:
        needed |= {folder / index.module / name for name in (store.INDEX_FILE, store.DETAILS_FILE)}
        needed |= {subject.reader.image_path(index.module, record) for record in index.images}
        needed |= _sources(subject, index).keys()
    missing = (
        (f"the shipped file {name} is missing", index.module)
        for index in subject.modules
        for path, name in sorted(_sources(subject, index).items())
        if path not in there
    )
    problems += common_problems(missing)
    problems += _stray_files(subject, there - needed)
    problems += _place_problems(subject)
    return Outcome.of(len(there), "files", problems)


def _sources(subject: Subject, index: store.ModuleIndex) -> dict[Path, str]:
    """Return the files of the store that a module's sources need, with their names."""
    root, folder = subject.reader.source_root(index.module), subject.reader.folder
    standard = {folder / store.STANDARD_FILE: store.STANDARD_FILE} if index.standard else {}
    return {root / name: name for name in _shipped(subject, index)} | standard


def _shipped(subject: Subject, index: store.ModuleIndex) -> dict[str, str]:
    """Return the digests of a module's sources, and of what other combinations of its axes may read, by path."""
    family = subject.reader.details(index.module).family
    return index.files | (family.files if family else {})


def _stray_files(subject: Subject, paths: set[Path]) -> Iterator[Problem]:
    """Yield a problem for each file that no index lists. An unreadable index may list any file of its module."""
    unread = subject.unread | ({store.SOURCE_FOLDER} if subject.unread else set())
    modules = {index.module for index in subject.modules}
    for path in sorted(paths):
        parts = path.relative_to(subject.reader.folder).parts
        module = parts[0] if parts[0] in modules else ""
        if len(parts) == 1 or parts[0] not in unread:
            yield Problem(f"no index lists the file {'/'.join(parts)}", "remove it, or build the wheel again", module)


def check_digests(subject: Subject) -> Outcome:
    """Check that every image has the size and the sha256 that its index records."""
    problems = []
    for image in subject.images:
        if image.damage and image.damage != MISSING:
            problems.append(image.problem(image.damage.partition(";")[0]))
        elif image.data is not None and len(image.data) != image.record.bytes:
            message = f"the image has {len(image.data)} bytes, but the index says {image.record.bytes}"
            problems.append(image.problem(message))
    problems += [Problem(message, REBUILD) for message in _digest_problems(subject.reader.folder)]
    return Outcome.of(len(subject.images), "images", problems)


def _digest_problems(folder: Path) -> Iterator[str]:
    path = folder / store.DIGESTS_FILE
    there, written = path.read_bytes() if path.is_file() else None, store.digests_text(folder)
    if there is None:
        yield f"{store.DIGESTS_FILE} is missing"
    elif there != written.encode():
        recorded, found = _digests_in(there), _digests_in(written)
        for name in sorted(recorded.keys() | found.keys()):
            what = name if name in _FILES else f"{name}/{store.INDEX_FILE} or {name}/{store.DETAILS_FILE}"
            if name not in found:
                yield f"{store.DIGESTS_FILE} lists {name}, which is missing"
            elif recorded.get(name) != found[name]:
                yield f"{what} is not as the build wrote it: {store.DIGESTS_FILE} has another digest"
        if recorded == found:
            yield f"{store.DIGESTS_FILE} differs from what a build writes"


def _digests_in(text: bytes | str) -> dict[str, str]:
    """Return the digests by file or module; none if the text is damaged."""
    try:
        return store.read_digests(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def check_sources(subject: Subject) -> Outcome:
    """Check that every module's shipped source and headers are those its images were compiled from."""
    found = ((message, index.module) for index in subject.modules for message in _source_problems(subject, index))
    names = ((index.module, name) for index in subject.modules for name in _shipped(subject, index))
    count = len({subject.reader.source_root(module) / name for module, name in names})
    return Outcome.of(count, "shipped files", [*common_problems(found)])


def _source_problems(subject: Subject, index: store.ModuleIndex) -> Iterator[str]:
    root = subject.reader.source_root(index.module)
    shipped = _shipped(subject, index)
    there = {name: root / name for name in shipped if (root / name).is_file()}
    edited = [name for name, path in there.items() if sha256(path.read_bytes()).hexdigest() != shipped[name]]
    standard = subject.reader.folder / store.STANDARD_FILE
    lost = len(there) < len(shipped) or (index.standard != "" and not standard.is_file())
    if index.standard and standard.is_file() and sha256(standard.read_bytes()).hexdigest() != index.standard:
        edited.append(store.STANDARD_FILE)
    yield from (f"{name} is not what the images were compiled from" for name in edited)
    if edited or lost:  # the files check reports missing files
        return
    try:
        recipe = store.recipe_of(index, index.names)
        sources = store.read_shipped(subject.reader, index, recipe)
        units = recipe.units(sources)
    except (InputError, StoreError) as error:
        yield f"the shipped source cannot be read: {str(error).replace(f' in {root}', '')}"
        return
    found = {
        "files": sources.files,
        "outside": units[0].program.toolkit,
        "units": tuple(
            store.UnitRecord(unit.source, unit.program.sha256, unit.asked, source.cut.digest)
            for unit, source in zip(units, sources.units, strict=True)
        ),
    }
    wrong = [field for field, value in found.items() if value != getattr(index, field)]
    if wrong:
        yield f"the index does not match the shipped source: {', '.join(wrong)}"
