// Host only: types that a struct may have for members, as on Linux.
#ifndef _HATCH_SYS_SOCKET
#define _HATCH_SYS_SOCKET

typedef unsigned int socklen_t;
typedef unsigned short sa_family_t;

struct sockaddr {
    sa_family_t sa_family;
    char sa_data[14];
};

#endif
