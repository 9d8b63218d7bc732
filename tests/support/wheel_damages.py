"""Ways to damage the example's wheel, and what ``verify`` has to say of each."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from wheels import record

from hatch_cuda_kernels.standalone import compile_to_cubin
from hatch_cuda_kernels.store.texts import json_text

SM_90 = "saxpy.sm_90.cubin"
PTX = "saxpy.compute_80.ptx"
PACKED = "reduce.sm_90.cubin"


def remove_an_image(wheel):
    """Leave out an image."""
    del wheel[f"saxpy/{SM_90}"]


def put_another_sm(wheel):
    """Put the CUBIN of another SM in an image's place, with its digest."""
    other = wheel["saxpy/saxpy.sm_80.cubin"]
    wheel.edit_image("saxpy", SM_90, lambda _: other)


def flip_a_byte(wheel):
    """Change one byte of an image."""
    data = bytearray(wheel[f"saxpy/{SM_90}"])
    data[1000] ^= 1
    wheel[f"saxpy/{SM_90}"] = bytes(data)


def raise_the_isa(wheel):
    """Make PTX that a driver for CUDA 13.0 does not know."""
    wheel.edit_image("saxpy", PTX, lambda ptx: ptx.replace(b".version 9.0", b".version 9.1"), ptx_isa="9.1")


def break_the_ptx(wheel):
    """Write an instruction that there is not; of all other modules nothing has to be assembled."""
    wheel.keep_only("saxpy")
    wheel.edit_image("saxpy", PTX, lambda ptx: ptx.replace(b"fma.rn.f32", b"fmb.rn.f32"))


def rename_a_kernel(wheel):
    """Take a kernel that is listed from the PTX."""
    wheel.edit_image("saxpy", PTX, lambda ptx: ptx.replace(b".entry saxpy(", b".entry saxpz("))


def edit_an_arch(wheel):
    """Let the index say that an image is for a newer architecture."""
    wheel.edit_index("saxpy", lambda data: record(data, SM_90).update(arch="sm_103"))


def edit_a_lowered_name(wheel):
    """Let the list of kernels give a symbol that no image has."""
    wheel["kernels.tsv"] = wheel["kernels.tsv"].replace(b"_Z9block_sumIfLi128EEvPKT_PS0_x", b"_Z9block_sumIfLi512EEv")


def edit_params(wheel):
    """Let the list of kernels give another parameter type."""
    wheel["kernels.tsv"] = wheel["kernels.tsv"].replace(b"\tsaxpy\tsaxpy\t", b"\tsaxpy\tsaxpy\tf64,")


def claim(wheel, **resources):
    """Let the index say that a kernel needs other resources, in its summary too."""

    def edit(data):
        used = data["resources"][SM_90]["saxpy"]
        used |= resources
        summary = {"registers": used["registers"], "spills": used["spill_stores"] + used["spill_loads"]}
        wheel.edit_index("saxpy", lambda data: record(data, SM_90).update(summary))

    wheel.edit_index("saxpy", edit, "details.json")


def hide_registers(wheel):
    """Let the index claim fewer registers."""
    claim(wheel, registers=8)


def edit_spills(wheel):
    """Let the index claim spills that the image has not."""
    claim(wheel, spill_loads=4)


def let_it_spill(wheel):
    """Let the index say that a kernel spills."""
    claim(wheel, spill_stores=8, spill_loads=4)


def add_a_file(wheel):
    """Leave an image behind that no index lists."""
    wheel["saxpy/saxpy.sm_75.cubin"] = wheel["saxpy/saxpy.sm_80.cubin"]


def add_a_header(wheel):
    """Leave a header behind that no source includes."""
    wheel["project.source/include/old.cuh"] = b""


def edit_the_source(wheel):
    """Change the shipped source."""
    wheel["project.source/kernels/saxpy.cu"] = wheel["project.source/kernels/saxpy.cu"].replace(b"a * x", b"a - x")


