// Adds SLOW_FLUSH_MICROS to every flush to disk of the program that it is preloaded into, as a slower disk would.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_a_little(void) {
    const char *micros = getenv("SLOW_FLUSH_MICROS");
    usleep(micros ? atoi(micros) : 0);
}

int fsync(int file) {
    wait_a_little();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

int fdatasync(int file) {
    wait_a_little();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}
