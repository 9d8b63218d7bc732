"""What a loader is asked of each store and what it answers, told from the specification and not from a loader.

A row is a kernel, the device's compute capability, the driver's CUDA version, and the answer; then anything else.
"""

from __future__ import annotations

import malformed
import stores

#: A driver of a release for which nothing is refused unless the row is about that.
NEW = "13.0"


def on_devices():
    """Yield the rows about the rules of which image runs where."""
    yield "exact", "8.0", NEW, "sm_80 cubin"
    yield "exact", "8.6", NEW, "sm_86 cubin"
    yield "exact", "8.9", NEW, "sm_86 cubin"
    yield "exact", "9.0", NEW, "sm_90 cubin"
    yield "exact", "9.0", "12.4", "sm_90 cubin"
    yield "exact", "8.7", NEW, "compute_80 ptx"
    yield "exact", "10.0", NEW, "compute_80 ptx"
    yield "exact", "10.0", None, "compute_80 ptx"
    yield "exact", "10.0", "14.0", "compute_80 ptx"
    majors = {"sm_80 cubin": "major", "sm_86 cubin": "major", "sm_90 cubin": "major"}
    yield "exact", "10.0", "12.8", None, {"refused": majors | {"compute_80 ptx": "isa"}}
    yield "exact", "10.0", "12.8", None, {"refused": majors | {"compute_80 ptx": "isa"}, "compile": "sm_100"}
    yield "exact", "7.5", NEW, None, {"refused": majors | {"compute_80 ptx": "capability"}}
    yield "binary", "8.9", "11.8", "sm_86 cubin"
    yield "binary", "9.0", NEW, None, {"refused": {"sm_80 cubin": "major", "sm_86 cubin": "major"}}
    yield "old_ptx", "9.0", "12.4", "compute_80 ptx"
    yield "old_ptx", "9.0", "12.5", "compute_89 ptx"
    yield "old_ptx", "9.0", "12.6", "compute_89 ptx"
    yield "old_ptx", "9.0", "12.7", "compute_90 ptx"
    yield "old_ptx", "8.6", "12.9", "compute_80 ptx"
    yield "old_ptx", "7.5", NEW, "compute_75 ptx"
    every = ("compute_75 ptx", "compute_80 ptx", "compute_89 ptx", "compute_90 ptx")
    yield "old_ptx", "9.0", "12.3", None, {"refused": dict.fromkeys(every, "isa")}
    yield "old_ptx", "9.0", "11.8", None, {"refused": dict.fromkeys(every, "isa")}
    yield "old_ptx", "7.0", NEW, None, {"refused": dict.fromkeys(every, "capability")}
    yield "integrated", "8.7", NEW, "sm_87 cubin"
    yield "integrated", "8.9", NEW, "sm_80 cubin"
    yield "integrated", "11.0", NEW, "sm_110 cubin"


def on_trials():
    """Yield the rows about images that are not promised to run, where an integrated part is involved."""
    others = {"sm_80 cubin": "major", "sm_87 cubin": "major", "sm_110 cubin": "major"}
    yield "integrated", "10.1", NEW, "sm_100 cubin"
    yield (
        "integrated",
        "10.1",
        NEW,
        None,
        {"refuses": {"sm_100 cubin": 209}, "refused": others | {"sm_100 cubin": "driver"}},
    )
    yield "integrated", "10.1", NEW, "sm_100 cubin", {"compiler": "13.0"}
    yield "binary", "8.7", NEW, "sm_86 cubin"
    yield "binary", "8.7", NEW, "sm_80 cubin", {"refuses": {"sm_86 cubin": 209}}
    yield "binary", "8.7", NEW, None, {"refused": {}, "compile": "sm_87"}
    every = {"sm_80 cubin": "driver", "sm_86 cubin": "driver"}
    yield "binary", "8.7", NEW, None, {"refuses": dict.fromkeys(every, 209), "refused": every}
    yield "exact", "8.7", NEW, "sm_86 cubin", {"refuses": {"compute_80 ptx": 222}}
    yield "exact", "8.7", "11.8", "sm_86 cubin"
    # 11.0 has no lower minor, and what runs on 12.1 is promised to.
    majors = {"sm_80 cubin": "major", "sm_86 cubin": "major"}
    yield "binary", "11.0", NEW, None, {"refused": majors}
    yield "integrated", "12.1", NEW, None, {"refused": others | {"sm_100 cubin": "major"}}
    yield "odd", "12.1", NEW, "sm_120 cubin"
    yield (
        "odd",
        "12.1",
        NEW,
        None,
        {"refuses": {"sm_120 cubin": 209}, "refused": {"sm_87 cubin": "major", "sm_120 cubin": "driver"}},
    )
    yield "odd", "8.9", NEW, "sm_87 cubin"
    yield "odd", "8.6", NEW, None, {"refused": {"sm_87 cubin": "minor", "sm_120 cubin": "major"}}


