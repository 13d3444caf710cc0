/* A Gaussian process, an optimizer, a prior file and a search with it, a reporter, an agent of a federation and its frames,
 * two members of a federated prior (member.c), each in static memory. It prints a digest of what every one of them answered:
 * `examples/reference.rs` makes the same calls in Rust and prints the same lines.
 *
 * `cargo xtask c` runs it on this machine and on a Cortex-M4F in QEMU. The entropy here is a counter, so that the digests
 * can be compared: it protects nobody. */

#include "example.h"

#include "federation.h" /* sordino export firmware --lang c */

#define SLOTS 64

typedef struct {
    uint8_t bytes[SLOTS][SORDINO_OPTIMIZER_SLOT];
    uint32_t writes;
} flash_t;

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
    flash->writes++;
    return slot < SLOTS ? 0 : -1;
}

/* A flash after it was erased. */
static sordino_flash erased(flash_t *flash) {
    sordino_flash lent = {flash, read_slot, write_slot};
    for (size_t slot = 0; slot < SLOTS; slot++) {
        for (size_t i = 0; i < sizeof flash->bytes[slot]; i++) {
            flash->bytes[slot][i] = 0xff;
        }
    }
    flash->writes = 0;
    return lent;
}

/* NOT a generator: consecutive numbers, stirred. */
static int32_t count_up(void *context, uint8_t *bytes, size_t len) {
    uint32_t *counter = (uint32_t *)context;
    for (size_t i = 0; i < len; i++) {
        uint32_t x = ++*counter * 2654435761u;
        bytes[i] = (uint8_t)(x >> 24);
    }
    return 0;
}

static int process(void) {
    _Alignas(SORDINO_ALIGN) static uint8_t memory[SORDINO_GP_SIZE(2, 12)];
    sordino_gp_settings settings = {2, 12, SORDINO_MATERN_52, 1, 0.3f, 1.0f, 0.01f, 0.25f};
    sordino_gp *gp;
    uint64_t digest = EMPTY;
    OK(sordino_gp_new(memory, sizeof memory, &settings, &gp, NULL));
    for (uint32_t i = 0; i < 15; i++) {
        float point[2] = {(float)(i * 7 % 15) / 15.0f, (float)(i * 4 % 15) / 15.0f};
        OK(sordino_gp_observe(gp, point, 2, point[0] - point[1] * point[1], NULL));
        for (uint32_t j = 0; j < 4; j++) {
            float at[2] = {(float)j / 4.0f, 0.5f}, mean, variance;
            OK(sordino_gp_posterior(gp, at, 2, &mean, &variance));
            fold(&digest, mean);
            fold(&digest, variance);
        }
    }
    float likelihood;
    OK(sordino_gp_describe(gp, NULL, &likelihood));
    fold(&digest, likelihood);
    tell("gp", digest);
    return 0;
}

/* An update of the program widens the box: the flash is another optimizer's, until its data are given up. */
static int given_up(void *memory, size_t size, sordino_optimizer_settings settings, flash_t *chip,
                    const sordino_flash *flash) {
    sordino_optimizer *optimizer;
    uint32_t told, writes = chip->writes;
    settings.high[0] = 4.0;
    int32_t status = sordino_optimizer_open(memory, size, &settings, flash, &optimizer, NULL);
    if (status != SORDINO_STATUS_STORED_FOREIGN || chip->writes != writes) {
        return __LINE__;
    }
    OK(sordino_optimizer_erase(&settings, flash, NULL));
    OK(sordino_optimizer_open(memory, size, &settings, flash, &optimizer, NULL));
    OK(sordino_optimizer_describe(optimizer, NULL, &told, NULL, NULL));
    return told == 0 ? 0 : __LINE__;
}

