/* Scenario `firmware`, method `dp-fts-de`, for a device: written by `sordino export`, not by hand.
 *
 * Seeds. Public: feature seed 0 (run 0), from which every party draws the same
 * features, and deployment aa9017f143eb1b4f, a random number drawn once for the federation.
 * Secret: the seed of the agent's own draws (RunSeed::new(word, 0)). Draw its word from the
 * device's entropy once in its life and store it with the state; never take it from a scenario,
 * a serial number or another device, and never send it: who knows it knows what of an upload is
 * data and what is noise of the draw. The privacy of a release does not rest on it: that noise
 * is the server's. Coins of mixing and initial points come from the same seed: nothing else is
 * random on a device.
 */
#ifndef SORDINO_EXPORT_H
#define SORDINO_EXPORT_H

/* The format that agents compute with and frames carry. */
typedef float sordino_number;
/* D, axes of the domain */
#define SORDINO_DIM 1u
/* M, shared features */
#define SORDINO_FEATURES 64u
/* P, sub-regions, a vector of a broadcast for each */
#define SORDINO_REGIONS 2u
/* N_init + T, observations of a whole run */
#define SORDINO_OBSERVATIONS 36u
/* numbers of the agent's log */
#define SORDINO_LOG_LEN 72u
/* numbers of the agent's workspace */
#define SORDINO_WORKSPACE_LEN 2833u
/* numbers of the features, drawn once a boot */
#define SORDINO_FEATURES_LEN 128u
/* bytes of the longest upload */
#define SORDINO_UPLOAD_BYTES 313u
/* bytes of an upload in 16 bits a number */
#define SORDINO_SMALL_UPLOAD_BYTES 149u
/* bytes of the longest broadcast */
#define SORDINO_BROADCAST_BYTES 569u
/* bytes of a stored state */
#define SORDINO_STATE_BYTES 52u
/* bytes of a stored observation */
#define SORDINO_ENTRY_BYTES 32u
/* bytes of the agreement */
#define SORDINO_AGREEMENT_BYTES 157u
/* points along one axis of the grid of candidates */
#define SORDINO_POINTS_PER_AXIS 64u
/* digest of the agreement; frames carry its first 64 bits */
static const unsigned char SORDINO_DIGEST[32] = {
    0x58, 0x86, 0x4f, 0x7b, 0x41, 0x36, 0x4b, 0x9c, 0x58, 0xe4, 0xd8, 0x96, 0x3e, 0x44, 0xd1, 0x97,
    0x5a, 0x8f, 0xac, 0xaf, 0x8f, 0x0a, 0x98, 0x85, 0x79, 0x35, 0x6d, 0xaa, 0x94, 0x92, 0xcc, 0x53,
};
/* the agreement, all that the parties have in common */
static const unsigned char SORDINO_AGREEMENT[157] = {
    0x00, 0x08, 0x01, 0x02, 0x06, 0x1e, 0x00, 0x40, 0x7b, 0x14, 0xae, 0x47, 0xe1, 0x7a, 0x84, 0x3f,
    0x7b, 0x14, 0xae, 0x47, 0xe1, 0x7a, 0x84, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2e, 0x40, 0x0a, 0x1e, 0x02, 0x2f, 0x28, 0xbf,
    0x70, 0xe1, 0xe3, 0x28, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xd0, 0x3f, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0xf0, 0x3f, 0x14, 0x00, 0x00, 0x00, 0x00, 0x9a, 0x99, 0x99, 0x99, 0x99, 0x99,
    0xb9, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f, 0x01, 0x3a, 0x8c, 0x30, 0xe2, 0x8e,
    0x79, 0x45, 0x3e, 0xf5, 0x2b, 0x9d, 0x61, 0x75, 0x92, 0x0d, 0x69, 0x06, 0x9f, 0x8a, 0xa3, 0x85,
    0x26, 0x48, 0xcb, 0x40, 0xd1, 0x43, 0xab, 0x00, 0xb1, 0xbf, 0xdd, 0x64, 0x20, 0x3a, 0x60, 0x65,
    0x6d, 0x00, 0x1a, 0x01, 0x00, 0xcf, 0xb6, 0xac, 0x9f, 0x94, 0xfe, 0x85, 0xc8, 0xaa, 0x01, 0x00,
    0x3c, 0x53, 0xce, 0xbc, 0xf8, 0xfd, 0xb9, 0x3f, 0x80, 0xae, 0xa6, 0x0a, 0x00,
};
/* a sordino_agent_settings of sordino.h: which agent it is, and its seed, which is secret */
#define SORDINO_AGENT_SETTINGS(index, secret) \
    { \
        .seed = (secret), \
        .feature_seed = 0u, \
        .lengthscale = 0.1, \
        .signal_variance = 1.0, \
        .regularization = 0.01, \
        .noise_variance = 0.01, \
        .offset = 0.0, \
        .concentration = 15.0, \
        .clipping_norm = 12.445079348883239, \
        .sampling_probability = 0.25, \
        .noise_multiplier = 1.0, \
        .points = 0, \
        .count = 0, \
        .per_axis = SORDINO_POINTS_PER_AXIS, \
        .agent = (index), \
        .agents = 8, \
        .dim = SORDINO_DIM, \
        .splits = {2}, \
        .rounds = 6, \
        .initial_points = 30, \
        .initial_whole = 0, \
        .features = SORDINO_FEATURES, \
        .unit_norm = 1, \
        .shape = SORDINO_SQUARED_EXPONENTIAL, \
        .mixing = 0, \
        .hold = 10, \
        .decay = 30, \
        .aggregation = SORDINO_AGGREGATION_PRIVATE, \
        .grid_exponent = 20, \
    }

#endif
