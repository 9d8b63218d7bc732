"""Call frames as XLA hands them to a handler, and the errors that are made for them."""

from __future__ import annotations

import ctypes

from hatch_cuda_kernels.operators.jax import handler as abi

_ErrorCreate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(abi.ErrorCreateArgs))


class Frame:
    """A call with a text and buffers at these addresses. Its errors are numbered from 1."""

    def __init__(self, text, arguments, results, *, stage=abi.EXECUTE, context=None, api=True, extension=None):
        self.errors = []
        self._create = _ErrorCreate(self._keep)
        self._api = abi.FrameApi(error_create=ctypes.cast(self._create, ctypes.c_void_p).value)
        self._text = ctypes.create_string_buffer(text.encode())
        self._span = abi.ByteSpan(ctypes.addressof(self._text), len(text))
        self._attributes = (ctypes.c_void_p * 1)(ctypes.addressof(self._span))
        self._kept = [self._buffers(addresses) for addresses in (arguments, results)]
        self._frame = abi.CallFrame(
            extension_start=extension,
            api=ctypes.addressof(self._api) if api else None,
            context=context,
            stage=stage,
            args=abi.Buffers(size=len(arguments), buffers=ctypes.addressof(self._kept[0][0])),
            rets=abi.Buffers(size=len(results), buffers=ctypes.addressof(self._kept[1][0])),
            attributes=abi.Attributes(size=1, attributes=ctypes.addressof(self._attributes)),
        )
        self.address = ctypes.addressof(self._frame)

    def _keep(self, request):
        self.errors.append((request.contents.code, request.contents.message.decode()))
        return len(self.errors)

    @staticmethod
    def _buffers(addresses):
        buffers = [abi.Buffer(data=address) for address in addresses]
        return (ctypes.c_void_p * max(len(buffers), 1))(*map(ctypes.addressof, buffers)), buffers