/* Asks, tells, fits once, is reset in between, and asks on. */
static int optimizer(void) {
    _Alignas(SORDINO_ALIGN) static uint8_t memory[SORDINO_OPTIMIZER_SIZE(2, 14)];
    static flash_t chip;
    _Static_assert(SORDINO_OPTIMIZER_SLOTS(14, 8) <= SLOTS, "observations and fits");
    sordino_flash flash = erased(&chip);
    sordino_optimizer_settings settings;
    sordino_optimizer *optimizer;
    uint64_t digest = EMPTY;
    uint32_t told, just_fitted;
    float point[2], mean;
    int32_t status;
    OK(sordino_optimizer_usual(2, 14, &settings));
    settings.high[0] = 3.0;
    settings.low[1] = -1.0;
    settings.fits = 8;
    OK(sordino_optimizer_open(memory, sizeof memory, &settings, &flash, &optimizer, NULL));
    for (;;) {
        OK(sordino_optimizer_describe(optimizer, NULL, &told, NULL, &just_fitted));
        if (told == 9 && !just_fitted) {
            while ((status = sordino_optimizer_fit(optimizer, 7, NULL)) == SORDINO_STATUS_PENDING) {
            }
            OK(status);
            /* The power fails: what is in memory is gone. */
            OK(sordino_optimizer_open(memory, sizeof memory, &settings, &flash, &optimizer, NULL));
            continue;
        }
        if (told == 14) {
            break;
        }
        while ((status = sordino_optimizer_suggest(optimizer, 50, point, 2)) == SORDINO_STATUS_PENDING) {
            /* Here a watchdog is fed. */
        }
        OK(status);
        fold(&digest, point[0]);
        fold(&digest, point[1]);
        float away = point[0] - 2.0f;
        OK(sordino_optimizer_observe(optimizer, point, 2, -away * away - point[1] * point[1]));
    }
    OK(sordino_optimizer_best(optimizer, point, 2, &mean));
    fold(&digest, point[0]);
    fold(&digest, point[1]);
    fold(&digest, mean);
    tell("optimizer", digest);
    return given_up(memory, sizeof memory, settings, &chip, &flash);
}

/* What `sordino prior export --lang c` writes as constants: landmarks in the square, and what is known at them. */
enum { LANDMARKS = 8, CANDIDATES = 20, TOLD = 10 };

static float file_landmarks[2 * LANDMARKS], file_weights[LANDMARKS], file_covariance[SORDINO_PACKED(LANDMARKS)];
static float file_factor[SORDINO_PACKED(LANDMARKS)], list[2 * CANDIDATES], said[2 * CANDIDATES];

static sordino_prior_numbers file(void) {
    sordino_prior_numbers numbers = {2, 0.3f, 4.0f, file_landmarks, 2 * LANDMARKS, file_weights, LANDMARKS,
                                     file_covariance, SORDINO_PACKED(LANDMARKS), NULL, 0};
    for (uint32_t i = 0; i < LANDMARKS; i++) {
        file_landmarks[2 * i] = ((float)(i * 3 % 8) + 0.5f) / 8.0f;
        file_landmarks[2 * i + 1] = ((float)(i * 5 % 8) + 0.5f) / 8.0f;
        file_weights[i] = (float)(i * 7 % 8) * 0.25f - 0.75f;
        for (uint32_t j = 0; j <= i; j++) {
            file_covariance[SORDINO_PACKED(i) + j] = i == j ? 0.125f : i == j + 1 ? 0.015625f : 0.0f;
        }
    }
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        list[2 * i] = ((float)(i * 7 % 20) + 0.5f) / 20.0f;
        list[2 * i + 1] = ((float)(i * 3 % 20) + 0.5f) / 20.0f;
    }
    return numbers;
}

/* A search in slices, with a reset after six observations: what was told is in `flash` then, and nothing else. */
static int search(const sordino_prior *prior, const float *moments, uint64_t *digest) {
    _Alignas(SORDINO_ALIGN) static uint8_t memory[SORDINO_NEWCOMER_SIZE(LANDMARKS, TOLD, 1)];
    static sordino_newcomer_entry flash[TOLD];
    sordino_newcomer_settings settings;
    sordino_newcomer *newcomer;
    uint32_t candidate;
    float mean, trust;
    int32_t status;
    OK(sordino_newcomer_usual(2, TOLD, list, 2 * CANDIDATES, &settings));
    settings.moments = moments;
    settings.moments_len = moments == NULL ? 0 : 2 * CANDIDATES;
    OK(sordino_newcomer_open(memory, sizeof memory, &settings, prior, NULL, 0, &newcomer, NULL));
    for (uint32_t i = 0; i < TOLD; i++) {
        if (i == 6) {
            OK(sordino_newcomer_open(memory, sizeof memory, &settings, prior, flash, i, &newcomer, NULL));
        }
        while ((status = sordino_newcomer_suggest(newcomer, 5, &candidate)) == SORDINO_STATUS_PENDING) {
            /* Here a watchdog is fed. */
        }
        OK(status);
        float away = list[2 * candidate] - 0.3f;
        flash[i].candidate = candidate;
        flash[i].value = 700.0f - 30.0f * away * away - 20.0f * list[2 * candidate + 1];
        OK(sordino_newcomer_observe(newcomer, candidate, flash[i].value));
        fold(digest, (float)candidate);
        fold(digest, flash[i].value);
    }
    OK(sordino_newcomer_best(newcomer, &candidate, &mean));
    fold(digest, (float)candidate);
    fold(digest, mean);
    OK(sordino_newcomer_trust(newcomer, &trust));
    fold(digest, trust);
    return 0;
}

