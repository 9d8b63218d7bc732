/* The part of DLPack that reads arrays by C functions of their library, laid out as dlpack.h of version 1.3 has it.
 *
 * Source: https://github.com/dmlc/dlpack, include/dlpack/dlpack.h (Apache-2.0). Within a major version, the layout stays.
 */
#ifndef ACCELERATOR_DLPACK_H
#define ACCELERATOR_DLPACK_H

#include <stdint.h>

#define DLPACK_MAJOR 1
#define DLPACK_CUDA 2 /* kDLCUDA */

typedef struct {
    int32_t type; /* DLDeviceType, an enum of 32 bits */
    int32_t id;
} DLDevice;

typedef struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} DLTensor;

typedef struct DLPackExchangeHeader {
    uint32_t major;
    uint32_t minor;
    struct DLPackExchangeHeader *previous; /* an older API, or NULL */
} DLPackExchangeHeader;

/* Functions return 0, or -1 with a Python exception set. Those of which nothing is called here have no prototype. */
typedef struct {
    DLPackExchangeHeader header;
    void (*allocate)(void);
    void (*managed_from_object)(void);
    void (*managed_to_object)(void);
    int (*tensor_from_object)(void *object, DLTensor *out); /* borrowed: valid while the object is; may be NULL */
    int (*current_work_stream)(int32_t device_type, int32_t device_id, void **out);
} DLPackExchangeAPI;

#endif
