/* A member of a federation with one server, which takes its contributions as frames of any agent. */

#include "example.h"

#include "one_server.h" /* sordino export firmware --lang c --set …: capi/README.md */

int one_server(void) {
    _Alignas(SORDINO_ALIGN) static uint8_t memory[SORDINO_MEMBER_BYTES];
    static double doubles[SORDINO_MEMBER_DOUBLES_LEN];
    member_parts parts = {SORDINO_MEMBER_SETTINGS(2, 9), memory,           sizeof memory,   doubles,
                          SORDINO_MEMBER_DOUBLES_LEN,    SORDINO_RELEASES, SORDINO_FEATURES};
    return run_member("one-server", &parts);
}
