"""The well-formed stores: plain data by docs/reference/store.md, without the package that writes real ones."""

from __future__ import annotations

import hashlib
import json
import lzma

CUBIN, PTX, LTO_IR = "cubin", "ptx", "ltoir"


def json_bytes(data):
    """Return a JSON file as builds write it."""
    return f"{json.dumps(data, indent=1, sort_keys=True)}\n".encode()


def sha256(data):
    """Return a digest in hex."""
    return hashlib.sha256(data).hexdigest()


def source_of(kernel):
    """Return a source that a compiling loader may compile."""
    return f'extern "C" __global__ void {kernel}(float* y) {{ *y = 1; }}\n'.encode()


class Module:
    """One module: its kernels and images. No loader looks into an image, so each is a text that says what it is."""

    def __init__(self, name, images, kernels=None, **index):
        self.name = name
        self.kernels = kernels or {name: name}
        self.index = index
        self.variables = {}
        self.lowered = {}
        """What an image calls its kernels and variables, where that is not what kernels.tsv says."""
        self.images = {image: self.text(image) for image in images}
        self.facts = {image: {} for image in images}
        """More members of the index, by image."""
        self.places = {}
        """Of images that have no file of their own: where they are."""
        self.isa = "9.0"
        self.details = {}
        """More members of details.json."""
        self.keys = []
        """What kernels.tsv has of the module besides its kernels and variables."""

    def text(self, image):
        """Return an image."""
        return f"{image} of {self.name}: {' '.join(self.kernels.values())}\n".encode()

    def file(self, image):
        """Return what an image is called."""
        arch, kind = image.split()
        return f"{self.name}.{arch}.{kind}"

    def digest(self, image):
        """Return an image's digest."""
        return sha256(self.images[image])

    def record(self, image):
        """Return an image's record in the index."""
        arch, kind = image.split()
        record = {
            "file": self.file(image), "kind": kind, "arch": arch, "sha256": self.digest(image),
            "bytes": len(self.images[image]), "ptx_isa": self.isa,
            "registers": 8 if kind == CUBIN else None, "spills": 0 if kind == CUBIN else None,
        }  # fmt: skip
        return record | self.facts[image] | ({"stored": self.places[image]} if image in self.places else {})

    def index_data(self):
        """Return index.json."""
        source = f"{self.name.partition('.')[0]}.cu"
        program = sha256(b"program of " + source.encode())
        return {
            "schema": 2, "module": self.name, "source": source, "source_sha256": program,
            "files": {source: sha256(source_of(source[:-3]))}, "outside": None, "headers": [], "options": {},
            "globals": sorted(self.variables), "patterns": [], "toolchain": {"nvrtc": "13.0.88", "headers": ""},
            "images": [self.record(image) for image in self.images],
        } | self.index  # fmt: skip

    def lines(self):
        """Yield the lines of kernels.tsv."""
        for name, lowered in self.kernels.items():
            yield name.replace(", ", ","), self.name, lowered, "ptr", name, "float*", "y"
        for name, lowered in self.variables.items():
            yield f"&{name}", self.name, lowered, "", name
        for key in self.keys:
            yield key, self.name, "", "", self.index["family"]

    def files(self):
        """Return the module's files, relative to the store."""
        own = {image: data for image, data in self.images.items() if image not in self.places}
        details = {"schema": 1, "names": list(self.kernels), "resources": {}}
        details |= {"lowered": self.lowered} if self.lowered else {}
        details |= self.details
        source = f"project.source/{self.name.partition('.')[0]}.cu"
        return {
            f"{self.name}/index.json": json_bytes(self.index_data()),
            f"{self.name}/details.json": json_bytes(details),
            source: source_of(self.name.partition(".")[0]),
        } | {f"{self.name}/{self.file(image)}": data for image, data in own.items()}


def listing(lines):
    """Return kernels.tsv."""
    return b"".join(sorted("\t".join(line).encode() + b"\n" for line in lines))


