/* A member of a federated prior from its first frame to its last, which is reset between any two calls. What was released is
 * made up here; a server sends it. */

#include "example.h"

enum { SLOTS = 32, FEATURES = 16 };

typedef struct {
    uint8_t bytes[SLOTS][SORDINO_MEMBER_SLOT];
} flash_t;

static flash_t chip;

static int32_t read_slot(void *context, uint32_t slot, uint8_t *bytes, size_t len) {
    const flash_t *flash = (const flash_t *)context;
    for (size_t i = 0; i < len; i++) {
        bytes[i] = flash->bytes[slot % SLOTS][i];
    }
    return slot < SLOTS ? 0 : -1;
}

static int32_t write_slot(void *context, uint32_t slot, const uint8_t *bytes, size_t len) {
    flash_t *flash = (flash_t *)context;
    for (size_t i = 0; i < len; i++) {
        flash->bytes[slot % SLOTS][i] = bytes[i];
    }
    return slot < SLOTS ? 0 : -1;
}

static void erase(uint32_t from, uint32_t until) {
    for (uint32_t slot = from; slot < until; slot++) {
        for (size_t i = 0; i < sizeof chip.bytes[slot]; i++) {
            chip.bytes[slot][i] = 0xff;
        }
    }
}

static int32_t boot(const member_parts *parts, sordino_member **member) {
    const sordino_flash flash = {&chip, read_slot, write_slot};
    return sordino_member_open(parts->memory, parts->size, &parts->settings, &flash, parts->doubles, parts->doubles_len,
                               member, NULL);
}

/* The power fails: the member is built again of what its flash holds, and says the same. */
static int reset(const member_parts *parts, sordino_member **member, sordino_answer *answer) {
    sordino_answer before = *answer;
    float numbers[FEATURES + 1] = {0};
    for (uint32_t i = 0; i < before.len && i <= FEATURES; i++) {
        numbers[i] = before.numbers[i];
    }
    for (size_t i = 0; i < parts->size; i++) {
        ((uint8_t *)parts->memory)[i] = 0x5a;
    }
    OK(boot(parts, member));
    OK(sordino_member_repeat(*member, answer));
    if (answer->kind != before.kind || answer->candidate != before.candidate || answer->len != before.len) {
        return __LINE__;
    }
    for (uint32_t i = 0; i < answer->len; i++) {
        if (answer->numbers[i] != numbers[i]) {
            return __LINE__;
        }
    }
    return 0;
}

/* What goes to the leader: the same bytes as long as the power is there, another mask afterwards. */
static int hidden(const member_parts *parts, sordino_member **member, uint32_t round, uint64_t *digest) {
    uint8_t first[SORDINO_HIDDEN_SIZE(FEATURES)], again[SORDINO_HIDDEN_SIZE(FEATURES)];
    sordino_answer answer;
    size_t used, len;
    int line;
    OK(sordino_member_repeat(*member, &answer));
    OK(sordino_member_hide(*member, round, first, sizeof first, &used));
    OK(sordino_member_hide(*member, round, again, sizeof again, &len));
    for (size_t i = 0; i < used; i++) {
        if (len != used || first[i] != again[i]) {
            return __LINE__;
        }
    }
    fold_bytes(digest, first, used);
    if ((line = reset(parts, member, &answer)) != 0) {
        return line;
    }
    OK(sordino_member_hide(*member, round, again, sizeof again, &len));
    if (first[0] + 1 != again[0]) {
        return __LINE__; /* a mask that served before */
    }
    fold_bytes(digest, again, len);
    return 0;
}

/* A device that lost what says which masks were used does not go on. */
static int forgotten(const member_parts *parts, sordino_member **member) {
    erase(2, 4);
    return boot(parts, member) == SORDINO_STATUS_MASKS ? 0 : __LINE__;
}

int run_member(const char *name, const member_parts *parts) {
    float released[FEATURES + 1];
    sordino_member *member;
    sordino_answer answer;
    uint64_t digest = EMPTY;
    uint32_t round = 0, over;
    int line;
    erase(0, SLOTS);
    OK(boot(parts, &member));
    OK(sordino_member_frame(member, 0, NULL, 0, 0, &answer));
    while (answer.kind != SORDINO_ANSWER_KIND_DONE) {
        if ((line = reset(parts, &member, &answer)) != 0) {
            return line;
        }
        fold(&digest, (float)answer.kind);
        fold(&digest, (float)answer.candidate);
        for (uint32_t i = 0; i < answer.len; i++) {
            fold(&digest, answer.numbers[i]);
        }
        if (answer.kind == SORDINO_ANSWER_KIND_EVALUATE) {
            OK(sordino_member_observed(member, 1.0f - answer.numbers[0], &answer));
            continue;
        }
        if (answer.kind == SORDINO_ANSWER_KIND_HIDE && (line = hidden(parts, &member, round, &digest)) != 0) {
            return line;
        }
        round++;
        for (uint32_t i = 0; i < parts->features; i++) {
            released[i] = ((float)((i * 5 + round) % 11) - 5.0f) * 0.0625f;
        }
        released[parts->features] = 1.75f;
        OK(sordino_member_frame(member, round, released, parts->features + 1, 0, &answer));
        /* The frame comes once more: nothing is learned twice. */
        OK(sordino_member_frame(member, round, released, parts->features + 1, 0, &answer));
    }
    OK(sordino_member_describe(member, NULL, NULL, NULL, &over));
    if (round != parts->releases || !over) {
        return __LINE__;
    }
    tell(name, digest);
    return parts->settings.helper_key == NULL ? 0 : forgotten(parts, &member);
}
