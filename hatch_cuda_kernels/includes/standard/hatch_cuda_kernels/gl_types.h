// OpenGL's numbers, for classes that share a buffer with it: its functions are the host's.
#ifndef _HATCH_GL_TYPES_H
#define _HATCH_GL_TYPES_H

typedef unsigned int GLenum;
typedef unsigned char GLboolean;
typedef unsigned int GLbitfield;
typedef signed char GLbyte;
typedef short GLshort;
typedef int GLint;
typedef int GLsizei;
typedef unsigned char GLubyte;
typedef unsigned short GLushort;
typedef unsigned int GLuint;
typedef float GLfloat;
typedef float GLclampf;
typedef double GLdouble;

#endif