def on_suffixes():
    """Yield the rows about architectures with ``a`` and ``f``, and about what is compiled for such a module."""
    yield "specific", "9.0", NEW, "sm_90a cubin"
    device = {"sm_90a cubin": "device", "compute_90a ptx": "device"}
    yield "specific", "10.0", NEW, None, {"refused": device}
    yield "specific", "10.0", NEW, None, {"refused": device, "compile": "sm_100a"}
    yield "specific", "8.9", NEW, None, {"refused": device, "compile": "sm_89"}
    yield "specific", "10.7", NEW, None, {"refused": device, "compiler": "13.0"}
    yield "specific", "13.0", NEW, None, {"refused": device, "compiler": "13.0"}
    yield "family", "10.0", NEW, "sm_100f cubin"
    yield "family", "10.1", NEW, "sm_100f cubin"
    yield "family", "10.3", NEW, "sm_103f cubin"
    family = {"sm_100f cubin": "family", "sm_103f cubin": "family", "compute_100f ptx": "family"}
    yield "family", "12.0", NEW, None, {"refused": family}
    yield "family", "12.0", NEW, None, {"refused": family, "compile": "sm_120f"}
    yield "family", "9.0", NEW, None, {"refused": family, "compile": "sm_90"}
    yield "mixed", "10.0", NEW, "sm_100a cubin"
    yield "mixed", "10.3", NEW, "sm_103 cubin"
    yield "mixed", "12.0", NEW, "compute_100 ptx"
    every = {"sm_100 cubin": "major", "sm_103 cubin": "major", "sm_100a cubin": "device", "sm_100f cubin": "family"}
    every |= {"compute_100 ptx": "isa"}
    yield "mixed", "12.0", "12.8", None, {"refused": every, "compile": "sm_120a"}
    yield "linked", "9.0", NEW, None, {"refused": {}}
    yield "linked", "9.0", NEW, None, {"refused": {}, "compile": "sm_90"}


def on_refusing_drivers():
    """Yield the rows in which the driver refuses images, with the code it gives for each."""
    for code in (200, 209, 500):
        yield "exact", "8.9", NEW, "sm_80 cubin", {"refuses": {"sm_86 cubin": code}}
    yield "exact", "9.0", NEW, "compute_80 ptx", {"refuses": {"sm_90 cubin": 209}}
    codes = {"sm_86 cubin": 209, "sm_80 cubin": 209, "compute_80 ptx": 218}
    refused = {"sm_86 cubin": "driver", "sm_80 cubin": "driver", "sm_90 cubin": "major", "compute_80 ptx": "driver"}
    yield "exact", "8.6", NEW, None, {"refuses": codes, "refused": refused}
    minor = {"sm_80 cubin": "driver", "sm_86 cubin": "minor"}
    yield "binary", "8.0", NEW, None, {"refuses": {"sm_80 cubin": 209}, "refused": minor}
    yield "old_ptx", "9.0", NEW, "compute_89 ptx", {"refuses": {"compute_90 ptx": 209}}
    for code in (218, 221, 222, 223):
        refused = {"compute_90 ptx": "driver"}
        yield "old_ptx", "9.0", NEW, None, {"refuses": {"compute_90 ptx": code}, "refused": refused}
    yield "specific", "9.0", NEW, "compute_90a ptx", {"refuses": {"sm_90a cubin": 209}}
    yield "family", "10.0", NEW, "compute_100f ptx", {"refuses": {"sm_100f cubin": 209}}
    order = {
        "10.0": ("sm_100a", "sm_100", "sm_100f", "compute_100 ptx"),
        "10.3": ("sm_103", "sm_100f", "sm_100", "compute_100 ptx"),
    }
    for device, taken in order.items():
        for at in range(1, len(taken)):
            image = taken[at] if " " in taken[at] else f"{taken[at]} cubin"
            yield "mixed", device, NEW, image, {"refuses": {f"{arch} cubin": 209 for arch in taken[:at]}}


