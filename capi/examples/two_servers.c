/* A member of a federation with two servers, of which neither sees a contribution. */

#include "example.h"

#include "two_servers.h" /* sordino export firmware --lang c --set …: capi/README.md */

int two_servers(void) {
    _Alignas(SORDINO_ALIGN) static uint8_t memory[SORDINO_MEMBER_BYTES];
    static double doubles[SORDINO_MEMBER_DOUBLES_LEN];
    /* On a device 32 bytes of its entropy, drawn once, and a key that the helper's owner told. */
    static const uint8_t own[SORDINO_KEY_BYTES] = {1, 2, 3}, others[SORDINO_KEY_BYTES] = {4, 5, 6};
    uint8_t helper[SORDINO_KEY_BYTES];
    OK(sordino_member_public_key(others, helper));
    member_parts parts = {SORDINO_MEMBER_SETTINGS(2, 9, own, helper), memory,           sizeof memory,   doubles,
                          SORDINO_MEMBER_DOUBLES_LEN,                 SORDINO_RELEASES, SORDINO_FEATURES};
    return run_member("two-servers", &parts);
}
