"""The malformed stores: each a small well-formed one with one thing wrong, and what a loader answers."""

from __future__ import annotations

import json

from stores import Module, block, json_bytes, source_of, store

IMAGES = ("sm_90 cubin", "compute_80 ptx")
#: In place of a value: the member is left out.
LEFT_OUT = object()
BLOCK = block(b"sm_90 cubin of scale: scale\n")


def scale(**index):
    """Return the module that is damaged."""
    return Module("scale", IMAGES, **index)


def without_left_out(data):
    """Return an object without the members that are left out."""
    return {name: value for name, value in data.items() if value is not LEFT_OUT}


def with_image(**facts):
    """Return the store's files with other facts about the CUBIN."""
    module = scale()
    record = module.record("sm_90 cubin") | facts
    module.record = lambda _: without_left_out(record)
    module.images = {"sm_90 cubin": module.images["sm_90 cubin"]}
    return store(module)


def with_index(**index):
    """Return the store's files with other members of the index."""
    files = store(scale())
    data = json.loads(files["scale/index.json"]) | index
    files["scale/index.json"] = json_bytes(without_left_out(data))
    return files


def with_listing(line):
    """Return the store's files with this for kernels.tsv."""
    return store(scale()) | {"kernels.tsv": line}


def stored(file, at=0, size=0, skip=0):
    """Return the store's files with the CUBIN elsewhere."""
    return with_image(stored={"file": file, "at": at, "size": size, "skip": skip})


def packed(pack, **stored):
    """Return the store's files with the CUBIN in a pack; a sound one would be BLOCK."""
    module = scale()
    module.places = {"sm_90 cubin": {"file": "scale/images.xz", "at": 0, "size": len(BLOCK), "skip": 0} | stored}
    return store(module, files={"scale/images.xz": pack})


def without(name):
    """Return the store's files without one."""
    return {path: data for path, data in store(scale()).items() if path != name}


def wide_dictionary():
    """Return the block with a header that asks for a dictionary of 4 GiB, and a check sum that fits it."""
    from zlib import crc32

    header = bytes((*BLOCK[12:16], 40, *BLOCK[17:20]))
    return BLOCK[:12] + header + crc32(header).to_bytes(4, "little") + BLOCK[24:]


LINE = b"scale\tscale\tscale\tptr\tscale\tfloat*\ty\n"
LISTINGS = {
    "no-listing": without("kernels.tsv"),
    "listing-cut-short": with_listing(LINE[:-1]),
    "line-of-four-fields": with_listing(b"scale\tscale\tscale\tptr\n"),
    "line-of-eight-fields": with_listing(LINE[:-1] + b"\tmore\n"),
    "line-not-utf-8": with_listing(LINE.replace(b"float*", b"\xff")),
    "line-of-module-outside": with_listing(LINE.replace(b"\tscale\tscale\t", b"\t../scale\tscale\t")),
    "line-of-module-backslash": with_listing(LINE.replace(b"\tscale\tscale\t", b"\t..\\scale\tscale\t")),
    "line-of-module-dot": with_listing(LINE.replace(b"\tscale\tscale\t", b"\t.\tscale\t")),
}
INDEX = store(scale())["scale/index.json"]
INDEXES = {
    "no-index": without("scale/index.json"),
    "index-cut-short": store(scale()) | {"scale/index.json": INDEX[:-20]},
    "index-with-byte-order-mark": store(scale()) | {"scale/index.json": b"\xef\xbb\xbf" + INDEX},
    "index-in-utf-16": store(scale()) | {"scale/index.json": INDEX.decode().encode("utf-16")},
    "index-with-a-number-that-json-lacks": store(scale()) | {"scale/index.json": b'{"more": NaN, ' + INDEX[1:]},
    "index-no-object": store(scale()) | {"scale/index.json": b"[]\n"},
    "schema-missing": with_index(schema=LEFT_OUT),
    "schema-3": with_index(schema=3),
    "schema-as-text": with_index(schema="2"),
    "module-of-another-name": with_index(module="other"),
    "images-missing": with_index(images=LEFT_OUT),
    "images-no-list": with_index(images={}),
    "kind-unknown": with_image(kind="fatbin"),
    "arch-unknown": with_image(arch="sm_9"),
    "arch-with-unknown-suffix": with_image(arch="sm_90x"),
    "isa-no-version": with_image(ptx_isa="nine"),
    "digest-missing": with_image(sha256=LEFT_OUT),
    "bytes-negative": with_image(bytes=-1),
    "bytes-as-text": with_image(bytes="28"),
    "bytes-beyond-40-bits": with_image(bytes=1 << 40),
    "lacks-no-list": with_image(lacks="scale"),
    "file-outside": with_image(file="../scale.cubin"),
    "file-in-folder": with_image(file="more/scale.cubin"),
    "file-with-nul": with_image(file="scale\0.cubin"),
    "file-with-lone-surrogate": with_image(file="scale\ud800.cubin"),
    "stored-outside": stored("scale/../../scale.cubin"),
    "stored-absolute": stored("/scale.cubin"),
    "stored-drive": stored("C:scale.cubin"),
    "stored-backslashes": stored("..\\scale.cubin"),
    "stored-negative": stored("scale/images.xz", at=-1, size=5),
    "stored-without-size": with_image(stored={"file": "scale/images.xz", "at": 0, "skip": 0}),
}
OTHER = b"sm_90 cubin of scale: other\n"