/* The file with its factor in memory, and with both tables as a device has them in flash: the same questions. Then alone. */
static int prior(void) {
    _Alignas(SORDINO_ALIGN) static uint8_t memory[SORDINO_PRIOR_SIZE(LANDMARKS)], small[SORDINO_PRIOR_HEAD];
    static float scratch[SORDINO_PACKED(LANDMARKS)];
    sordino_prior_numbers numbers = file();
    sordino_prior *attached;
    uint64_t digest = EMPTY, again = EMPTY;
    uint32_t reading;
    int line;
    OK(sordino_prior_attach(memory, sizeof memory, &numbers, NULL, 0, &attached, NULL));
    OK(sordino_prior_describe(attached, &reading, NULL, NULL));
    if (reading != SORDINO_READING_TRUSTED) {
        return __LINE__;
    }
    OK(sordino_prior_factor(attached, file_factor, SORDINO_PACKED(LANDMARKS)));
    OK(sordino_prior_moments(attached, list, CANDIDATES, said, scratch, LANDMARKS));
    if ((line = search(attached, NULL, &digest)) != 0) {
        return line;
    }
    numbers.factor = file_factor;
    numbers.factor_len = SORDINO_PACKED(LANDMARKS);
    OK(sordino_prior_attach(small, sizeof small, &numbers, scratch, SORDINO_PACKED(LANDMARKS), &attached, NULL));
    if ((line = search(attached, said, &again)) != 0 || digest != again) {
        return line != 0 ? line : __LINE__;
    }
    if ((line = search(NULL, NULL, &digest)) != 0) {
        return line;
    }
    for (uint32_t i = 0; i < SORDINO_PACKED(LANDMARKS); i++) {
        fold(&digest, file_factor[i]);
    }
    for (uint32_t i = 0; i < 2 * CANDIDATES; i++) {
        fold(&digest, said[i]);
    }
    tell("prior", digest);
    return 0;
}

/* Two reports of epsilon 0.5 are paid for; a third is refused, also after a reset. */
static int reporter(void) {
    _Alignas(SORDINO_ALIGN) static uint8_t memory[SORDINO_REPORTER_SIZE];
    static flash_t chip;
    static uint32_t counter;
    sordino_flash flash = erased(&chip);
    sordino_entropy entropy = {&counter, count_up};
    sordino_reporter_settings settings = {1.5, 0.5, 1.0, 20, 7};
    sordino_reporter *reporter;
    uint64_t digest = EMPTY;
    OK(sordino_reporter_open(memory, sizeof memory, &settings, &flash, &entropy, &reporter, NULL));
    for (uint32_t i = 0; i < 2; i++) {
        float report;
        OK(sordino_reporter_query(reporter, i));
        OK(sordino_reporter_reward(reporter, 0.8f - (float)i, &report));
        fold(&digest, report);
    }
    OK(sordino_reporter_open(memory, sizeof memory, &settings, &flash, &entropy, &reporter, NULL));
    if (sordino_reporter_query(reporter, 2) != SORDINO_STATUS_BUDGET) {
        return __LINE__;
    }
    double spent;
    OK(sordino_reporter_describe(reporter, &spent, NULL, NULL));
    fold(&digest, (float)spent);
    tell("reporter", digest);
    return 0;
}

