// Adds CLOCK_OFFSET_MILLIS to the time of day of the program that it is preloaded into, or the number in CLOCK_OFFSET_FILE, which
// a test changes while the program runs. Links, codes and tokens in a fixture expire, so a test continues at the time at which the
// fixture was made.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// The number in the file, in the machine's own form. Never unmapped.
static volatile long long *shared_offset(const char *path) {
    static volatile long long *shared;
    if (!shared) {
        int file = open(path, O_RDONLY | O_CLOEXEC);
        void *mapped = mmap(NULL, sizeof *shared, PROT_READ, MAP_SHARED, file, 0);
        close(file);
        if (mapped == MAP_FAILED) abort();
        shared = mapped;
    }
    return shared;
}

static long long offset_millis(void) {
    const char *path = getenv("CLOCK_OFFSET_FILE");
    if (path) return *shared_offset(path);
    const char *millis = getenv("CLOCK_OFFSET_MILLIS");
    return millis ? atoll(millis) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = ((int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime"))(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        long long nanos = now->tv_nsec + offset_millis() % 1000 * 1000000;
        now->tv_sec += offset_millis() / 1000 + nanos / 1000000000 - (nanos < 0);
        now->tv_nsec = (nanos % 1000000000 + 1000000000) % 1000000000;
    }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec time;
    int result = clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return result;
}

time_t time(time_t *now) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    if (now) *now = time.tv_sec;
    return time.tv_sec;
}