def renaming(details):
    """Return the store's files with a CUBIN that renames, and this for the details, or none."""
    module = scale()
    module.facts["sm_90 cubin"] = {"renames": True}
    files = {path: data for path, data in store(module).items() if path != "scale/details.json"}
    return files | ({} if details is None else {"scale/details.json": details})


#: The CUBIN is refused, and the PTX taken.
DAMAGED = {
    "image-missing": without("scale/scale.sm_90.cubin"),
    "image-of-other-bytes": store(scale()) | {"scale/scale.sm_90.cubin": OTHER},
    "image-cut-short": store(scale()) | {"scale/scale.sm_90.cubin": OTHER[:5]},
    "image-too-long": store(scale()) | {"scale/scale.sm_90.cubin": b"sm_90 cubin of scale: scale\n\n"},
    "pack-missing": {path: data for path, data in packed(BLOCK).items() if not path.endswith(".xz")},
    "pack-no-xz": packed(b"x" * len(BLOCK)),
    "pack-cut-short": packed(BLOCK[:40]),
    "pack-beyond-the-end": packed(BLOCK, at=len(BLOCK)),
    "pack-block-too-short": packed(BLOCK, skip=20),
    "pack-wants-4-gib": packed(wide_dictionary()),
    "details-missing": renaming(None),
    "details-cut-short": renaming(b'{"schema": 1, "lowered"'),
    "details-of-wrong-types": renaming(
        json_bytes({"names": [], "resources": {}, "lowered": {"scale.sm_90.cubin": "scale"}})
    ),
}
NOTHING_LEFT = {"nothing-left": without("scale/scale.sm_90.cubin") | {"scale/scale.compute_80.ptx": OTHER}}

OTHER_SOURCE = b'extern "C" __global__ void scale(float* y) { *y = 2; }\n'
#: No image runs on the device that is asked about, and this is not what the index says of the source.
SOURCES = {
    "source-missing": without("project.source/scale.cu"),
    "source-of-other-bytes": store(scale()) | {"project.source/scale.cu": OTHER_SOURCE},
    "source-cut-short": store(scale()) | {"project.source/scale.cu": source_of("scale")[:-2]},
    "source-without-digest": with_index(files={"scale.cu": ""}),
}


def all_stores():
    """Return the files of each malformed store: only those that a look-up reads."""
    made = LISTINGS | INDEXES | DAMAGED | NOTHING_LEFT | SOURCES
    return {name: {path: data for path, data in files.items() if _is_read(name, path)} for name, files in made.items()}


def _is_read(name, path):
    compiled = "project.source/" in path or path == "scale/details.json"
    return not compiled or name in SOURCES or (path == "scale/details.json" and name.startswith("details"))
