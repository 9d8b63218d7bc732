// A project that declares int64_t as long long, as NVRTC's own headers do, has no other beside it.
#ifndef _HATCH_LONG_LONG
#define _HATCH_LONG_LONG
#endif
