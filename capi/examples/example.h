/* What the parts of the example share: how they say something, and digests of what was answered. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include "sordino.h"

void say(const char *line); /* board.c: standard output, or semihosting */
uint32_t stack_of(int (*part)(void), int *came_to); /* runs a part; bytes of stack, 0 on this machine */

/* What is asked of the device: one statement, or the line where it went wrong. */
#define OK(call)                             \
    do {                                     \
        int32_t came_to = (call);            \
        if (came_to != SORDINO_STATUS_OK) {  \
            say(sordino_message(came_to));   \
            return __LINE__;                 \
        }                                    \
    } while (0)

#define EMPTY UINT64_C(0xcbf29ce484222325)

/* FNV-1a over bytes. */
static inline void fold_bytes(uint64_t *digest, const uint8_t *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) {
        *digest = (*digest ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
}

/* FNV-1a over the bits of a number. */
static inline void fold(uint64_t *digest, float number) {
    union {
        float number;
        uint32_t bits;
    } both = {number};
    for (int shift = 0; shift < 32; shift += 8) {
        *digest = (*digest ^ ((both.bits >> shift) & 0xff)) * UINT64_C(0x100000001b3);
    }
}

static inline void tell(const char *name, uint64_t digest) {
    char line[40];
    int at = 0;
    while (*name != 0 && at < 20) {
        line[at++] = *name++;
    }
    line[at++] = ' ';
    for (int shift = 60; shift >= 0; shift -= 4) {
        line[at++] = "0123456789abcdef"[(digest >> shift) & 15];
    }
    line[at] = 0;
    say(line);
}

/* The members of two federations: one_server.c and two_servers.c, which run what is in member.c. */
int one_server(void);
int two_servers(void);

/* What a member is opened with. */
typedef struct {
    sordino_member_settings settings;
    void *memory;
    size_t size;
    double *doubles;
    size_t doubles_len;
    uint32_t releases, features;
} member_parts;

int run_member(const char *name, const member_parts *parts);

/* A site of a campaign: site.c. */
int site(void);

#endif
