// Times the reference implementation of Argon2id at Doorward's cost, with reused memory, and prints its hash.
// Built by bench/run with the sources of the reference, for the CPU of this machine.

#include <argon2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint8_t *memory;

static int take(uint8_t **taken, size_t bytes) {
    if (!memory) memory = aligned_alloc(64, bytes);
    *taken = memory;
    return memory ? ARGON2_OK : ARGON2_MEMORY_ALLOCATION_ERROR;
}

static void keep(uint8_t *taken, size_t bytes) {
    (void)taken;
    (void)bytes;
}

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
    char password[] = "correct horse battery", salt[] = "sixteen bytes ok";
    uint8_t output[32];
    double started = 0, cpu_before = 0, wanted = count > 1 ? atof(arguments[1]) : 2.0;
    // The first hash does not count: it is slower, because its memory comes from the kernel.
    int hashes = -1;
    do {
        argon2_context context = {
            .out = output, .outlen = sizeof output,
            .pwd = (uint8_t *)password, .pwdlen = strlen(password),
            .salt = (uint8_t *)salt, .saltlen = strlen(salt),
            .t_cost = 2, .m_cost = 19456, .lanes = 1, .threads = 1, .version = ARGON2_VERSION_13,
            .allocate_cbk = take, .free_cbk = keep,
        };
        if (argon2id_ctx(&context) != ARGON2_OK) return 1;
        if (++hashes == 0) {
            started = seconds(CLOCK_MONOTONIC);
            cpu_before = seconds(CLOCK_PROCESS_CPUTIME_ID);
        }
    } while (seconds(CLOCK_MONOTONIC) - started < wanted);
    double took = seconds(CLOCK_MONOTONIC) - started;
    printf("{\"rate\": %f, \"cpu_ms\": %f, \"hash\": \"", hashes / took,
           (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_before) * 1000 / hashes);
    for (size_t place = 0; place < sizeof output; place++) printf("%02x", output[place]);
    printf("\"}\n");
}
