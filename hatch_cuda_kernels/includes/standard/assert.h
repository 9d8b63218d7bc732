// Read anew by each include: NDEBUG counts as it is then. Without this header, assert is NVRTC's own.
#undef assert
#ifdef NDEBUG
#define assert(...) (static_cast<void>(0))
#else
#define assert(...)                             \
    ((__VA_ARGS__) ? static_cast<void>(0)       \
                   : __assertfail(#__VA_ARGS__, __FILE__, __LINE__, __PRETTY_FUNCTION__, sizeof(char)))
#endif