def remove_a_header(wheel):
    """Leave out a header that a source includes."""
    del wheel["project.source/include/example/block_reduce.cuh"]


def forget_the_headers(wheel):
    """Let an index say that no toolkit header has a part in the images."""
    wheel.edit_index("softmax", lambda data: data.update(outside=None))


def lead_a_source_out(wheel):
    """Let an index name a source outside its folder."""
    wheel.edit_index("saxpy", lambda data: data["files"].update({"../../kernels.tsv": ""}))


def break_an_index(wheel):
    """Cut an index short."""
    wheel["saxpy/index.json"] = wheel["saxpy/index.json"][:100]


def change_the_schema(wheel):
    """Let an index be of a schema of the future."""
    wheel.edit_index("saxpy", lambda data: data.update(schema=3))


def lead_out(wheel):
    """Let an index name a file outside its folder."""
    wheel.edit_index("saxpy", lambda data: record(data, SM_90).update(file="../reduce/reduce.sm_90.cubin"))


def sort_the_table_wrongly(wheel):
    """Turn the list of kernels around."""
    wheel["kernels.tsv"] = b"".join(reversed(wheel["kernels.tsv"].splitlines(keepends=True)))


def cut_the_table(wheel):
    """Lose the end of the list of kernels."""
    wheel["kernels.tsv"] = wheel["kernels.tsv"][:-1]


def drop_from_the_table(wheel):
    """Leave a module's kernels out of the list."""
    lines = wheel["kernels.tsv"].splitlines(keepends=True)
    wheel["kernels.tsv"] = b"".join(line for line in lines if b"\tsaxpy\t" not in line)


def drop_an_arch(wheel):
    """Ship no PTX, and say so."""
    del wheel[f"saxpy/{PTX}"]
    wheel.edit_index("saxpy", lambda data: data["images"].remove(record(data, PTX)))


def embellish(wheel):
    """Let an index claim, where people look, fewer registers than its kernels have."""
    wheel.edit_index("saxpy", lambda data: record(data, SM_90).update(registers=8))


def break_the_promises(wheel):
    """Damage what the manifest promised."""
    wheel["promises.json"] = b"{}"


def remove_a_pack(wheel):
    """Leave out a file that holds several images."""
    del wheel["reduce/images.xz"]