def store(*modules, lines=(), files=None):
    """Return the files of a store."""
    listed = [line for module in modules for line in module.lines()]
    made = {"kernels.tsv": listing([*listed, *lines])}
    for module in modules:
        made |= module.files()
    return made | (files or {})


def block(*images):
    """Return a block of a pack: an .xz stream of images one after the other."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 20, "lc": 1, "pb": 3}]
    return lzma.compress(b"".join(images), lzma.FORMAT_XZ, check=lzma.CHECK_NONE, filters=filters)


def devices():
    """Return modules for each rule of which image runs where, named by the rule."""
    old = Module("old_ptx", ["compute_75 ptx", "compute_80 ptx", "compute_89 ptx", "compute_90 ptx"])
    old.isa = "8.4"
    old.facts["compute_89 ptx"] = {"ptx_isa": "8.5"}
    old.facts["compute_90 ptx"] = {"ptx_isa": "8.6"}
    return {
        "exact": Module("exact", ["sm_80 cubin", "sm_86 cubin", "sm_90 cubin", "compute_80 ptx"]),
        "binary": Module("binary", ["sm_80 cubin", "sm_86 cubin"]),
        "old_ptx": old,
        "integrated": Module("integrated", ["sm_80 cubin", "sm_87 cubin", "sm_100 cubin", "sm_110 cubin"]),
        "odd": Module("odd", ["sm_87 cubin", "sm_120 cubin"]),
        "specific": Module("specific", ["sm_90a cubin", "compute_90a ptx"]),
        "family": Module("family", ["sm_100f cubin", "sm_103f cubin", "compute_100f ptx"]),
        "mixed": Module("mixed", ["sm_100 cubin", "sm_100a cubin", "sm_100f cubin", "sm_103 cubin", "compute_100 ptx"]),
        "linked": Module("linked", ["compute_80 ltoir"]),
    }


def names():
    """Return modules for each rule of names: chunks, templates, variables, images that lack or rename kernels."""
    first = Module("sums", ["sm_90 cubin"], {"reset": "reset", "sum<float, 128>": "_Z3sumIfLi128EEvPf"})
    second = Module("sums.2", ["sm_90 cubin"], {"sum<double, 128>": "_Z3sumIdLi128EEvPf"})
    partial = Module("partial", ["sm_90 cubin", "compute_80 ptx"], {"always": "always", "sometimes": "sometimes"})
    partial.facts["sm_90 cubin"] = {"lacks": ["sometimes"]}
    renamed = Module("renamed", ["sm_80 cubin", "sm_90 cubin"], {"sort<int>": "_Z4sort_SM_800", "plain": "plain"})
    renamed.variables = {"table": "_table_SM_800"}
    renamed.images["sm_90 cubin"] = b"sm_90 cubin of renamed: _Z4sort_SM_900 plain _table_SM_900\n"
    renamed.images["sm_80 cubin"] += b"_table_SM_800\n"
    renamed.facts["sm_90 cubin"] = {"renames": True}
    renamed.lowered = {"renamed.sm_90.cubin": {"sort<int>": "_Z4sort_SM_900", "&table": "_table_SM_900"}}
    twice = [Module(name, ["sm_90 cubin"], {"both": "both"}) for name in ("one", "two")]
    return {module.name: module for module in (first, second, partial, renamed, *twice)}


TEMPLATES = [("<sum", "sums", "", "", "sum"), ("<sort", "renamed", "", "", "sort")]


def axes():
    """Return modules of families: found by values of axes, in one or two entries, and with an excluded combination."""

    def module(name, key, images=("sm_90 cubin",), **values):
        made = Module(name, images, {"scale": "scale"}, family=key[1:].partition(";")[0], axes=values)
        made.keys = [key]
        return made

    first = module("scale_float-1", "{scale;N=1;T=float", T="float", N="1")
    first.keys.append("{scale;N;T")
    listed = {"T": ["float", "a ; b", "unsigned int"], "N": ["1", "2"]}
    family = {"entry": "scale_{T}-{N}", "axes": listed, "names": [], "exclude": [{"T": "unsigned int", "N": "2"}]}
    first.details = {"family": family}
    every = [
        first,
        module("scale_a_b-1", "{scale;N=1;T=a;;b", T="a ; b", N="1"),
        module("scale_unsigned_int-1", "{scale;N=1;T=unsigned int", ("sm_90a cubin",), T="unsigned int", N="1"),
        module("scale_a_b-2", "{scale;N=2;T=a;;b", T="a ; b", N="2"),
        module("one_1", "{one;N=1", N="1"),
        module("one-2", "{one;N=2", N="2"),
    ]
    for found, entry in zip(every[-2:], ("one_{N}", "one-{N}"), strict=True):
        found.keys.append("{one;N")
        number = found.index["axes"]["N"]
        found.details = {"family": {"entry": entry, "axes": {"N": [number]}, "names": []}}
    return {found.name: found for found in every}


def packed():
    """Return modules whose images are packed in two blocks, shared with another module, or in one's plain file."""
    solid = Module("solid", ["sm_80 cubin", "sm_90 cubin", "compute_80 ptx"])
    twin = Module("twin", ["sm_90 cubin", "sm_100 cubin", "sm_120 cubin"])
    twin.images["sm_90 cubin"] = solid.images["sm_90 cubin"]
    twin.images["sm_120 cubin"] = twin.images["sm_100 cubin"]
    cubins = block(solid.images["sm_80 cubin"], solid.images["sm_90 cubin"])
    ptx = block(solid.images["compute_80 ptx"])
    skip = len(solid.images["sm_80 cubin"])
    pack = "solid/images.xz"
    solid.places = {
        "sm_80 cubin": {"file": pack, "at": 0, "size": len(cubins), "skip": 0},
        "sm_90 cubin": {"file": pack, "at": 0, "size": len(cubins), "skip": skip},
        "compute_80 ptx": {"file": pack, "at": len(cubins), "size": len(ptx), "skip": 0},
    }
    twin.places = {
        "sm_90 cubin": solid.places["sm_90 cubin"],
        "sm_120 cubin": {"file": "twin/twin.sm_100.cubin", "at": 0, "size": 0, "skip": 0},
    }
    return {"solid": solid, "twin": twin}, {pack: cubins + ptx}