def on_names():
    """Yield the rows about names: spellings, modules, chunks, templates, variables, and what an image calls them."""
    yield "reset", "9.0", NEW, "sums sm_90 cubin", {"lowered": "reset"}
    for written in ("sum<float,128>", "sum< float ,  128 >", " sum <float,128>"):
        yield written, "9.0", NEW, "sums sm_90 cubin", {"lowered": "_Z3sumIfLi128EEvPf"}
    for module in (None, "sums", "sums.2"):
        more = {"lowered": "_Z3sumIdLi128EEvPf", "module": module}
        yield "sum<double, 128>", "9.0", NEW, "sums.2 sm_90 cubin", more
    yield "reset", "9.0", NEW, None, {"module": "sums.2", "error": "unknown"}
    yield "both", "9.0", NEW, None, {"error": "ambiguous"}
    yield "both", "9.0", NEW, "two sm_90 cubin", {"module": "two"}
    names = ("absent", "sum", "&table", "<sum", "other<int>", "", "always\tpartial", "reset\u00a0", "\ufeffreset")
    for unknown in names:
        yield unknown, "9.0", NEW, None, {"error": "unknown"}
    yield "sum<float, 256>", "9.0", NEW, None, {"refused": {}}
    yield "sum<float, 256>", "9.0", NEW, None, {"refused": {}, "compile": "sm_90"}
    yield "sum<float, 256>", "9.0", NEW, None, {"refused": {}, "compile": "sm_90", "module": "sums"}
    yield "always", "9.0", NEW, "partial sm_90 cubin"
    yield "sometimes", "9.0", NEW, "partial compute_80 ptx"
    lacks = {"sm_90 cubin": "lacks", "compute_80 ptx": "isa"}
    yield "sometimes", "9.0", "12.4", None, {"refused": lacks}
    yield "sort<int>", "8.0", NEW, "renamed sm_80 cubin", {"lowered": "_Z4sort_SM_800"}
    yield "sort<int>", "9.0", NEW, "renamed sm_90 cubin", {"lowered": "_Z4sort_SM_900"}
    yield "plain", "9.0", NEW, "renamed sm_90 cubin", {"lowered": "plain"}
    variable = {"variable": True}
    yield "table", "8.6", NEW, "renamed sm_80 cubin", {"lowered": "_table_SM_800", **variable}
    yield "table", "9.0", NEW, "renamed sm_90 cubin", {"lowered": "_table_SM_900", **variable}
    yield "plain", "9.0", NEW, None, {"error": "unknown", **variable}
    yield "table", "9.0", NEW, None, {"error": "unknown"}


def on_axes():
    """Yield the rows of modules that are found by values of axes."""
    for values, module in (
        ({"T": "float", "N": 1}, "scale_float-1"),
        ({"N": "1", "T": " unsigned  int"}, "scale_unsigned_int-1"),
        ({"T": "a;b", "N": 1}, "scale_a_b-1"),
        ({"T": " a ;b ", "N": "2"}, "scale_a_b-2"),
    ):
        arch = "sm_90a" if "unsigned" in module else "sm_90"
        yield "scale", "9.0", NEW, f"{module} {arch} cubin", {"module": "scale", "axes": values}
    yield "scale", "9.0", NEW, "one-2 sm_90 cubin", {"module": "one", "axes": {"N": 2}}
    other = {"refused": {"sm_90 cubin": "major"}, "compile": "sm_100"}
    yield "scale", "10.0", NEW, None, {"module": "scale", "axes": {"T": "float", "N": 1}} | other
    unlisted = {"module": "scale", "axes": {"T": "thrust::complex<float>", "N": 3}, "refused": {}}
    yield "scale", "9.0", NEW, None, unlisted
    yield "scale", "9.0", NEW, None, unlisted | {"compile": "sm_90"}
    for family, values in (
        ("scale", {"T": "unsigned int", "N": 2}),
        ("scale", {"T": "float"}),
        ("scale", {"T": "float", "N": 1, "M": 1}),
        ("scale", {"T": "a", "b=1;N": 1}),
        ("other", {"N": 1}),
    ):
        yield "scale", "9.0", NEW, None, {"module": family, "axes": values, "error": "unknown"}
    yield "scale", "9.0", NEW, None, {"module": "one", "axes": {"N": 3}, "error": "ambiguous"}
    yield "{scale;N=1;T=float", "9.0", NEW, None, {"error": "unknown"}


