"""Small pieces of C, compiled where there is a compiler."""

from __future__ import annotations

import shutil
import subprocess

import pytest

#: Calls a function so many times on a thread that Python knows nothing of, as XLA's are.
IN_A_THREAD = """
#include <pthread.h>
static void (*call)(void);
static int times;
static void *run(void *ignored) { for (int i = 0; i < times; i++) call(); return ignored; }
void in_a_thread(void (*function)(void), int count) {
    pthread_t thread;
    call = function; times = count;
    if (!pthread_create(&thread, 0, run, 0)) pthread_join(thread, 0);
}
"""


def compile_c(source, output, *options):
    """Compile C to a program or, with ``-shared``, a library; skip the test where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    command = [compiler, "-x", "c", "-", "-o", str(output), *options]
    subprocess.run(command, input=source, text=True, check=True)
    return output