def extended():
    """Return a module with members and files that no version has yet: a loader ignores them."""
    module = Module("later", ["sm_90 cubin", "compute_80 ptx"], priority=3, notes={"images": "no list"})
    module.facts = {image: {"colour": "blue", "stored_at": None} for image in module.images}
    return module


def schema_1():
    """Return a module of schema 1, whose sources are in its own folder."""
    return Module("first", ["sm_90 cubin"], schema=1)


def editable():
    """Return a module of an editable install whose project is not there: its images no longer count."""
    place = {"root": "../project-that-is-not-there", "manifest": "kernels.yaml", "manifest_sha256": sha256(b"")}
    return Module("edited", ["sm_90 cubin"], editable=place)


def all_modules():
    """Return the modules of each well-formed store, by store and name."""
    return {
        "devices": devices(),
        "names": names(),
        "axes": axes(),
        "packed": packed()[0],
        "extended": {"later": extended()},
        "schema-1": {"first": schema_1()},
        "editable": {"edited": editable()},
        "empty": {},
    }


def all_stores():
    """Return the files of each well-formed store."""
    modules = {name: [*found.values()] for name, found in all_modules().items()}
    own_source = store(*modules["schema-1"])
    own_source["first/source/first.cu"] = own_source.pop("project.source/first.cu")
    more = {"notes.json": b"{}\n", "later/thumbnail.png": b"no picture\n"}
    return {
        "devices": store(*modules["devices"]),
        "axes": store(*modules["axes"]),
        "names": store(*modules["names"], lines=TEMPLATES),
        "packed": store(*modules["packed"], files=packed()[1]),
        "extended": store(*modules["extended"], files=more),
        "schema-1": own_source,
        "editable": store(*modules["editable"]),
        "empty": {"kernels.tsv": b""},
    }