def on_other_stores():
    """Yield the rows of the other well-formed stores, each after its store."""
    for device, image in {"8.0": "sm_80 cubin", "9.0": "sm_90 cubin", "12.0": "compute_80 ptx"}.items():
        yield "packed", ("solid", device, NEW, image)
    for device, arch in {"9.0": "sm_90", "10.0": "sm_100", "10.3": "sm_100", "12.0": "sm_120"}.items():
        yield "packed", ("twin", device, NEW, f"{arch} cubin")
    yield "extended", ("later", "9.0", NEW, "sm_90 cubin")
    yield "extended", ("later", "10.0", NEW, "compute_80 ptx")
    yield "schema-1", ("first", "9.0", NEW, "sm_90 cubin")
    yield "schema-1", ("first", "12.0", NEW, None, {"refused": {"sm_90 cubin": "major"}, "compile": "sm_120"})
    yield "editable", ("edited", "9.0", NEW, None, {"refused": {"sm_90 cubin": "stale"}})
    yield "empty", ("anything", "9.0", NEW, None, {"error": "unknown"})


def on_damage():
    """Yield the rows of the malformed stores, each after its store."""
    yield from ((name, {"error": "damaged", "file": "kernels.tsv"}) for name in malformed.LISTINGS)
    yield from ((name, {"error": "damaged", "file": "scale/index.json"}) for name in malformed.INDEXES)
    yield from ((name, {}) for name in malformed.DAMAGED)
    unsuited = {"compiler": "13.0", "refused": {"sm_90 cubin": "major", "compute_80 ptx": "capability"}}
    yield from ((name, unsuited | {"damaged": "project.source/scale.cu"}) for name in malformed.SOURCES)
    yield from ((name, {"refused": dict.fromkeys(malformed.IMAGES, "damaged")}) for name in malformed.NOTHING_LEFT)


def all_cases():
    """Return every case as data."""
    known = stores.all_modules()
    rows = [("devices", row) for row in (*on_devices(), *on_trials(), *on_suffixes(), *on_refusing_drivers())]
    rows += [("names", row) for row in on_names()] + [("axes", row) for row in on_axes()] + [*on_other_stores()]
    made = [_case(f"stores/{store}", known[store], *row) for store, row in rows]
    scale = {"scale": malformed.scale()}
    for name, more in on_damage():
        image = None if more else "compute_80 ptx"
        device = "7.5" if "damaged" in more else "9.0"
        made.append(_case(f"malformed/{name}", scale, "scale", device, NEW, image, more))
    return made


def _case(store, modules, name, device, driver, image, more=None):
    """Return a case: what is asked, and what is to be answered."""
    more = dict(more or {})
    codes = more.pop("refuses", {})
    compiler = "13.0" if "compile" in more else more.pop("compiler", None)
    ask = {"store": store, "name": name, "device": device, "driver": driver, "compiler": compiler}
    ask |= {what: more.pop(what) for what in ("variable", "module", "axes") if more.get(what)}
    more.pop("module", None)
    if codes:
        ask["refuses"] = {modules[name].digest(refused): code for refused, code in codes.items()}
    if image is None:
        return {"ask": ask, "answer": more}
    module, image = image.split(" ", 1) if image.count(" ") == 2 else (name, image)
    found = modules[module]
    lowered = found.kernels.get(name, found.variables.get(name))
    answer = {"module": module, "image": image, "sha256": found.digest(image), "lowered": lowered} | more
    return {"ask": ask, "answer": answer}
