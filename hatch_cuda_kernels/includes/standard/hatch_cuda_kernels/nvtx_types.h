// NVTX's types and constants, for what stays of a source without its host code. Functions are the host's.
#ifndef _HATCH_NVTX_TYPES_H
#define _HATCH_NVTX_TYPES_H

#define NVTX_VERSION 3

typedef struct nvtxDomainRegistration_st* nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st* nvtxStringHandle_t;
typedef unsigned long long nvtxRangeId_t;
typedef enum nvtxColorType_t { NVTX_COLOR_UNKNOWN, NVTX_COLOR_ARGB } nvtxColorType_t;
typedef enum nvtxMessageType_t {
    NVTX_MESSAGE_UNKNOWN, NVTX_MESSAGE_TYPE_ASCII, NVTX_MESSAGE_TYPE_UNICODE, NVTX_MESSAGE_TYPE_REGISTERED,
} nvtxMessageType_t;
typedef enum nvtxPayloadType_t {
    NVTX_PAYLOAD_UNKNOWN, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, NVTX_PAYLOAD_TYPE_INT64, NVTX_PAYLOAD_TYPE_DOUBLE,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT32, NVTX_PAYLOAD_TYPE_INT32, NVTX_PAYLOAD_TYPE_FLOAT,
} nvtxPayloadType_t;
typedef union {
    const char* ascii;
    const wchar_t* unicode;
    nvtxStringHandle_t registered;
} nvtxMessageValue_t;
typedef struct nvtxEventAttributes_v2 {
    unsigned short version;
    unsigned short size;
    unsigned category;
    int colorType;
    unsigned color;
    int payloadType;
    int reserved0;
    union payload_t {
        unsigned long long ullValue;
        long long llValue;
        double dValue;
        unsigned uiValue;
        int iValue;
        float fValue;
    } payload;
    int messageType;
    nvtxMessageValue_t message;
} nvtxEventAttributes_v2;
typedef nvtxEventAttributes_v2 nvtxEventAttributes_t;

#endif