/* An agent's whole run, with a reset in the middle of the third round. */
static int whole_run(const char *part, const sordino_agent_settings *settings, void *memory, size_t size) {
    static float vectors[SORDINO_FEATURES * SORDINO_REGIONS];
    static flash_t chip;
    sordino_flash flash = erased(&chip);
    sordino_agent *agent;
    sordino_answer answer;
    uint8_t agreed[SORDINO_DIGEST_BYTES];
    uint64_t digest = EMPTY;
    uint32_t round = 0, len = settings->features;
    for (uint32_t axis = 0; axis < settings->dim; axis++) {
        len *= settings->splits[axis];
    }
    OK(sordino_agent_digest(settings, agreed));
    fold_bytes(&digest, agreed, sizeof agreed);
    OK(sordino_agent_open(memory, size, settings, &flash, &agent, NULL));
    int32_t status = sordino_agent_start(agent, 0, &answer);
    while (answer.kind != SORDINO_ANSWER_KIND_DONE || status == SORDINO_STATUS_PENDING) {
        OK(status);
        fold(&digest, (float)answer.kind);
        for (uint32_t i = 0; i < answer.len; i++) {
            fold(&digest, answer.numbers[i]);
        }
        if (answer.kind == SORDINO_ANSWER_KIND_EVALUATE) {
            float y = 1.0f;
            for (uint32_t axis = 0; axis < answer.len; axis++) {
                y *= answer.numbers[axis];
            }
            if (round == 3) {
                OK(sordino_agent_open(memory, size, settings, &flash, &agent, NULL));
                OK(sordino_agent_repeat(agent, &answer));
                fold(&digest, (float)answer.candidate);
            }
            while ((status = sordino_agent_observed(agent, y, 3, &answer)) == SORDINO_STATUS_PENDING) {
            }
        } else {
            round++;
            for (uint32_t i = 0; i < len; i++) {
                vectors[i] = (float)((i * 5 + round) % 11) - 5.0f;
            }
            while ((status = sordino_agent_broadcast(agent, vectors, len, 3, &answer)) == SORDINO_STATUS_PENDING) {
            }
        }
    }
    OK(status);
    tell(part, digest);
    return 0;
}

/* Three initial points, five rounds, two axes; every setting is written here. */
static int agent(void) {
    _Alignas(SORDINO_ALIGN) static uint8_t memory[SORDINO_AGENT_SIZE(2, 16, 8)];
    sordino_agent_settings settings;
    OK(sordino_agent_usual(2, 6, 5, 16, &settings));
    settings.initial_points = 3;
    settings.agent = 2;
    settings.seed = 9;
    settings.feature_seed = 5;
    settings.splits[0] = 2;
    return whole_run("agent", &settings, memory, sizeof memory);
}

/* Agent 2 of the federation of federation.h; none of its settings is written here but its seed. */
static const sordino_agent_settings exported = SORDINO_AGENT_SETTINGS(2, 9);

static int written(void) {
    _Alignas(SORDINO_ALIGN) static uint8_t memory[SORDINO_AGENT_SIZE(SORDINO_DIM, SORDINO_FEATURES, SORDINO_OBSERVATIONS)];
    return whole_run("exported", &exported, memory, sizeof memory);
}

/* The frame with which the federation of federation.h begins, as its server sends it. */
static const uint8_t opening[] = {
    0x02, 0x02, 0x00, 0xcf, 0xb6, 0xac, 0x9f, 0x94, 0xfe, 0x85, 0xc8, 0xaa, 0x01, 0xd8, 0x8c, 0xbe,
    0xda, 0x97, 0xc8, 0xcd, 0xa5, 0x9c, 0x01, 0xef, 0xcc, 0x9d, 0xc1, 0xca, 0xac, 0xb6, 0xd7, 0xe0,
    0x01, 0x00, 0x00, 0x00, 0x00, 0x1c, 0xb3, 0xca, 0xed,
};

