"""Our structs beside the header that the installed jaxlib ships."""

from __future__ import annotations

import ctypes
import subprocess

import pytest
from c_code import compile_c

from hatch_cuda_kernels.operators.jax import handler as abi

#: The header's struct for each of ours, and its word where it calls a field otherwise.
STRUCTS = {
    abi.ApiVersion: ("XLA_FFI_Api_Version", {}),
    abi.MetadataExtension: ("XLA_FFI_Metadata_Extension", {}),
    abi.HandlerMetadata: ("XLA_FFI_Metadata", {}),
    abi.Attributes: ("XLA_FFI_Attrs", {"attributes": "attrs"}),
    abi.CallFrame: ("XLA_FFI_CallFrame", {"context": "ctx", "attributes": "attrs"}),
    abi.Buffer: ("XLA_FFI_Buffer", {}),
    abi.ByteSpan: ("XLA_FFI_ByteSpan", {}),
    abi.StreamGetArgs: ("XLA_FFI_Stream_Get_Args", {"context": "ctx"}),
    abi.ErrorCreateArgs: ("XLA_FFI_Error_Create_Args", {"code": "errc"}),
    abi.FrameApi: ("XLA_FFI_Api", {"error_create": "XLA_FFI_Error_Create", "stream_get": "XLA_FFI_Stream_Get"}),
}
#: Structs that are two of the header's.
BUFFERS = {"XLA_FFI_Args": "args", "XLA_FFI_Rets": "rets"}
CONSTANTS = {
    "XLA_FFI_Extension_Metadata": abi.EXTENSION_METADATA,
    "XLA_FFI_ExecutionStage_EXECUTE": abi.EXECUTE,
    "XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE": abi.COMMAND_BUFFER_COMPATIBLE,
    "XLA_FFI_Error_Code_CANCELLED": abi.ErrorCode.CANCELLED,
    "XLA_FFI_Error_Code_INVALID_ARGUMENT": abi.ErrorCode.INVALID_ARGUMENT,
    "XLA_FFI_Error_Code_INTERNAL": abi.ErrorCode.INTERNAL,
}


def expected():
    """Return what each expression of C is by our structs."""
    values = dict(CONSTANTS)
    structs = [*STRUCTS.items(), *((abi.Buffers, (name, {"buffers": word})) for name, word in BUFFERS.items())]
    for ours, (theirs, words) in structs:
        for name in (name for name, _ in ours._fields_ if name != "not_used"):
            field = words.get(name, name)
            values[f"offsetof({theirs}, {field})"] = getattr(ours, name).offset
            values[f"sizeof((({theirs}*)0)->{field})"] = getattr(ours, name).size
    # Those that others hold by value. A frame's last struct may have grown at its end.
    values["sizeof(XLA_FFI_Args)"] = ctypes.sizeof(abi.Buffers)
    values["sizeof(XLA_FFI_Api_Version)"] = ctypes.sizeof(abi.ApiVersion)
    return values


@pytest.fixture(scope="session")
def include(jax):
    """Return the folder of the installed jaxlib's headers."""
    return jax.ffi.include_dir()


def test_the_layout_is_the_headers(include, tmp_path):
    """Every offset, size and number that a handler uses is what a C compiler makes of the header."""
    values = expected()
    lines = "".join(f'    printf("%d\\n", (int)({expression}));\n' for expression in values)
    source = f'#include <stdbool.h>\n#include <stdio.h>\n#include "xla/ffi/api/c_api.h"\nint main(void) {{\n{lines}}}\n'
    program = compile_c(source, tmp_path / "offsets", f"-I{include}", "-w")
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    assert dict(zip(values, map(int, printed), strict=True)) == values
