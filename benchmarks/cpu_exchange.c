/* DLPack's C functions of a library, which here say of tensors of the CPU that they are on the CUDA device -1. */
#include "../accelerator/src/dlpack.h"

static const DLPackExchangeAPI *own;

static int read(void *object, DLTensor *out) {
    int status = own->tensor_from_object(object, out);
    out->device.type = DLPACK_CUDA;
    out->device.id = -1;
    return status;
}

static int stream(int32_t type, int32_t id, void **out) { *out = 0; return 0; }

DLPackExchangeAPI *on_device(const DLPackExchangeAPI *api) {
    static DLPackExchangeAPI changed;
    own = api;
    changed = *api;
    changed.tensor_from_object = read;
    changed.current_work_stream = stream;
    return &changed;
}
