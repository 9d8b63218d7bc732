#ifndef _HATCH_STDIO_H
#define _HATCH_STDIO_H

#include <hatch_cuda_kernels/define.h>

extern "C++" {  // also for who includes it in extern "C" {

// printf is NVRTC's own. Files are the host's: nothing is defined, and a kernel that uses them does not link.
typedef struct _HatchFile FILE;
typedef struct {
    long __at[2];
} fpos_t;
template <class = void>
_HATCH_HD FILE* _HatchFileOf(int);
#define stdin (_HatchFileOf(0))
#define stdout (_HatchFileOf(1))
#define stderr (_HatchFileOf(2))

#define EOF (-1)
#define BUFSIZ 8192
#define FILENAME_MAX 4096
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define _IOFBF 0
#define _IOLBF 1
#define _IONBF 2

#define _HATCH_HOST template <class = void> _HATCH_HD
#define _HATCH_HOST_PACK template <class... _T> _HATCH_HD
_HATCH_HOST_PACK int fprintf(FILE*, const char*, _T...);
_HATCH_HOST_PACK int sprintf(char*, const char*, _T...);
_HATCH_HOST_PACK int snprintf(char*, size_t, const char*, _T...);
_HATCH_HOST_PACK int fscanf(FILE*, const char*, _T...);
_HATCH_HOST_PACK int sscanf(const char*, const char*, _T...);
_HATCH_HOST_PACK int scanf(const char*, _T...);
_HATCH_HOST_PACK int vprintf(const char*, _T...);
_HATCH_HOST_PACK int vfprintf(FILE*, const char*, _T...);
_HATCH_HOST_PACK int vsprintf(char*, const char*, _T...);
_HATCH_HOST_PACK int vsnprintf(char*, size_t, const char*, _T...);
_HATCH_HOST_PACK int vfscanf(FILE*, const char*, _T...);
_HATCH_HOST_PACK int vsscanf(const char*, const char*, _T...);
_HATCH_HOST_PACK int vscanf(const char*, _T...);
_HATCH_HOST FILE* fopen(const char*, const char*);
_HATCH_HOST FILE* freopen(const char*, const char*, FILE*);
_HATCH_HOST FILE* fdopen(int, const char*);
_HATCH_HOST FILE* popen(const char*, const char*);
_HATCH_HOST FILE* tmpfile();
_HATCH_HOST char* tmpnam(char*);
_HATCH_HOST int fclose(FILE*);
_HATCH_HOST int pclose(FILE*);
_HATCH_HOST int fflush(FILE*);
_HATCH_HOST int fileno(FILE*);
_HATCH_HOST void setbuf(FILE*, char*);
_HATCH_HOST int setvbuf(FILE*, char*, int, size_t);
_HATCH_HOST int fgetc(FILE*);
_HATCH_HOST int getc(FILE*);
_HATCH_HOST int getchar();
_HATCH_HOST char* fgets(char*, int, FILE*);
_HATCH_HOST int fputc(int, FILE*);
_HATCH_HOST int putc(int, FILE*);
_HATCH_HOST int putchar(int);
_HATCH_HOST int fputs(const char*, FILE*);
_HATCH_HOST int puts(const char*);
_HATCH_HOST int ungetc(int, FILE*);
_HATCH_HOST size_t fread(void*, size_t, size_t, FILE*);
_HATCH_HOST size_t fwrite(const void*, size_t, size_t, FILE*);
_HATCH_HOST int fseek(FILE*, long, int);
_HATCH_HOST long ftell(FILE*);
_HATCH_HOST void rewind(FILE*);
_HATCH_HOST int fgetpos(FILE*, fpos_t*);
_HATCH_HOST int fsetpos(FILE*, const fpos_t*);
_HATCH_HOST int feof(FILE*);
_HATCH_HOST int ferror(FILE*);
_HATCH_HOST void clearerr(FILE*);
_HATCH_HOST void perror(const char*);
_HATCH_HOST int remove(const char*);
_HATCH_HOST int rename(const char*, const char*);
#undef _HATCH_HOST
#undef _HATCH_HOST_PACK

}  // extern "C++"

#endif