def flip_a_packed_byte(wheel):
    """Change one byte of a file that holds several images."""
    data = bytearray(wheel["reduce/images.xz"])
    data[len(data) // 2] ^= 1
    wheel["reduce/images.xz"] = bytes(data)


def place(**stored):
    """Return a damage: let an index say that a packed image is elsewhere."""
    return lambda wheel: wheel.edit_index("reduce", lambda data: record(data, PACKED)["stored"].update(stored))


def put_another_machine(wheel):
    """Put a program of this machine in an image's place, with its digest."""
    wheel.edit_image("saxpy", SM_90, lambda _: Path(sys.executable).read_bytes()[:100_000])


def put_another_kernel(wheel):
    """Put a CUBIN of another source in an image's place, with its digest."""
    other = compile_to_cubin('extern "C" __global__ void other() {}', arch="sm_90").image
    wheel.edit_image("saxpy", SM_90, lambda _: other)


def lie_about_the_isa(wheel):
    """Make PTX that a driver for CUDA 13.0 does not know, and leave the index as it is."""
    wheel.edit_image("saxpy", PTX, lambda ptx: ptx.replace(b".version 9.0", b".version 9.1"))


def remove_the_details(wheel):
    """Leave out what is known of each kernel."""
    del wheel["saxpy/details.json"]


def leave_a_module(wheel):
    """Leave a module behind that the manifest no longer has."""
    wheel["old/old.sm_80.cubin"] = wheel["saxpy/saxpy.sm_80.cubin"]


def promise(wheel, **promises):
    """Record more promises."""
    wheel["promises.json"] = json_text(json.loads(wheel["promises.json"]) | promises).encode()


def spill_against_the_promise(wheel):
    """Let a kernel spill where the manifest promised that it would not."""
    let_it_spill(wheel)
    promise(wheel, max_spill_bytes={"saxpy": 0})


def outgrow_the_promise(wheel):
    """Record a size that the wheel is over."""
    promise(wheel, max_wheel_size=5000)


def promise_of_nothing(wheel):
    """Limit the spills of a module that there is not."""
    promise(wheel, max_spill_bytes={"saxpi": 0})


def remove_the_modules(wheel):
    """Leave out all that can be imported."""
    for name in [name for name in wheel.files if name.endswith(".py")]:
        del wheel.files[name]


def nothing(wheel):
    """Change nothing."""


#: How a wheel is damaged, the options, and the finding: check, module, image, and what the two sentences say.
DAMAGES = {
    "image missing": (remove_an_image, [], "files", f"saxpy/{SM_90}", "the file is missing", "build the wheel again"),
    "pack missing": (
        remove_a_pack, [], "files", f"reduce/{PACKED}", r"that holds it, reduce/images\.xz, is missing", "build"
    ),
    "flipped byte of a pack": (
        flip_a_packed_byte, [], "digests", f"reduce/{PACKED}", "the pack is damaged|does not match the digest", "build"
    ),
    "another place in the pack": (
        place(skip=12), [], "digests", f"reduce/{PACKED}", "does not match the digest in its index", "build"
    ),
    "place leads out": (
        place(file="../../../etc/passwd"), [], "index", "reduce/", r"\.stored\.file is missing or damaged", "build"
    ),
    "place of another type": (place(at="0"), [], "index", "reduce/", r"\.stored\.at is missing or damaged", "build"),
    "another machine": (
        put_another_machine, [], "architectures", f"saxpy/{SM_90}", "not a CUBIN: ", "build"
    ),
    "another kernel": (
        put_another_kernel, [], "kernels", f"saxpy/{SM_90}", r"the kernel 'saxpy' \(saxpy\) is not in the image",
        "find out what removed it from the sm_90 image",
    ),
    "PTX newer than the index says": (
        lie_about_the_isa, [], "architectures", f"saxpy/{PTX}", r"has \.version 9\.1, but the index says 9\.0", "build"
    ),
    "details missing": (remove_the_details, [], "index", "saxpy/", "^details.json is missing$", "build"),
    "stray module": (
        leave_a_module, [], "files", "", r"^no index lists the file old/old\.sm_80\.cubin$", "remove it"
    ),
    "over the promised budget": (
        outgrow_the_promise, [], "size", "", r"[\d,]+ more than the budget of 5,000", "raise the budget, or drop"
    ),
    "spill over the promised limit": (
        spill_against_the_promise, [], "spills", f"saxpy/{SM_90}", "the limit is 0", "write max_spill_bytes: 12"
    ),
    "promise of no module": (promise_of_nothing, [], "index", "", "'saxpi', which is not a module$", "build"),
    "wrong SM": (
        put_another_sm, [], "architectures", f"saxpy/{SM_90}", "for sm_80, but the index says sm_90", "build"
    ),
    "flipped byte": (flip_a_byte, [], "digests", f"saxpy/{SM_90}", "does not match the digest in its index", "build"),
    "PTX too new": (
        raise_the_isa, [], "supports", "saxpy/",
        r"no image for the promised device 10.0 \(compute_80 PTX has ISA 9.1, a driver for CUDA 13.0 knows up to 9.0\)",
        "add sm_100 to the module's 'arches:', or state cuda: \"13.0\" in the manifest",
    ),
    "unassemblable PTX": (
        break_the_ptx, [], "assembly", f"saxpy/{PTX}",
        r"does not assemble for sm_80: line \d+: Not a name of any known instruction: 'fmb'",
        "correct the source for sm_80, then build",
    ),
    "kernel absent": (
        rename_a_kernel, [], "kernels", f"saxpy/{PTX}", r"the kernel 'saxpy' \(saxpy\) is not in the image",
        "find out what removed it from the compute_80 image",
    ),
    "arch edited": (
        edit_an_arch, [], "architectures", f"saxpy/{SM_90}", "for sm_90, but the index says sm_103", "build"
    ),
    "lowered name edited": (
        edit_a_lowered_name, [], "kernels", "reduce/reduce.sm_80.cubin",
        r"the kernel 'block_sum<float, 128>' \(_Z9block_sumIfLi512EEv\) is not in the image",
        "find out what removed it from the sm_80 image",
    ),
    "parameters edited": (
        edit_params, [], "kernels", f"saxpy/{SM_90}", r"takes \(4, 8, 8, 8\), but kernels.tsv says \(f64, .*\)", "build"
    ),
    "registers edited": (hide_registers, [], "kernels", f"saxpy/{SM_90}", "the index lists other registers", "build"),
    "spills edited": (edit_spills, [], "kernels", f"saxpy/{SM_90}", "the index lists other registers", "build"),
    "stray file": (
        add_a_file, [], "files", "saxpy/", r"^no index lists the file saxpy/saxpy\.sm_75\.cubin$", "remove it"
    ),
    "no module": (
        remove_the_modules, [], "wheel", "", "^the wheel has no Python module of example_project, only its kernels$",
        "change the build's settings so that",
    ),
    "stray header": (
        add_a_header, [], "files", "", r"^no index lists the file project\.source/include/old\.cuh$", "remove it"
    ),
    "over budget": (
        nothing, ["--max-size", 1000], "size", "", r"the wheel has [\d,]+ bytes, [\d,]+ more than the budget of 1,000",
        r"raise the budget, or drop architectures: reduce\.sm_120\.cubin is the largest image",
    ),
    "spill over limit": (
        let_it_spill, ["--max-spill-bytes", 8], "spills", f"saxpy/{SM_90}",
        r"the kernel 'saxpy' spills 12 bytes per thread for sm_90 \(8 stored, 4 loaded\), the limit is 8",
        "give it more registers .* or write max_spill_bytes: 12",
    ),
    "source edited": (
        edit_the_source, [], "sources", "saxpy/", "kernels/saxpy.cu is not what the images were compiled from", "build"
    ),
    "header missing": (
        remove_a_header, [], "files", "reduce, softmax/",
        "^the shipped file include/example/block_reduce.cuh is missing$", "build"
    ),
    "headers forgotten": (
        forget_the_headers, [], "sources", "softmax/", "does not match the shipped source: outside", "build"
    ),
    "source leads out": (lead_a_source_out, [], "index", "saxpy/", "files.*tsv' is missing or damaged", "build"),
    "index cut short": (break_an_index, [], "index", "saxpy/", "index.json: cannot read the index", "build"),
    "schema unknown": (change_the_schema, [], "index", "saxpy/", "index schema 3 is not 2", "build"),
    "path leads out": (lead_out, [], "index", "saxpy/", r"images\[\d\]\.file is missing or damaged", "build"),
    "kernels.tsv unsorted": (sort_the_table_wrongly, [], "index", "", "not what a build writes there", "build"),
    "kernels.tsv cut short": (cut_the_table, [], "index", "", "kernels.tsv: cut short", "build"),
    "kernels.tsv cut": (drop_from_the_table, [], "index", "saxpy/", "kernels.tsv lists no kernel", "build"),
    "architecture left out": (
        drop_an_arch, [], "supports", "saxpy/", "no image for the promised device 10.0", "add sm_100 to"
    ),
    "summary edited": (embellish, [], "index", "saxpy/", "differs from what a build writes: images", "build"),
    "promises damaged": (break_the_promises, [], "index", "", "promises.json: cannot be read", "build"),
    "another promise": (
        nothing, ["--supports-devices", "7.5", "9.0", "--driver", "12.9"], "supports", "saxpy/",
        "no image for the promised device 7.5", "add sm_75 to the module's 'arches:', and state cuda",
    ),
}  # fmt: skip