/* The first round: the server's frame, the answer of agent 2, the same in packets of 51 bytes and in 16 bits. */
static int frames(void) {
    _Alignas(SORDINO_ALIGN) static uint8_t memory[SORDINO_REASSEMBLY_SIZE(SORDINO_UPLOAD_BYTES)];
    static uint8_t frame[SORDINO_UPLOAD_BYTES], small[SORDINO_SMALL_UPLOAD_BYTES];
    static float weights[SORDINO_FEATURES], back[SORDINO_FEATURES];
    uint8_t history[SORDINO_DIGEST_BYTES], packet[51];
    sordino_frame_header header;
    sordino_reassembly *pieces;
    const uint8_t *whole;
    uint64_t digest = EMPTY, agreed;
    size_t len, used;
    int32_t status = SORDINO_STATUS_PENDING;
    OK(sordino_prefix(SORDINO_DIGEST, &agreed));
    OK(sordino_frame_read(opening, sizeof opening, &header, NULL, 0));
    if (header.config != agreed || header.kind != SORDINO_FRAME_NO_BROADCAST || header.round != 0) {
        return __LINE__; /* of another federation */
    }
    OK(sordino_frame_chain(SORDINO_DIGEST, opening, sizeof opening, history));
    fold_bytes(&digest, opening, sizeof opening);
    fold_bytes(&digest, history, sizeof history);
    for (uint32_t i = 0; i < SORDINO_FEATURES; i++) {
        weights[i] = (float)(i % 7) * 0.25f - 0.75f;
    }
    /* The answer has the marks of what it answers. */
    header.kind = SORDINO_FRAME_UPLOAD;
    header.agent = 2;
    OK(sordino_prefix(history, &header.chain));
    OK(sordino_frame_write(&header, weights, SORDINO_FEATURES, frame, sizeof frame, &len));
    fold_bytes(&digest, frame, len);
    OK(sordino_reassembly_new(memory, sizeof memory, &pieces));
    for (size_t i = 0; i < sordino_fragment_count(len, sizeof packet); i++) {
        OK(sordino_fragment_write(frame, len, i, packet, sizeof packet, &used));
        fold_bytes(&digest, packet, used);
        status = sordino_reassembly_push(pieces, packet, used, &whole, &len);
    }
    OK(status);
    OK(sordino_frame_read(whole, len, &header, back, SORDINO_FEATURES));
    for (uint32_t i = 0; i < SORDINO_FEATURES; i++) {
        if (header.len != SORDINO_FEATURES || back[i] != weights[i]) {
            return __LINE__;
        }
    }
    OK(sordino_frame_write_small(&exported, &header, weights, SORDINO_FEATURES, small, sizeof small, &used));
    fold_bytes(&digest, small, used);
    tell("frames", digest);
    return 0;
}

/* The macros for static memory are the functions. */
static int sizes(void) {
    for (uint32_t dim = 1; dim <= SORDINO_DIM_MAX; dim++) {
        for (uint32_t n = 1; n <= 64; n++) {
            if (sordino_gp_size(dim, n) != SORDINO_GP_SIZE(dim, n) ||
                sordino_optimizer_size(dim, n) != SORDINO_OPTIMIZER_SIZE(dim, n) ||
                sordino_agent_size(dim, n, n + 3) != SORDINO_AGENT_SIZE(dim, n, n + 3) ||
                sordino_prior_size(n) != SORDINO_PRIOR_SIZE(n) ||
                sordino_newcomer_size(n - 1, 2 * dim, n) != SORDINO_NEWCOMER_SIZE(n - 1, 2 * dim, n) ||
                sordino_site_size(n + 2, 3 * dim) != SORDINO_SITE_SIZE(n + 2, 3 * dim) ||
                sordino_member_size(9 * n, n, dim, 2 * n, 256) != SORDINO_MEMBER_SIZE(9 * n, n, dim, 2 * n, 256) ||
                sordino_member_size(9 * n, dim, n, dim, 7) != SORDINO_MEMBER_SIZE(9 * n, dim, n, dim, 7)) {
                return __LINE__;
            }
        }
    }
    return 0;
}

/* Stack of what ran, as "stack gp 1a4". */
static void tell_stack(const char *name, uint32_t bytes) {
    char line[32] = "stack ";
    int at = 6;
    while (*name != 0 && at < 20) {
        line[at++] = *name++;
    }
    line[at++] = ' ';
    for (int shift = 12; shift >= 0; shift -= 4) {
        line[at++] = "0123456789abcdef"[(bytes >> shift) & 15];
    }
    line[at] = 0;
    say(line);
}

int device(void) {
    static const struct {
        const char *name;
        int (*run)(void);
    } parts[] = {
        {"sizes", sizes},       {"gp", process},  {"optimizer", optimizer}, {"prior", prior},
        {"reporter", reporter}, {"agent", agent}, {"exported", written},    {"frames", frames},
#ifndef WITHOUT_MEMBERS
        {"one-server", one_server}, {"two-servers", two_servers},
#endif
        {"site", site},
    };
    if (sordino_version() != SORDINO_VERSION) {
        say("header and library are of different versions");
        return 1;
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int line;
        uint32_t stack = stack_of(parts[i].run, &line);
        if (line != 0) {
            tell("failed in line", (uint64_t)line);
            return 1;
        }
        if (stack != 0) {
            tell_stack(parts[i].name, stack);
        }
    }
    return 0;
}
