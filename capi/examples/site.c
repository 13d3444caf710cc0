/* A site of a campaign, from its first values to its last contribution. What the server sends was written down beforehand; it then
 * has the file of the campaign, with which it goes on as the newcomer in device.c. */

#include "example.h"

#include "campaign.h" /* sordino terms INVITATION --format c */
#include "campaign_frames.h"

enum { MEASURED = SORDINO_FIRST_POINTS };

/* The power fails, and the site is built again of the values in its flash: it contributes the same. */
static int32_t boot(void *memory, size_t size, const double *points, const double *values, sordino_site **site) {
    static const sordino_site_settings settings = SORDINO_SITE_SETTINGS;
    return sordino_site_open(memory, size, &settings, points, (size_t)MEASURED * SORDINO_DIM, values, MEASURED, site, NULL);
}

int site(void) {
    _Alignas(SORDINO_ALIGN) static uint8_t memory[SORDINO_SITE_SIZE(MEASURED, SORDINO_FEATURES)];
    static double points[MEASURED * SORDINO_DIM], values[MEASURED];
    static const struct {
        const uint8_t *frame, *opening;
        size_t frame_len, opening_len;
    } rounds[SORDINO_RELEASES] = {
        {FRAME_0, OPENING_0, sizeof FRAME_0, sizeof OPENING_0},
        {FRAME_1, OPENING_1, sizeof FRAME_1, sizeof OPENING_1},
    };
    uint8_t history[SORDINO_DIGEST_BYTES], frame[SORDINO_SITE_FRAME_SIZE(SORDINO_FEATURES)];
    uint64_t digest = EMPTY;
    for (size_t i = 0; i < MEASURED; i++) {
        for (size_t axis = 0; axis < SORDINO_DIM; axis++) {
            points[i * SORDINO_DIM + axis] = (double)SORDINO_POINTS[(37 * i + 5) * SORDINO_DIM + axis];
        }
        /* Measured at SORDINO_NUMBERS of this point, in a unit of its own. */
        values[i] = (SORDINO_MINIMISES ? -1.0 : 1.0) * (2000.0 + 0.25 * (double)((7 * i) % 11));
    }
    for (size_t i = 0; i < sizeof history; i++) {
        history[i] = SORDINO_DIGEST[i];
    }
    for (uint32_t round = 0; round < SORDINO_RELEASES; round++) {
        sordino_frame_header header;
        sordino_site *site;
        size_t len;
        for (size_t i = 0; i < sizeof memory; i++) {
            memory[i] = 0x5a;
        }
        OK(boot(memory, sizeof memory, points, values, &site));
        OK(sordino_frame_marks(rounds[round].frame, rounds[round].frame_len, &header));
        OK(sordino_frame_chain(history, rounds[round].frame, rounds[round].frame_len, history));
        /* The answer has the marks of what it answers. */
        header.kind = SORDINO_FRAME_UPLOAD;
        header.agent = 3;
        OK(sordino_prefix(history, &header.chain));
        OK(sordino_site_contribution(site, &header, rounds[round].opening, rounds[round].opening_len, frame, sizeof frame,
                                     &len));
        fold_bytes(&digest, frame, len);
        /* An opening of another round is none of this one. */
        header.round ^= 1;
        if (sordino_site_contribution(site, &header, rounds[round].opening, rounds[round].opening_len, frame, sizeof frame,
                                      &len) != SORDINO_STATUS_FOREIGN) {
            return __LINE__;
        }
    }
    /* The file, before the last frame is answered; then a first question of the search with it. */
    {
        static float numbers[SORDINO_SITE_FILE_NUMBERS(SORDINO_DIM, SORDINO_FEATURES)];
        _Alignas(SORDINO_ALIGN) static uint8_t attached[SORDINO_PRIOR_SIZE(SORDINO_FEATURES)];
        sordino_prior_numbers file;
        sordino_prior *prior;
        sordino_site *site;
        uint32_t reading;
        OK(boot(memory, sizeof memory, points, values, &site));
        if (sordino_site_file(site, history, FILE_2, sizeof FILE_2, numbers, sizeof numbers / sizeof numbers[0], &file) !=
            SORDINO_STATUS_FOREIGN) {
            return __LINE__;
        }
        OK(sordino_frame_chain(history, FRAME_2, sizeof FRAME_2, history));
        OK(sordino_site_file(site, history, FILE_2, sizeof FILE_2, numbers, sizeof numbers / sizeof numbers[0], &file));
        OK(sordino_prior_attach(attached, sizeof attached, &file, NULL, 0, &prior, NULL));
        OK(sordino_prior_describe(prior, &reading, NULL, NULL));
        fold_bytes(&digest, FILE_2, sizeof FILE_2);
        for (size_t i = 0; i < file.weights_len; i++) {
            fold(&digest, file.weights[i]);
        }
    }
    /* To the last frame, and to a release of which the contribution is SORDINO_STATUS_SINGULAR, the answer has no numbers. */
    {
        sordino_frame_header none = {0};
        size_t len;
        none.kind = SORDINO_FRAME_UPLOAD;
        none.round = SORDINO_RELEASES;
        OK(sordino_frame_write(&none, NULL, 0, frame, sizeof frame, &len));
        fold_bytes(&digest, frame, len);
    }
    tell("site", digest);
    return 0;
}
