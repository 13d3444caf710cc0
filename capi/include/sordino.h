/* sordino for C. Written by `cargo xtask c --write` from capi/src: do not edit.
 *
 * Memory. Nothing allocates: every object is built in memory of the caller, aligned to SORDINO_ALIGN, and stays there: it
 * must not be copied or moved. Its type is incomplete, you hold a pointer.
 *
 * Status. Functions return a status: 0 is done, 1 is "call me again", what is negative is a refusal, and sordino_message()
 * says it in English.
 *
 * Threads and interrupts. An object belongs to one thread at a time, and nothing is shared between objects: there is no
 * global, no lock, and no function switches interrupts off. An interrupt that calls a function on an object at work gets
 * SORDINO_STATUS_BUSY and changes nothing, so long as it runs on the same core; in an interrupt, rather set a flag.
 * Functions whose object is const read it only.
 *
 * Floating-point unit. Functions take, return and compute `float`: on a Cortex-M with the unit it must be on before the
 * first call (CPACR), and a task that calls is a task with floating-point context to the scheduler. A handler that calls
 * needs the lazy stacking of that context, 72 bytes more. Results rely on the default mode: round to nearest, no flush to
 * zero (FPSCR 0).
 *
 * Stack. No function recurses or has an array of variable length on the stack; the README has the bytes per kind of object,
 * measured. Objects and scratch are yours and never on the stack.
 */

#ifndef SORDINO_H
#define SORDINO_H

#include <stddef.h>
#include <stdint.h>

/* Of this header; compare it with sordino_version(). */
#define SORDINO_VERSION ((SORDINO_VERSION_MAJOR * 1000u + SORDINO_VERSION_MINOR) * 1000u + SORDINO_VERSION_PATCH)

/* Sizes for static memory, in bytes; the functions of the same names in small letters say the same at run time. */
#define SORDINO_PACKED(n) ((size_t)(n) * ((size_t)(n) + 1) / 2)
#define SORDINO_GP_NUMBERS(dim, capacity) (SORDINO_PACKED(capacity) + (size_t)(capacity) * ((size_t)(dim) + 5))
#define SORDINO_GP_SIZE(dim, capacity) (SORDINO_GP_HEAD + 4 * SORDINO_GP_NUMBERS(dim, capacity))
#define SORDINO_OPTIMIZER_SIZE(dim, capacity) \
    (SORDINO_OPTIMIZER_HEAD + 4 * (SORDINO_GP_NUMBERS(dim, capacity) + 3 * (size_t)(capacity) + SORDINO_PACKED(dim) + \
                                   SORDINO_SEARCH_POINTS * ((size_t)(dim) + 1) + 10 * (size_t)(dim)))
/* Slots of an optimizer's flash, SORDINO_OPTIMIZER_SLOT bytes each: for `capacity` observations and `fits` fits, or with
 * drop_oldest for any number of both, where `fits` is SORDINO_OPTIMIZER_RING. */
#define SORDINO_OPTIMIZER_SLOTS(capacity, fits) ((size_t)(capacity) + (size_t)(fits))
#define SORDINO_LARGER(a, b) ((a) > (b) ? (a) : (b))
#define SORDINO_PRIOR_SIZE(landmarks) (SORDINO_PRIOR_HEAD + 4 * SORDINO_PACKED(landmarks))
#define SORDINO_NEWCOMER_SIZE(landmarks, capacity, width) \
    (SORDINO_NEWCOMER_HEAD + \
     4 * (2 * SORDINO_PACKED(capacity) + (size_t)(capacity) * ((size_t)(landmarks) + 5) + \
          SORDINO_LARGER((size_t)(landmarks), (size_t)(capacity)) + ((size_t)(capacity) + 3) * (size_t)(width)))
#define SORDINO_WEIGHTS(features) \
    SORDINO_LARGER(((size_t)(features) / 2) * (size_t)(features) + SORDINO_PACKED((features) / 2) + 2 * ((size_t)(features) / 2), \
                   SORDINO_PACKED(features) + 2 * (size_t)(features))
#define SORDINO_AGENT_SIZE(dim, features, observations) \
    (SORDINO_AGENT_HEAD + 4 * (2 * (size_t)(observations) + SORDINO_WEIGHTS(features) + 3 * (size_t)(features) + \
                               (size_t)(dim) + (size_t)(features) * ((size_t)(dim) + 1)))
#define SORDINO_MEMBER_WORKSPACE(features, observations) \
    (5 * (SORDINO_PACKED(observations) + 1) + (size_t)(features) + 1 + \
     SORDINO_LARGER(SORDINO_PACKED(observations) + (size_t)(observations), 3 * (size_t)(observations) + (size_t)(features)))
#define SORDINO_MEMBER_SCRATCH(features, initial_points) \
    SORDINO_LARGER((size_t)(initial_points) * (3 * (size_t)(features) + (size_t)(initial_points) + 1) + \
                       SORDINO_PACKED(initial_points) + (size_t)(features), \
                   (size_t)(features) * (4 * (size_t)(features) + 1) + SORDINO_PACKED(features))
#define SORDINO_MEMBER_SIZE(candidates, features, initial_points, rounds, designs) \
    (SORDINO_MEMBER_HEAD + \
     4 * ((size_t)(features) * ((size_t)(candidates) + 4 * (size_t)(features) + 6) + 6 + \
          ((size_t)(designs) + 2) * (size_t)(initial_points) + 2 * (size_t)(rounds) + \
          SORDINO_MEMBER_WORKSPACE(features, (size_t)(initial_points) + (size_t)(rounds)) + \
          SORDINO_MEMBER_SCRATCH(features, initial_points)))
/* Doubles that a member takes while it is opened, and slots of its flash, SORDINO_MEMBER_SLOT bytes each. */
#define SORDINO_MEMBER_DOUBLES(dim, features) \
    ((size_t)(features) * (2 * (size_t)(features) + (size_t)(dim) + 2) + (size_t)(dim))
#define SORDINO_MEMBER_SLOTS(features, releases, observations) \
    (4 + (size_t)(releases) * (((size_t)(features) + SORDINO_MEMBER_PIECE) / SORDINO_MEMBER_PIECE) + (size_t)(observations))
/* Bytes of a hidden contribution at most. */
#define SORDINO_HIDDEN_SIZE(features) (4 + 8 * ((size_t)(features) + 1))
/* A site of so many points in a campaign of so many features, and what it sends. */
#define SORDINO_SITE_SIZE(points, features) \
    (SORDINO_SITE_HEAD + \
     8 * ((size_t)(points) * ((size_t)(features) + (size_t)(points) + 2) + 2 * (size_t)(features) + 3 + \
          SORDINO_LARGER(SORDINO_PACKED(features), SORDINO_PACKED(points) + (size_t)(points))))
#define SORDINO_SITE_FRAME_SIZE(features) (SORDINO_FRAME_OVERHEAD + 8 * ((size_t)(features) + 1))
/* Numbers of a campaign's file. */
#define SORDINO_SITE_FILE_NUMBERS(dim, features) \
    (2 + ((size_t)(dim) + 1) * (size_t)(features) + SORDINO_PACKED(features))
#define SORDINO_FRAME_SIZE(numbers) (SORDINO_FRAME_OVERHEAD + 4 * (size_t)(numbers))
#define SORDINO_SMALL_SIZE(features) (SORDINO_SMALL_OVERHEAD + 2 * (size_t)(features))
#define SORDINO_REASSEMBLY_SIZE(frame) (SORDINO_REASSEMBLY_HEAD + (((size_t)(frame) + 7) & ~(size_t)7))


/**
 * Bytes before the numbers of an agent.
 */
#define SORDINO_AGENT_HEAD 1536

/**
 * Bytes of each of its slots: 0 and 1 for its state, one more for every observation.
 */
#define SORDINO_AGENT_SLOT 52

/**
 * The most features of an agent on a device.
 */
#define SORDINO_FEATURES_MAX 2048

/**
 * The most observations of an agent on a device: initial points and rounds.
 */
#define SORDINO_OBSERVATIONS_MAX 65536

/**
 * Bytes of a digest.
 */
#define SORDINO_DIGEST_BYTES 32

/**
 * Nothing is uploaded and nothing broadcast: every agent alone.
 */
#define SORDINO_AGGREGATION_NONE 0

/**
 * The mean of all uploads, which protects nobody.
 */
#define SORDINO_AGGREGATION_MEAN 1

/**
 * Secret sampling, clipping, and noise.
 */
#define SORDINO_AGGREGATION_PRIVATE 2

/**
 * Bytes beside the numbers of a frame, at most.
 */
#define SORDINO_FRAME_OVERHEAD 57

/**
 * Bytes beside the numbers of an upload in 16 bits a number.
 */
#define SORDINO_SMALL_OVERHEAD 21

/**
 * Bytes beside the piece in a fragment.
 */
#define SORDINO_FRAGMENT_OVERHEAD 9

/**
 * Bytes of a reassembly before its frame.
 */
#define SORDINO_REASSEMBLY_HEAD 96

/**
 * An agent's weights, or no numbers if it has nothing to give in this round.
 */
#define SORDINO_FRAME_UPLOAD 0

/**
 * The server's vectors, one number for each region and feature.
 */
#define SORDINO_FRAME_BROADCAST 1

/**
 * The server says that there is no broadcast in this round; no numbers.
 */
#define SORDINO_FRAME_NO_BROADCAST 2

/**
 * Bytes before the numbers of a Gaussian process.
 */
#define SORDINO_GP_HEAD 192

/**
 * Slots of a ring beside its capacity: one to write into, and two for fits.
 */
#define SORDINO_OPTIMIZER_RING 3

/**
 * Bytes of each slot of a member; SORDINO_MEMBER_SLOTS says how many it has.
 */
#define SORDINO_MEMBER_SLOT 88

/**
 * Numbers of a release that one slot holds.
 */
#define SORDINO_MEMBER_PIECE 16

/**
 * Bytes before the numbers of a member.
 */
#define SORDINO_MEMBER_HEAD 4096

/**
 * The most landmarks of a member on a device, one for each feature.
 */
#define SORDINO_MEMBER_FEATURES_MAX 256

/**
 * The most initial points, rounds and virtual designs of a member on a device, each.
 */
#define SORDINO_MEMBER_COUNT_MAX 4096

/**
 * Bytes of a secret and of a public key.
 */
#define SORDINO_KEY_BYTES 32

/**
 * Alignment of the memory of every object, in bytes.
 */
#define SORDINO_ALIGN 8

/**
 * Bytes before the numbers of a newcomer.
 */
#define SORDINO_NEWCOMER_HEAD 768

/**
 * Candidates that sordino_optimizer_suggest_among may be given, at most.
 */
#define SORDINO_CANDIDATES_MAX 10000

/**
 * Bytes before the numbers of an optimizer.
 */
#define SORDINO_OPTIMIZER_HEAD 1536

/**
 * Points that its search keeps.
 */
#define SORDINO_SEARCH_POINTS 8

/**
 * Bytes of a slot of its log.
 */
#define SORDINO_OPTIMIZER_SLOT 96

/**
 * The acquisition that asks where an improvement is expected.
 */
#define SORDINO_EXPECTED_IMPROVEMENT 0

/**
 * The acquisition that asks where mean + width * standard deviation is largest.
 */
#define SORDINO_UPPER_CONFIDENCE_BOUND 1

/**
 * Bytes before the numbers of a prior file; all of its memory where the factor of its landmarks is
 * given.
 */
#define SORDINO_PRIOR_HEAD 192

/**
 * The most landmarks of a prior file.
 */
#define SORDINO_LANDMARKS_MAX 4096

/**
 * A search without a file.
 */
#define SORDINO_READING_ALONE 0

/**
 * The self-test is below -1 or no number: the search is that without the file.
 */
#define SORDINO_READING_UNREAD 1

/**
 * The self-test is from -1 to 1: three questions without the file, then with it.
 */
#define SORDINO_READING_DOUBTED 2

/**
 * The self-test is 1 or more: the search begins where the file believes the best. Below 3 its
 * second question covers the box.
 */
#define SORDINO_READING_TRUSTED 3

/**
 * Bytes of memory a reporter takes.
 */
#define SORDINO_REPORTER_SIZE 320

/**
 * Bytes of each of its two slots.
 */
#define SORDINO_REPORTER_SLOT 56

/**
 * Squared exponential kernel.
 */
#define SORDINO_SQUARED_EXPONENTIAL 0

/**
 * Matérn kernel, 1/2.
 */
#define SORDINO_MATERN_12 1

/**
 * Matérn kernel, 3/2.
 */
#define SORDINO_MATERN_32 2

/**
 * Matérn kernel, 5/2.
 */
#define SORDINO_MATERN_52 3

/**
 * The most coordinates of a point.
 */
#define SORDINO_DIM_MAX 16

/**
 * The most observations that a Gaussian process or an optimizer has room for.
 */
#define SORDINO_CAPACITY_MAX 4096

/**
 * Bytes before the numbers of a site.
 */
#define SORDINO_SITE_HEAD 3072

/**
 * The most landmarks of a campaign, one for each feature, that a device takes part in.
 */
#define SORDINO_SITE_FEATURES_MAX 256

/**
 * The most points of a site on a device, of three at least.
 */
#define SORDINO_SITE_POINTS_MAX 256

/**
 * Version of this header; the first of three numbers.
 */
#define SORDINO_VERSION_MAJOR 0

/**
 * The second number: while the first is 0, another one may have other functions and other
 * settings.
 */
#define SORDINO_VERSION_MINOR 1

/**
 * The third number.
 */
#define SORDINO_VERSION_PATCH 0

/**
 * What a call came to. A refusal is negative and has changed nothing, unless its sentence says so.
 */
enum sordino_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * What was asked for is done.
     */
    SORDINO_STATUS_OK = 0,
    /**
     * Not finished: call again with the same arguments.
     */
    SORDINO_STATUS_PENDING = 1,
    /**
     * A pointer is NULL that must not be.
     */
    SORDINO_STATUS_NULL = -1,
    /**
     * A pointer is not aligned to what it points to; memory of an object to SORDINO_ALIGN.
     */
    SORDINO_STATUS_MISALIGNED = -2,
    /**
     * The memory or a buffer is shorter than what is needed: ask the _size function or _SIZE macro
     * of the object; sordino_refusal names the length, where a function has one.
     */
    SORDINO_STATUS_TOO_SHORT = -3,
    /**
     * A buffer lies in the memory of the object, or shares bytes with another.
     */
    SORDINO_STATUS_OVERLAP = -4,
    /**
     * There is no object of this kind at the pointer.
     */
    SORDINO_STATUS_NOT_BUILT = -5,
    /**
     * The object is at work: one of its callbacks called it.
     */
    SORDINO_STATUS_BUSY = -6,
    /**
     * A setting is outside its range; sordino_refusal says which.
     */
    SORDINO_STATUS_RANGE = -7,
    /**
     * A point or vector has the wrong number of numbers.
     */
    SORDINO_STATUS_LENGTH = -8,
    /**
     * A number is NaN, infinite, or so large that squares overflow.
     */
    SORDINO_STATUS_NOT_FINITE = -9,
    /**
     * All rows are in use, or all slots of an optimizer's flash: a larger capacity, more slots, or
     * drop_oldest.
     */
    SORDINO_STATUS_FULL = -10,
    /**
     * The point, or a landmark of a prior file, is determined by the others at working precision.
     */
    SORDINO_STATUS_SINGULAR = -11,
    /**
     * The index or candidate that was given is beyond the last one.
     */
    SORDINO_STATUS_INDEX = -12,
    /**
     * The call does not belong to the phase the object is in.
     */
    SORDINO_STATUS_UNEXPECTED = -13,
    /**
     * The budget does not hold another report: nothing was charged.
     */
    SORDINO_STATUS_BUDGET = -14,
    /**
     * The entropy callback failed: nothing leaves; what was charged stays charged.
     */
    SORDINO_STATUS_ENTROPY = -15,
    /**
     * The flash callback failed: what was to be done on its ground was not done.
     */
    SORDINO_STATUS_FLASH = -16,
    /**
     * The weights to upload are not finite: nothing is sent, and the round is over.
     */
    SORDINO_STATUS_UPLOAD = -17,
    /**
     * The agent's own draw is not finite: it goes on waiting.
     */
    SORDINO_STATUS_DRAW = -18,
    /**
     * Nothing could be fitted: lengthscale, noise and model are as they were.
     */
    SORDINO_STATUS_FIT = -19,
    /**
     * What is stored was changed, or its writing was cut off.
     */
    SORDINO_STATUS_STORED_DAMAGED = -20,
    /**
     * What is stored belongs to another kind, version, user or configuration.
     */
    SORDINO_STATUS_STORED_FOREIGN = -21,
    /**
     * What is stored is whole and cannot be: too many reports, another phase, no observation.
     */
    SORDINO_STATUS_STORED_INADMISSIBLE = -22,
    /**
     * No frame of this version in single precision, or one that was cut off or changed on its way.
     */
    SORDINO_STATUS_FRAME = -23,
    /**
     * A frame of another federation, history or sender.
     */
    SORDINO_STATUS_FOREIGN = -24,
    /**
     * A coordinate is outside the box of the settings.
     */
    SORDINO_STATUS_OUTSIDE = -25,
    /**
     * The bytes are no agreement on a federated prior that a member in single precision takes part
     * in, or not those of the digest.
     */
    SORDINO_STATUS_AGREEMENT = -26,
    /**
     * The agreement is on two servers and a key is missing, or on one and a key was given.
     */
    SORDINO_STATUS_TRUST = -27,
    /**
     * Which masks were used is not known any more: the device needs a new secret.
     */
    SORDINO_STATUS_MASKS = -28,
    /**
     * The contribution cannot be hidden: nothing of it may be sent.
     */
    SORDINO_STATUS_HIDDEN = -29,
    /**
     * There is no best one: nothing was told yet, or all that was told failed.
     */
    SORDINO_STATUS_EMPTY = -30,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum sordino_status sordino_status;
#else
typedef int32_t sordino_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What an agent wants next.
 */
enum sordino_answer_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Wait for the next round.
     */
    SORDINO_ANSWER_KIND_WAIT = 0,
    /**
     * Evaluate the function at `numbers` and call sordino_agent_observed.
     */
    SORDINO_ANSWER_KIND_EVALUATE = 1,
    /**
     * Send `numbers` to the server, then wait for its broadcast.
     */
    SORDINO_ANSWER_KIND_UPLOAD = 2,
    /**
     * The run is over.
     */
    SORDINO_ANSWER_KIND_DONE = 3,
    /**
     * Of a member under two servers: send what sordino_member_hide writes, then wait for the next
     * frame.
     */
    SORDINO_ANSWER_KIND_HIDE = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum sordino_answer_kind sordino_answer_kind;
#else
typedef uint32_t sordino_answer_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * An agent of a federation.
 */
typedef struct sordino_agent sordino_agent;

/**
 * An exact Gaussian process with rows appended one by one.
 */
typedef struct sordino_gp sordino_gp;

/**
 * A member of a federated prior.
 */
typedef struct sordino_member sordino_member;

/**
 * A search over a list of candidates; it maximises.
 */
typedef struct sordino_newcomer sordino_newcomer;

/**
 * An optimizer that maximises over a box.
 */
typedef struct sordino_optimizer sordino_optimizer;

/**
 * A prior file that was checked.
 */
typedef struct sordino_prior sordino_prior;

/**
 * A frame that comes in pieces, from one sender.
 */
typedef struct sordino_reassembly sordino_reassembly;

/**
 * A reporter: the device of one user, and this user's budget.
 */
typedef struct sordino_reporter sordino_reporter;

/**
 * What a site of a campaign contributes.
 */
typedef struct sordino_site sordino_site;

/**
 * What a federation agrees on, and who this agent is in it. sordino_agent_usual fills in the
 * paper's constants; sordino_agent_digest tells two parties whether they agree.
 */
typedef struct sordino_agent_settings {
    /**
     * Seed of the agent's own draws: secret, never that of a release, and never the same on two
     * devices.
     */
    uint64_t seed;
    /**
     * Public seed of the features that all parties share.
     */
    uint64_t feature_seed;
    /**
     * Lengthscale of the features' kernel.
     */
    double lengthscale;
    /**
     * Variance of the function, unit y squared.
     */
    double signal_variance;
    /**
     * Ridge term of the shared posterior.
     */
    double regularization;
    /**
     * Variance of the noise of an observation, unit y squared.
     */
    double noise_variance;
    /**
     * Public constant that is subtracted from every observation.
     */
    double offset;
    /**
     * Concentration of the weights of agents at the beginning, 0 to 700.
     */
    double concentration;
    /**
     * Bound S on what one agent uploads.
     */
    double clipping_norm;
    /**
     * Probability q with which an agent is in the secret sample.
     */
    double sampling_probability;
    /**
     * Standard deviation z of the noise over the sensitivity.
     */
    double noise_multiplier;
    /**
     * The list of candidates, `count` points of the unit box in rows; NULL where they are a grid.
     */
    const float *points;
    /**
     * Points of the list; 0 where the candidates are a grid.
     */
    uint32_t count;
    /**
     * Points of a grid along each axis, at least 2.
     */
    uint32_t per_axis;
    /**
     * Index of this agent among the enrolled.
     */
    uint32_t agent;
    /**
     * Agents enrolled.
     */
    uint32_t agents;
    /**
     * Axes of the domain, 1 to SORDINO_DIM_MAX.
     */
    uint32_t dim;
    /**
     * Parts of the domain along each axis.
     */
    uint32_t splits[SORDINO_DIM_MAX];
    /**
     * Queries after the initial points.
     */
    uint32_t rounds;
    /**
     * Points before the first upload, at least 1.
     */
    uint32_t initial_points;
    /**
     * Where they are drawn: 1 in the whole domain, 0 in the agent's own part.
     */
    uint32_t initial_whole;
    /**
     * Features that all parties share, 1 to SORDINO_FEATURES_MAX.
     */
    uint32_t features;
    /**
     * Whether every feature vector is scaled to the same norm: 0 or 1.
     */
    uint32_t unit_norm;
    /**
     * Kernel of the features: SORDINO_SQUARED_EXPONENTIAL or one of SORDINO_MATERN_*.
     */
    uint32_t shape;
    /**
     * How fast an agent stops following the broadcasts in round t: 0 as 1/sqrt(t), 1 as 1/t.
     */
    uint32_t mixing;
    /**
     * Broadcasts at full concentration.
     */
    uint32_t hold;
    /**
     * Broadcasts over which it falls to 0.
     */
    uint32_t decay;
    /**
     * SORDINO_AGGREGATION_NONE, SORDINO_AGGREGATION_MEAN or SORDINO_AGGREGATION_PRIVATE.
     */
    uint32_t aggregation;
    /**
     * The server's noise has a standard deviation of 2^m steps, m from 16 to 20.
     */
    uint32_t grid_exponent;
} sordino_agent_settings;

/**
 * Slots of flash, which keep what an object must not forget. Both callbacks return 0, or anything
 * else if they cannot.
 *
 * `read` copies the first `len` bytes of slot `slot` to `bytes`; erased flash may read 0xff or 0.
 * `write` erases the slot, writes the bytes and returns when they are durable. Slots 0 and 1 must
 * lie in different erase units, and so must 2 and 3 of a member. What was written is read back at
 * once: `read` gives what `write` left.
 *
 * A slot whose writing was cut off reads as some bytes. Where the chip refuses to read it (flash
 * with error correction: STM32 G4, H7, L4, U5), return 0 and fill `bytes` with 0xa5: 0xff and 0
 * mean erased, and another result than 0 means a flash that ends or is broken. A power cut in the
 * very first write of an object is then SORDINO_STATUS_STORED_DAMAGED, and its slots are erased by
 * hand.
 *
 * Slots of a log may share an erase unit if no power cut takes the others of it: write what is
 * erased without erasing the unit, and where one slot has to be written again (after a write that
 * was cut off, or an erase), copy the unit to a spare one first. What reads a unit, erases it and
 * writes it back loses all of them to a cut in between, which looks like a device that never
 * measured. The slots of a state (0 and 1, of a member 2 and 3) are written in turn at every
 * change: give each an erase unit of its own.
 */
typedef struct sordino_flash {
    /**
     * Handed to the callbacks as it is.
     */
    void *context;
    /**
     * Reads the beginning of a slot.
     */
    int32_t (*read)(void *context, uint32_t slot, uint8_t *bytes, size_t len);
    /**
     * Erases and writes a slot.
     */
    int32_t (*write)(void *context, uint32_t slot, const uint8_t *bytes, size_t len);
} sordino_flash;

/**
 * A setting or length that was refused: of SORDINO_STATUS_RANGE, and of SORDINO_STATUS_TOO_SHORT
 * where the memory of an object is too short. Of every other refusal it is written as zeros, with
 * SORDINO_STATUS_OK it is left as it was. The texts are static and not ended by a zero: print them
 * with "%.*s".
 */
typedef struct sordino_refusal {
    /**
     * Name of the setting.
     */
    const char *field;
    /**
     * Bytes of the name.
     */
    size_t field_len;
    /**
     * The value given.
     */
    double value;
    /**
     * The range it must lie in.
     */
    const char *admissible;
    /**
     * Bytes of the range.
     */
    size_t admissible_len;
} sordino_refusal;

/**
 * What an agent wants next, in numbers that lie in its memory and are good until its next call.
 */
typedef struct sordino_answer {
    /**
     * What is to be done.
     */
    sordino_answer_kind kind;
    /**
     * Of SORDINO_ANSWER_KIND_EVALUATE: index of the candidate.
     */
    uint32_t candidate;
    /**
     * Of SORDINO_ANSWER_KIND_EVALUATE: how many observations were made before this one.
     */
    uint32_t number;
    /**
     * How many numbers there are.
     */
    uint32_t len;
    /**
     * A point of the unit box, or weights; NULL where there is neither.
     */
    const float *numbers;
} sordino_answer;

/**
 * What precedes the numbers of a frame.
 */
typedef struct sordino_frame_header {
    /**
     * Random public number of the federation, from its server; never a seed.
     */
    uint64_t deployment;
    /**
     * sordino_prefix of the digest of the agreement, which `sordino export --lang c` writes into a
     * header.
     */
    uint64_t config;
    /**
     * sordino_prefix of the history: of an upload that of all broadcasts its agent knows
     * (sordino_frame_chain).
     */
    uint64_t chain;
    /**
     * SORDINO_FRAME_UPLOAD, SORDINO_FRAME_BROADCAST or SORDINO_FRAME_NO_BROADCAST.
     */
    uint32_t kind;
    /**
     * The agent that sends it; of a server's frame 0.
     */
    uint32_t agent;
    /**
     * The round it belongs to.
     */
    uint32_t round;
    /**
     * How often the round was begun before, at most 65535: an answer carries that of the frame it
     * answers.
     */
    uint32_t attempt;
    /**
     * How many numbers there are; writing sets it.
     */
    uint32_t len;
} sordino_frame_header;

/**
 * What a Gaussian process is told beforehand.
 */
typedef struct sordino_gp_settings {
    /**
     * Coordinates of a point, 1 to SORDINO_DIM_MAX.
     */
    uint32_t dim;
    /**
     * Observations there is room for, 1 to SORDINO_CAPACITY_MAX.
     */
    uint32_t capacity;
    /**
     * Kernel: SORDINO_SQUARED_EXPONENTIAL or one of SORDINO_MATERN_*.
     */
    uint32_t shape;
    /**
     * What happens when all rows are in use: 0 refuses, 1 forgets the oldest.
     */
    uint32_t drop_oldest;
    /**
     * Lengthscale of every coordinate, positive.
     */
    float lengthscale;
    /**
     * Variance of the function, positive, unit y squared.
     */
    float signal_variance;
    /**
     * Variance of the noise of an observation, not negative, unit y squared.
     */
    float noise_variance;
    /**
     * Constant mean of the prior, unit y.
     */
    float prior_mean;
} sordino_gp_settings;

/**
 * What a member agreed to, and who it is. `sordino export` writes all of it but the secrets, as
 * SORDINO_MEMBER_SETTINGS.
 */
typedef struct sordino_member_settings {
    /**
     * Seed of the member's own draws: secret, and never the same on two devices.
     */
    uint64_t seed;
    /**
     * The agreement, `agreement_len` bytes that `sordino export` wrote.
     */
    const uint8_t *agreement;
    /**
     * Bytes of the agreement.
     */
    size_t agreement_len;
    /**
     * Digest that the agreement must have, SORDINO_DIGEST_BYTES bytes: that of the invitation.
     */
    const uint8_t *digest;
    /**
     * Two servers: the device's own secret, SORDINO_KEY_BYTES bytes of its entropy; another one
     * whenever its flash is erased, because a mask would serve twice. 32 times the same byte is
     * refused: no generator drew it. NULL with one server.
     */
    const uint8_t *own_secret;
    /**
     * Two servers: the helper's public key, SORDINO_KEY_BYTES bytes. NULL with one server.
     */
    const uint8_t *helper_key;
    /**
     * Index of this agent among the enrolled.
     */
    uint32_t agent;
    /**
     * Points of the grid of candidates along each axis.
     */
    uint32_t per_axis;
    /**
     * Points of the grid of landmarks along each axis.
     */
    uint32_t landmarks_per_axis;
} sordino_member_settings;

/**
 * What a newcomer is told beforehand; sordino_newcomer_usual fills in what nobody needs to choose.
 */
typedef struct sordino_newcomer_settings {
    /**
     * Coordinates of a candidate, 1 to SORDINO_DIM_MAX; with a file as many as it has.
     */
    uint32_t dim;
    /**
     * Values and failures there is room for, 1 to SORDINO_CAPACITY_MAX.
     */
    uint32_t capacity;
    /**
     * Candidates that are looked at together, 1 to SORDINO_CANDIDATES_MAX: 1 is enough with a file
     * that is trusted; else every hypothesis is computed again for as many. No width changes a
     * question.
     */
    uint32_t width;
    /**
     * Of the questions that cover the box; any number.
     */
    uint32_t seed;
    /**
     * Noise variance of an evaluation as a fraction of the squared scale of the function, 1e-6 to
     * 1: 1e-3 as usual, 1e-2 where evaluations would give another value the next time.
     */
    double noise_fraction;
    /**
     * Candidates one after the other, coordinates from 0 to 1; a candidate's name is its index.
     */
    const float *candidates;
    /**
     * How many numbers that is, not how many candidates: `dim` times 1 to SORDINO_CANDIDATES_MAX.
     * Of an exported file it is SORDINO_PRIOR_CANDIDATES_LEN.
     */
    size_t candidates_len;
    /**
     * What sordino_prior_moments says of them, or NULL: then it is computed at every question.
     */
    const float *moments;
    /**
     * 2 times the number of candidates, or 0.
     */
    size_t moments_len;
} sordino_newcomer_settings;

/**
 * What a newcomer was told: a candidate and its value, or that it failed.
 *
 * A stored index means what the file and the list of candidates make of it: store
 * SORDINO_PRIOR_DIGEST of the exported file with the log, and erase the log if it differs.
 */
typedef struct sordino_newcomer_entry {
    /**
     * Index of the candidate.
     */
    uint32_t candidate;
    /**
     * Its value, in the user's unit, larger is better; of one that failed it is not looked at.
     */
    float value;
    /**
     * 0 of a value that was told, anything else of a candidate that failed.
     */
    uint32_t failed;
} sordino_newcomer_entry;

/**
 * What an optimizer is told beforehand; sordino_optimizer_usual fills in what is good enough for a
 * first run.
 */
typedef struct sordino_optimizer_settings {
    /**
     * Axes of the box, 1 to SORDINO_DIM_MAX.
     */
    uint32_t dim;
    /**
     * Observations there is room for, 1 to SORDINO_CAPACITY_MAX.
     */
    uint32_t capacity;
    /**
     * Lower end of every axis, in the user's units.
     */
    double low[SORDINO_DIM_MAX];
    /**
     * Upper end of every axis.
     */
    double high[SORDINO_DIM_MAX];
    /**
     * Of SORDINO_UPPER_CONFIDENCE_BOUND what the standard deviation is multiplied by.
     */
    double width;
    /**
     * Kernel: SORDINO_SQUARED_EXPONENTIAL or one of SORDINO_MATERN_*.
     */
    uint32_t shape;
    /**
     * SORDINO_EXPECTED_IMPROVEMENT or SORDINO_UPPER_CONFIDENCE_BOUND.
     */
    uint32_t acquisition;
    /**
     * Values that are known before anything is modelled: until then points are spread over the
     * box; 0 means 1 per axis and 1 more, and 3 at least.
     */
    uint32_t initial_points;
    /**
     * Points that are spread over the box in all: those beyond the initial ones are every fifth
     * question after them; 0 means 2 per axis and 2 more, or the initial points if those are more.
     */
    uint32_t filling_points;
    /**
     * What happens when all rows are in use: 0 refuses, 1 forgets the oldest.
     */
    uint32_t drop_oldest;
    /**
     * Of the initial points and of what a search looks at; any number.
     */
    uint32_t seed;
    /**
     * For values that drift: observations after which one counts half; 0: it never does.
     */
    uint32_t half_life;
    /**
     * Slots of the flash beside those of `capacity` observations: fits that can be stored, one
     * slot each, also those that suggestions make, 0 to SORDINO_CAPACITY_MAX; suggestions go on
     * without, and after a reset make theirs again; with drop_oldest any number of fits are, in
     * SORDINO_OPTIMIZER_RING slots, the least that is admitted then. Slots 0 to
     * SORDINO_OPTIMIZER_SLOTS(capacity, fits) - 1 are used; without a flash none.
     */
    uint32_t fits;
} sordino_optimizer_settings;

/**
 * An acquisition of the program's own: how much a point is worth asking whose posterior has this
 * mean and variance; `best` is the largest posterior mean at an observed point. Negative infinity:
 * not at all. It should be smooth.
 */
typedef float (*sordino_rule)(void *context, float mean, float variance, float best);

/**
 * The numbers of a prior file, as `sordino prior export --lang c` writes them. Lengths are in
 * numbers, not in bytes.
 */
typedef struct sordino_prior_numbers {
    /**
     * Coordinates of a landmark, 1 to SORDINO_DIM_MAX.
     */
    uint32_t dim;
    /**
     * Lengthscale of the file's kernel, positive.
     */
    float lengthscale;
    /**
     * The file's self-test: it says how the file is read (SORDINO_READING_*).
     */
    float self_test;
    /**
     * Landmarks one after the other, from 0 to 1: at most SORDINO_LANDMARKS_MAX of `dim`
     * coordinates.
     */
    const float *landmarks;
    /**
     * `dim` times the number of landmarks.
     */
    size_t landmarks_len;
    /**
     * A weight for each landmark.
     */
    const float *weights;
    /**
     * The number of landmarks.
     */
    size_t weights_len;
    /**
     * Covariance of the weights: the lower triangle, row by row.
     */
    const float *covariance;
    /**
     * SORDINO_PACKED of the number of landmarks.
     */
    size_t covariance_len;
    /**
     * What sordino_prior_factor says of this file, or NULL: then it is computed, and kept in the
     * object's memory.
     */
    const float *factor;
    /**
     * SORDINO_PACKED of the number of landmarks, or 0.
     */
    size_t factor_len;
} sordino_prior_numbers;

/**
 * What a reporter is told beforehand; all of it public.
 */
typedef struct sordino_reporter_settings {
    /**
     * Bound b of a reward: what lies outside of -b to b is clamped.
     */
    double bound;
    /**
     * Epsilon of one report, from 2^-20 to 256.
     */
    double epsilon;
    /**
     * Epsilon of all reports this device will ever make, to any learner.
     */
    double budget;
    /**
     * The reward is rounded to 2^m steps of the range, m from 4 to 24.
     */
    uint32_t grid_exponent;
    /**
     * Identifier of the user.
     */
    uint32_t user;
} sordino_reporter_settings;

/**
 * A cryptographic generator: fills `len` bytes at `bytes` and returns 0, or anything else if it
 * cannot.
 *
 * What it gives must be unpredictable to everybody: a tested hardware generator, or a cipher
 * seeded by one. Noise made of a counter or of rand() protects nobody.
 */
typedef struct sordino_entropy {
    /**
     * Handed to the callback as it is.
     */
    void *context;
    /**
     * Fills the bytes it is given.
     */
    int32_t (*fill)(void *context, uint8_t *bytes, size_t len);
} sordino_entropy;

/**
 * What a campaign agreed on. `sordino terms INVITATION --format c` writes it, as
 * SORDINO_SITE_SETTINGS.
 */
typedef struct sordino_site_settings {
    /**
     * The agreement, `agreement_len` bytes.
     */
    const uint8_t *agreement;
    /**
     * Bytes of the agreement.
     */
    size_t agreement_len;
    /**
     * Digest that the agreement must have, SORDINO_DIGEST_BYTES bytes.
     */
    const uint8_t *digest;
    /**
     * The landmarks, point after point, coordinates from 0 to 1.
     */
    const double *landmarks;
    /**
     * Coordinates of all landmarks: the features of the campaign times its dimension.
     */
    size_t landmarks_len;
} sordino_site_settings;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Bytes of memory an agent takes, as SORDINO_AGENT_SIZE; `observations` is initial points +
 * rounds. 0 if one of them is out of range.
 */
size_t sordino_agent_size(uint32_t dim, uint32_t features, uint32_t observations);

/**
 * Builds an agent in `memory` of `len` bytes, as its flash left it, and writes its address to
 * `agent`. `flash` and `refusal` may be NULL.
 *
 * With a flash an observation is in its slot before it counts, and the state in both slots before
 * the answer is given; after a reset sordino_agent_repeat says what the agent wanted. Without one
 * a reset forgets everything.
 *
 * Pointers: `memory` is NULL or points to `len` bytes that nobody else uses while the object is used; the other
 * pointers are NULL or point to one value; the callbacks do what their docs say. The list `points` of the settings is
 * NULL or points to `count` points of `dim` numbers that nobody changes while the object is used.
 */
sordino_status sordino_agent_open(void *memory,
                                  size_t len,
                                  const struct sordino_agent_settings *settings,
                                  const struct sordino_flash *flash,
                                  struct sordino_agent **agent,
                                  struct sordino_refusal *refusal);

/**
 * Begins with the first initial point.
 *
 * `candidates`: 0 does all of the work; any other number does about what maximising over so many
 * candidates costs and returns SORDINO_STATUS_PENDING until the work is done, for a program that
 * feeds a watchdog. After SORDINO_STATUS_FLASH call sordino_agent_repeat.
 *
 * Pointers: `agent` is NULL or what sordino_agent_open wrote; the other pointers are NULL or point to what is named
 * beside them.
 */
sordino_status sordino_agent_start(struct sordino_agent *agent, uint32_t candidates, struct sordino_answer *answer);

/**
 * Tells the value of the point last asked for. A value that the flash already holds for it,
 * written before a reset, counts in place of `y`.
 *
 * `candidates` as in sordino_agent_start.
 *
 * Pointers: `agent` is NULL or what sordino_agent_open wrote; the other pointers are NULL or point to what is named
 * beside them.
 */
sordino_status sordino_agent_observed(struct sordino_agent *agent,
                                      float y,
                                      uint32_t candidates,
                                      struct sordino_answer *answer);

/**
 * The server's vectors of the round before: `len` numbers, one for each region and feature, at
 * `vectors`.
 *
 * `candidates` as in sordino_agent_start.
 *
 * Pointers: `agent` is NULL or what sordino_agent_open wrote; the other pointers are NULL or point to what is named
 * beside them.
 */
sordino_status sordino_agent_broadcast(struct sordino_agent *agent,
                                       const float *vectors,
                                       size_t len,
                                       uint32_t candidates,
                                       struct sordino_answer *answer);

/**
 * There is no broadcast: the budget is spent, or a message was lost for good.
 *
 * `candidates` as in sordino_agent_start.
 *
 * Pointers: `agent` is NULL or what sordino_agent_open wrote; the other pointers are NULL or point to what is named
 * beside them.
 */
sordino_status sordino_agent_no_broadcast(struct sordino_agent *agent,
                                          uint32_t candidates,
                                          struct sordino_answer *answer);

/**
 * The agent was away for a round: nothing is asked and nothing sent.
 *
 * Pointers: `agent` is NULL or what sordino_agent_open wrote; the other pointers are NULL or point to what is named
 * beside them.
 */
sordino_status sordino_agent_missed(struct sordino_agent *agent, struct sordino_answer *answer);

/**
 * Says the last answer again, the same bits: after a reset, for a server that lacks the upload, or
 * after SORDINO_STATUS_FLASH. Before the beginning it is SORDINO_ANSWER_KIND_WAIT.
 *
 * Pointers: `agent` is NULL or what sordino_agent_open wrote; the other pointers are NULL or point to what is named
 * beside them.
 */
sordino_status sordino_agent_repeat(struct sordino_agent *agent, struct sordino_answer *answer);

/**
 * Round (0 during the initial points), observations so far, and whether the run is over (0 or 1);
 * each may be NULL.
 *
 * Pointers: `agent` is NULL or what sordino_agent_open wrote; the other pointers are NULL or point to one value.
 */
sordino_status sordino_agent_describe(const struct sordino_agent *agent,
                                      uint32_t *round,
                                      uint32_t *observations,
                                      uint32_t *over);

/**
 * The usual settings of agent 0: the constants of the paper's synthetic experiments, a Matérn 5/2
 * kernel of lengthscale 0.2, a grid of 10 points an axis, S = 10, q = 0.5, z = 1. Seeds are 0:
 * give the agent one of its own.
 *
 * Pointers: `settings` is NULL or points to one value.
 */
sordino_status sordino_agent_usual(uint32_t dim,
                                   uint32_t agents,
                                   uint32_t rounds,
                                   uint32_t features,
                                   struct sordino_agent_settings *settings);

/**
 * Digest of the configuration, SORDINO_DIGEST_BYTES bytes to `digest`: that of the server, if both
 * agree on every number.
 *
 * Pointers: `settings` is NULL or points to one value, `digest` NULL or points to SORDINO_DIGEST_BYTES bytes.
 */
sordino_status sordino_agent_digest(const struct sordino_agent_settings *settings, uint8_t *digest);

/**
 * First 64 bits of the SORDINO_DIGEST_BYTES bytes at `digest`, as headers carry them, to `prefix`.
 *
 * Pointers: `digest` is NULL or points to SORDINO_DIGEST_BYTES bytes, `prefix` NULL or points to one value.
 */
sordino_status sordino_prefix(const uint8_t *digest, uint64_t *prefix);

/**
 * Writes a frame of `len` numbers into the `room` bytes at `bytes`, and how many it took to
 * `written`. Frames take SORDINO_FRAME_OVERHEAD bytes and four for each number, or fewer.
 *
 * Pointers: `header` and `written` are NULL or point to one value, `numbers` NULL or points to `len` numbers, `bytes`
 * NULL or points to `room` bytes.
 */
sordino_status sordino_frame_write(const struct sordino_frame_header *header,
                                   const float *numbers,
                                   size_t len,
                                   uint8_t *bytes,
                                   size_t room,
                                   size_t *written);

/**
 * Writes an upload in 16 bits a number, SORDINO_SMALL_OVERHEAD bytes and two for each number,
 * which the agent clips as the server would; docs/frames.md says what that costs. `len` is the
 * number of features of the settings.
 *
 * Pointers: `settings`, `header` and `written` are NULL or point to one value, `numbers` NULL or points to `len`
 * numbers, `bytes` NULL or points to `room` bytes.
 */
sordino_status sordino_frame_write_small(const struct sordino_agent_settings *settings,
                                         const struct sordino_frame_header *header,
                                         const float *numbers,
                                         size_t len,
                                         uint8_t *bytes,
                                         size_t room,
                                         size_t *written);

/**
 * Reads the frame of `len` bytes at `bytes`: what precedes its numbers to `header`, and
 * `header->len` numbers, at most `room`, to `numbers`. Whether it is of this federation and of
 * which round is for the caller to compare.
 *
 * Pointers: `bytes` is NULL or points to `len` bytes, `header` NULL or points to one value, `numbers` NULL or points
 * to `room` numbers.
 */
sordino_status sordino_frame_read(const uint8_t *bytes,
                                  size_t len,
                                  struct sordino_frame_header *header,
                                  float *numbers,
                                  size_t room);

/**
 * Reads what precedes the numbers of the frame of `len` bytes at `bytes`, in whatever format they
 * are, to `header`. A site of a campaign needs no more of a release: what it says comes with the
 * opening and with the file.
 *
 * Pointers: `bytes` is NULL or points to `len` bytes, `header` NULL or points to one value.
 */
sordino_status sordino_frame_marks(const uint8_t *bytes, size_t len, struct sordino_frame_header *header);

/**
 * The history after one more frame of the server: `before` are the SORDINO_DIGEST_BYTES bytes of
 * the history so far, at the beginning the digest of the agreement; the history with the frame
 * goes to `next`, which may be `before`.
 *
 * SORDINO_STATUS_FOREIGN: the frame does not continue this history, or is no frame of a server.
 * Nothing more should be sent to a server that tells two histories.
 *
 * Pointers: `before` and `next` are NULL or point to SORDINO_DIGEST_BYTES bytes, `bytes` NULL or points to `len`
 * bytes.
 */
sordino_status sordino_frame_chain(const uint8_t *before, const uint8_t *bytes, size_t len, uint8_t *next);

/**
 * How many packets of `packet` bytes a frame of `frame` bytes takes; 0 if they are too many or too
 * small.
 */
size_t sordino_fragment_count(size_t frame, size_t packet);

/**
 * Writes piece `index`, from 0 on, of the frame of `len` bytes at `bytes` into the packet of
 * `room` bytes at `packet`, and how many it took to `written`. All pieces of a frame are cut for
 * the same `room`.
 *
 * Pointers: `bytes` is NULL or points to `len` bytes, `packet` NULL or points to `room` bytes, `written` NULL or
 * points to one value.
 */
sordino_status sordino_fragment_write(const uint8_t *bytes,
                                      size_t len,
                                      size_t index,
                                      uint8_t *packet,
                                      size_t room,
                                      size_t *written);

/**
 * Builds a reassembly in `memory` of `len` bytes, and writes its address to `reassembly`. It holds
 * frames of up to `len` - SORDINO_REASSEMBLY_HEAD bytes.
 *
 * Pointers: `memory` is NULL or points to `len` bytes that nobody else uses while the object is used; `reassembly` is
 * NULL or points to one value.
 */
sordino_status sordino_reassembly_new(void *memory, size_t len, struct sordino_reassembly **reassembly);

/**
 * Takes a piece. SORDINO_STATUS_PENDING: others lack. SORDINO_STATUS_OK: the whole frame is
 * `frame_len` bytes at `frame`, in the memory of the object, until its next call.
 * SORDINO_STATUS_FOREIGN: a piece of another frame than the one under way, which is kept.
 * SORDINO_STATUS_FRAME: no piece, or the whole was changed on its way and is given up.
 *
 * Pointers: `reassembly` is NULL or what sordino_reassembly_new wrote; `packet` is NULL or points to `len` bytes,
 * `frame` and `frame_len` NULL or points to one value.
 */
sordino_status sordino_reassembly_push(struct sordino_reassembly *reassembly,
                                       const uint8_t *packet,
                                       size_t len,
                                       const uint8_t **frame,
                                       size_t *frame_len);

/**
 * Gives up the frame under way: its sender went on to another, or is silent.
 *
 * Pointers: `reassembly` is NULL or what sordino_reassembly_new wrote.
 */
sordino_status sordino_reassembly_clear(struct sordino_reassembly *reassembly);

/**
 * Bytes of memory a Gaussian process takes, as SORDINO_GP_SIZE; 0 if `dim` or `capacity` is out of
 * range.
 */
size_t sordino_gp_size(uint32_t dim, uint32_t capacity);

/**
 * Builds an empty Gaussian process in `memory` of `len` bytes and writes its address to `gp`.
 * `refusal` may be NULL.
 *
 * Pointers: `memory` is NULL or points to `len` bytes that nobody else uses while the object is used; `settings`,
 * `gp` and `refusal` are NULL or point to one value.
 */
sordino_status sordino_gp_new(void *memory,
                              size_t len,
                              const struct sordino_gp_settings *settings,
                              struct sordino_gp **gp,
                              struct sordino_refusal *refusal);

/**
 * Adds the value `y` of the point of `dim` coordinates at `point`. One that repeats another at
 * working precision is averaged into it; `row` then gets the index of that one, else that of the
 * new row. `row` may be NULL.
 *
 * Pointers: `gp` is NULL or what sordino_gp_new wrote; `point` is NULL or points to `dim` numbers, `row` NULL or
 * points to one.
 */
sordino_status sordino_gp_observe(struct sordino_gp *gp, const float *point, size_t dim, float y, uint32_t *row);

/**
 * Mean and variance of the function at a point; the noise of an observation is not added.
 *
 * Pointers: `gp` is NULL or what sordino_gp_new wrote; `point` is NULL or points to `dim` numbers, `mean` and
 * `variance` NULL or points to one.
 */
sordino_status sordino_gp_posterior(struct sordino_gp *gp,
                                    const float *point,
                                    size_t dim,
                                    float *mean,
                                    float *variance);

/**
 * Removes observation `row`; later ones move up.
 *
 * Pointers: `gp` is NULL or what sordino_gp_new wrote.
 */
sordino_status sordino_gp_remove(struct sordino_gp *gp, uint32_t row);

/**
 * Forgets all observations.
 *
 * Pointers: `gp` is NULL or what sordino_gp_new wrote.
 */
sordino_status sordino_gp_clear(struct sordino_gp *gp);

/**
 * Rows in use (merged observations count once), and the logarithm of the likelihood of all
 * observations; each may be NULL.
 *
 * Pointers: `gp` is NULL or what sordino_gp_new wrote; `rows` and `log_likelihood` are NULL or point to one value.
 */
sordino_status sordino_gp_describe(const struct sordino_gp *gp, uint32_t *rows, float *log_likelihood);

/**
 * Bytes of memory a member takes, as SORDINO_MEMBER_SIZE; 0 if one of the numbers is out of range.
 */
size_t sordino_member_size(uint32_t candidates,
                           uint32_t features,
                           uint32_t initial_points,
                           uint32_t rounds,
                           uint32_t designs);

/**
 * Builds a member in `memory` of `len` bytes, as its flash left it, and writes its address to
 * `member`. `refusal` may be NULL, and with one server `flash` too: a reset then forgets
 * everything. Two servers need both keys and a flash.
 *
 * `doubles` holds SORDINO_MEMBER_DOUBLES numbers or more, which are free afterwards. The
 * agreement, the digest and the keys of the settings are read and not kept.
 *
 * SORDINO_STATUS_MASKS is a flash with a past that does not say which masks were used: with the
 * same secret a mask could serve twice, which shows the difference of two contributions. Such a
 * device needs a new secret and a new invitation.
 *
 * Pointers: `memory` is NULL or points to `len` bytes that nobody else uses while the object is used; `doubles` is
 * NULL or points to `doubles_len` numbers; the other pointers are NULL or point to one value; the pointers of the
 * settings are NULL or point to as many bytes as are named beside them; the callbacks do what their docs say.
 */
sordino_status sordino_member_open(void *memory,
                                   size_t len,
                                   const struct sordino_member_settings *settings,
                                   const struct sordino_flash *flash,
                                   double *doubles,
                                   size_t doubles_len,
                                   struct sordino_member **member,
                                   struct sordino_refusal *refusal);

/**
 * The frame of round `round`: none of its numbers in round 0, later the `len` numbers that were
 * released, or none where nothing was. `is_over` is 1 if the server is in a later round already:
 * then nothing is asked, and the next frame may come.
 *
 * Frames are taken in order, each once; the last one again, whose answer was lost say, repeats the
 * answer. The answer is SORDINO_ANSWER_KIND_EVALUATE, or what is to be contributed if the round
 * has no queries. It takes as long as learning the release and a query: see docs/device-table.md.
 *
 * Pointers: `member` is NULL or what sordino_member_open wrote; the other pointers are NULL or point to what is named
 * beside them.
 */
sordino_status sordino_member_frame(struct sordino_member *member,
                                    uint32_t round,
                                    const float *numbers,
                                    size_t len,
                                    uint32_t is_over,
                                    struct sordino_answer *answer);

/**
 * Tells the value of the point last asked for. A value that the flash already holds for it,
 * written before a reset, counts in place of `y`.
 *
 * Pointers: `member` is NULL or what sordino_member_open wrote; `answer` is NULL or points to one value.
 */
sordino_status sordino_member_observed(struct sordino_member *member, float y, struct sordino_answer *answer);

/**
 * Says the last answer again, the same bits: after a reset, or after SORDINO_STATUS_FLASH. Before
 * the first frame it is SORDINO_ANSWER_KIND_WAIT.
 *
 * Pointers: `member` is NULL or what sordino_member_open wrote; `answer` is NULL or points to one value.
 */
sordino_status sordino_member_repeat(struct sordino_member *member, struct sordino_answer *answer);

/**
 * Under two servers: writes the contribution to the release of round `round` behind a mask to
 * `bytes`, the attempt of the mask and the share, and how many bytes these are to `used`. They go
 * to the leader behind a frame without numbers. `len` of SORDINO_HIDDEN_SIZE is always enough.
 *
 * That the mask is used is in flash before it exists. Asked again, it writes the same bytes; after
 * a reset those of another mask, over the same numbers. SORDINO_STATUS_UNEXPECTED: the answer was
 * not SORDINO_ANSWER_KIND_HIDE, or one server is trusted.
 *
 * Pointers: `member` is NULL or what sordino_member_open wrote; `bytes` is NULL or points to `len` bytes, `used` NULL
 * or points to one value.
 */
sordino_status sordino_member_hide(struct sordino_member *member,
                                   uint32_t round,
                                   uint8_t *bytes,
                                   size_t len,
                                   size_t *used);

/**
 * Frames taken, observations so far, masks used, and whether the run is over (0 or 1); each may be
 * NULL.
 *
 * Pointers: `member` is NULL or what sordino_member_open wrote; the other pointers are NULL or point to one value.
 */
sordino_status sordino_member_describe(const struct sordino_member *member,
                                       uint32_t *frames,
                                       uint32_t *observations,
                                       uint32_t *masks,
                                       uint32_t *over);

/**
 * The public half of a secret of SORDINO_KEY_BYTES bytes, for the enrolment of a device under two
 * servers.
 *
 * Pointers: Both pointers are NULL or point to SORDINO_KEY_BYTES bytes.
 */
sordino_status sordino_member_public_key(const uint8_t *secret, uint8_t *public_key);

/**
 * Bytes of memory a newcomer takes, as SORDINO_NEWCOMER_SIZE, with a file of so many landmarks, 0
 * without one; 0 if a number is out of range.
 */
size_t sordino_newcomer_size(uint32_t landmarks, uint32_t capacity, uint32_t width);

/**
 * The usual settings: width 1, seed 0, a noise fraction of 1e-3, no moments.
 *
 * Pointers: `settings` is NULL or points to one value; `candidates` is not looked at.
 */
sordino_status sordino_newcomer_usual(uint32_t dim,
                                      uint32_t capacity,
                                      const float *candidates,
                                      size_t candidates_len,
                                      struct sordino_newcomer_settings *settings);

/**
 * Builds a search in `memory` of `len` bytes, tells it again what `log` of `log_len` entries says,
 * oldest first, and writes its address to `newcomer`. `prior` is the file to begin with, or NULL;
 * `log` is NULL and 0 for a search that begins; `refusal` may be NULL.
 *
 * The state is the log: after a reset the same entries in the same order give the same questions,
 * bit for bit. A program that must survive one stores an entry before it tells it. A value that
 * was told by mistake is taken back by a log without its entry.
 *
 * Pointers: `memory` is NULL or points to `len` bytes that nobody else uses while the object is used; `prior` is NULL
 * or what sordino_prior_attach wrote, and its memory stays as it is while the newcomer is used, as do the lists of
 * the settings, which are NULL or point to as many numbers as are named beside them; `log` is NULL or points to
 * `log_len` entries; the other pointers are NULL or point to one value.
 */
sordino_status sordino_newcomer_open(void *memory,
                                     size_t len,
                                     const struct sordino_newcomer_settings *settings,
                                     const struct sordino_prior *prior,
                                     const struct sordino_newcomer_entry *log,
                                     size_t log_len,
                                     struct sordino_newcomer **newcomer,
                                     struct sordino_refusal *refusal);

/**
 * The candidate to evaluate next: its index to `candidate`. At most `evaluations` more are made,
 * at least one: an evaluation is a hypothesis that is weighed, or a candidate under one;
 * SORDINO_STATUS_PENDING until the search is done, with the same candidate whatever the slices
 * are. One that was told, or failed, is not asked again while another is left.
 *
 * Pointers: `newcomer` is NULL or what sordino_newcomer_open wrote; `candidate` is NULL or points to one number.
 */
sordino_status sordino_newcomer_suggest(struct sordino_newcomer *newcomer, uint32_t evaluations, uint32_t *candidate);

/**
 * Whether sordino_newcomer_observe would take the value `y` of a candidate: ask before it is
 * stored, because sordino_newcomer_open refuses a log with a value that was not taken. Changes
 * nothing. SORDINO_STATUS_INDEX, SORDINO_STATUS_NOT_FINITE and SORDINO_STATUS_FULL as there.
 *
 * Pointers: `newcomer` is NULL or what sordino_newcomer_open wrote.
 */
sordino_status sordino_newcomer_check(struct sordino_newcomer *newcomer, uint32_t candidate, float y);

/**
 * Tells the value `y` of a candidate, asked for or not, for the first time or again. Larger is
 * better: of an exported file, tell SORDINO_PRIOR_SIGN times what was measured.
 * SORDINO_STATUS_INDEX, SORDINO_STATUS_NOT_FINITE and SORDINO_STATUS_FULL change nothing.
 *
 * Whether a finite value can be right only the caller knows. Check the range of the sensor first,
 * and tell no sentinel such as 9999: it could be the best value of all.
 *
 * Pointers: `newcomer` is NULL or what sordino_newcomer_open wrote.
 */
sordino_status sordino_newcomer_observe(struct sordino_newcomer *newcomer, uint32_t candidate, float y);

/**
 * Tells that a candidate, asked for or not, has no value: it cannot work here, or could not be
 * measured. It takes a place of the capacity, is not asked again while one is left that did not
 * fail, and is never the best. The model has the worst value told so far in its place, so that the
 * search leaves a region that fails. Where only the measurement went wrong, measure again.
 * SORDINO_STATUS_INDEX and SORDINO_STATUS_FULL change nothing.
 *
 * Pointers: `newcomer` is NULL or what sordino_newcomer_open wrote.
 */
sordino_status sordino_newcomer_fail(struct sordino_newcomer *newcomer, uint32_t candidate);

/**
 * The candidate to use: of those that were told and never failed the one whose posterior mean is
 * largest, and that mean in the user's unit. SORDINO_STATUS_EMPTY if there is none. `mean` may be
 * NULL. A suggestion that is not done begins again.
 *
 * After the last try use this one: the last suggestion is a question, and may be a poor candidate.
 *
 * Pointers: `newcomer` is NULL or what sordino_newcomer_open wrote; `candidate` and `mean` are NULL or point to one
 * number.
 */
sordino_status sordino_newcomer_best(struct sordino_newcomer *newcomer, uint32_t *candidate, float *mean);

/**
 * The posterior probability that the file counts, 0 to 1, to `probability`. While it is below ½
 * the values speak against the file, and beyond 200 values and failures a search knows more than
 * any file: a device then does better to ask a sordino_optimizer, told all values, by
 * sordino_optimizer_suggest_among. 0 without a file and with one that is not read. A suggestion
 * that is not done begins again.
 *
 * All at once, not in slices: every hypothesis is weighed twice, n³/6 multiply-adds each after n
 * observations.
 *
 * Pointers: `newcomer` is NULL or what sordino_newcomer_open wrote; `probability` is NULL or points to one number.
 */
sordino_status sordino_newcomer_trust(struct sordino_newcomer *newcomer, float *probability);

/**
 * Values told, candidates that failed, candidates in all, and how the file is read
 * (SORDINO_READING_*); each may be NULL.
 *
 * Pointers: `newcomer` is NULL or what sordino_newcomer_open wrote; the other pointers are NULL or point to one
 * value.
 */
sordino_status sordino_newcomer_describe(const struct sordino_newcomer *newcomer,
                                         uint32_t *observations,
                                         uint32_t *failures,
                                         uint32_t *candidates,
                                         uint32_t *reading);

/**
 * Entry `index` of what was told, values and failures, oldest first, from 0 on.
 * SORDINO_STATUS_INDEX behind the last.
 *
 * Pointers: `newcomer` is NULL or what sordino_newcomer_open wrote; `entry` is NULL or points to one value.
 */
sordino_status sordino_newcomer_told(const struct sordino_newcomer *newcomer,
                                     size_t index,
                                     struct sordino_newcomer_entry *entry);

/**
 * Builds an optimizer in `memory` of `len` bytes, tells it again what its flash holds, and writes
 * its address to `optimizer`. `flash` and `refusal` may be NULL.
 *
 * With a flash every point is stored before the call that tells it returns, in a slot of
 * SORDINO_OPTIMIZER_SLOT bytes, and so is every fit: after a reset the optimizer asks for the same
 * point as before. Without one a reset forgets everything. Without drop_oldest slots are filled
 * from the first on, until all are in use; a flash may end before
 * SORDINO_OPTIMIZER_SLOTS(capacity, fits), where `read` fails. With it the newest `capacity`
 * observations stay, in slots that are written in turn.
 *
 * What another kind, version, box, capacity or setting has stored is
 * SORDINO_STATUS_STORED_FOREIGN, and what no cut can have left (a slot that cannot be read as an
 * entry, and entries behind it) SORDINO_STATUS_STORED_DAMAGED: nothing is built and nothing is
 * written. Go back to the settings, or give the data up with sordino_optimizer_erase. A torn slot
 * at the end is a write that was cut off, and is written again.
 *
 * Pointers: `memory` is NULL or points to `len` bytes that nobody else uses while the object is used; the other
 * pointers are NULL or point to one value; the callbacks do what their docs say.
 */
sordino_status sordino_optimizer_open(void *memory,
                                      size_t len,
                                      const struct sordino_optimizer_settings *settings_at,
                                      const struct sordino_flash *flash,
                                      struct sordino_optimizer **optimizer,
                                      struct sordino_refusal *refusal);

/**
 * Erases the slots of an optimizer of these settings, whatever they hold: all its observations and
 * fits are given up. If the power fails meanwhile, do it again. `refusal` may be NULL.
 *
 * Pointers: The pointers are NULL or point to one value; the callbacks do what their docs say.
 */
sordino_status sordino_optimizer_erase(const struct sordino_optimizer_settings *settings_at,
                                       const struct sordino_flash *flash,
                                       struct sordino_refusal *refusal);

/**
 * The point to try next: `dim` numbers to `point`, in the user's units. At most `evaluations` more
 * of the acquisition are made, at least one; SORDINO_STATUS_PENDING until the search is done, with
 * the same point whatever the slices are.
 *
 * Where the best question promises less than 3 % of the values' standard deviation, every second
 * one is asked where less is known (expected improvement only).
 *
 * Where a fit is due it comes first, one evaluation of the likelihood counting as many as there
 * are observations, and is stored in the flash where there is a slot for it; else it is made again
 * after a reset. If the flash fails, nothing was done.
 *
 * Pointers: `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or points to `dim` numbers.
 */
sordino_status sordino_optimizer_suggest(struct sordino_optimizer *optimizer,
                                         uint32_t evaluations,
                                         float *point,
                                         size_t dim);

/**
 * The point to try next by an acquisition of the program's own, as sordino_optimizer_suggest.
 * `rule` is called with `context` and is the same at every slice; it must not use the optimizer.
 *
 * Pointers: `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or points to `dim` numbers;
 * `rule` does what its doc says.
 */
sordino_status sordino_optimizer_suggest_by(struct sordino_optimizer *optimizer,
                                            uint32_t evaluations,
                                            sordino_rule rule,
                                            void *context,
                                            float *point,
                                            size_t dim);

/**
 * The candidate to try next: its number to `candidate`. Only those of the list may be asked:
 * `count` points of `dim` numbers each, 1 to SORDINO_CANDIDATES_MAX, the same at every slice. One
 * that was asked is not asked again while another is left, unless values are noisy or drift. Else
 * as sordino_optimizer_suggest.
 *
 * Pointers: `optimizer` is NULL or what sordino_optimizer_open wrote; `candidates` is NULL or points to `count` times
 * `dim` numbers, `candidate` NULL or points to one.
 */
sordino_status sordino_optimizer_suggest_among(struct sordino_optimizer *optimizer,
                                               uint32_t evaluations,
                                               const float *candidates,
                                               size_t count,
                                               size_t dim,
                                               uint32_t *candidate);

/**
 * The point to use: the observed one of largest posterior mean, that mean and the posterior
 * standard deviation there. SORDINO_STATUS_EMPTY if nothing was observed, or all of it failed.
 * `mean` and `std` may be NULL.
 *
 * Pointers: `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or points to `dim` numbers, the
 * others NULL or points to one.
 */
sordino_status sordino_optimizer_recommend(struct sordino_optimizer *optimizer,
                                           float *point,
                                           size_t dim,
                                           float *mean,
                                           float *std);

/**
 * What is expected of a point of the box: posterior mean and standard deviation of the function
 * there, in the unit of the values. SORDINO_STATUS_EMPTY if nothing was observed, or all of it
 * failed; SORDINO_STATUS_OUTSIDE for a point outside the box. `std` may be NULL.
 *
 * Pointers: `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or points to `dim` numbers, the
 * others NULL or points to one.
 */
sordino_status sordino_optimizer_predict(struct sordino_optimizer *optimizer,
                                         const float *point,
                                         size_t dim,
                                         float *mean,
                                         float *std);

/**
 * The expected improvement, in the unit of the values, of the point that was suggested last;
 * infinity while that is not known: after an observation or a fit, for points that fill the box,
 * and for candidates of a list. A program stops asking where it is below what a question costs.
 *
 * Pointers: `optimizer` is NULL or what sordino_optimizer_open wrote; `gain` is NULL or points to one number.
 */
sordino_status sordino_optimizer_gain(const struct sordino_optimizer *optimizer, float *gain);

/**
 * Tells the value `y` of a point of `dim` coordinates, a suggested one or any other of the box.
 *
 * A fit that is due is finished first, in one piece, which takes as long as sordino_optimizer_fit.
 * A suggestion that was asked for in slices to its end has done it.
 *
 * What is refused is not stored: SORDINO_STATUS_OUTSIDE, SORDINO_STATUS_LENGTH and a full flash
 * change nothing. After a value that is not finite or beyond 1e14 (SORDINO_STATUS_RANGE), or of
 * which there is no room among the rows, the next suggestion is another point, until something is
 * told or the device is reset. If the flash fails, the point was not told.
 *
 * Pointers: `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or points to `dim` numbers.
 */
sordino_status sordino_optimizer_observe(struct sordino_optimizer *optimizer,
                                         const float *point,
                                         size_t dim,
                                         float y);

/**
 * Tells that a point of `dim` coordinates, a suggested one or any other of the box, has no value:
 * it cannot work here, or could not be measured. It takes a row of the capacity and a slot of the
 * flash as an observation does, is not asked again from a list while a candidate is left that did
 * not fail, and is never the best. The model has the worst value of the other rows in its place,
 * so that the search leaves a region that fails. Where only the measurement went wrong, measure
 * again.
 *
 * Refused as sordino_optimizer_observe, with a value that is finite.
 *
 * Pointers: `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or points to `dim` numbers.
 */
sordino_status sordino_optimizer_fail(struct sordino_optimizer *optimizer, const float *point, size_t dim);

/**
 * Fits lengthscales and noise to the observations now: at most `evaluations` more of the
 * likelihood, at least one. Nobody needs to call it, suggestions fit where it is due.
 *
 * SORDINO_STATUS_PENDING until it is done. `fitted` gets 1, or 0 if there was nothing to fit
 * (fewer than three observations, or values that are all the same); it may be NULL.
 *
 * If the flash fails, the fit was not made; SORDINO_STATUS_FULL, before anything is done, if none
 * of the slots for fits is left: those that suggestions made take theirs first.
 *
 * Pointers: `optimizer` is NULL or what sordino_optimizer_open wrote; `fitted` is NULL or points to one number.
 */
sordino_status sordino_optimizer_fit(struct sordino_optimizer *optimizer, uint32_t evaluations, uint32_t *fitted);

/**
 * The observed point of largest posterior mean, in the user's units, and that mean.
 * SORDINO_STATUS_EMPTY if nothing was observed, or all of it failed.
 *
 * Pointers: `optimizer` is NULL or what sordino_optimizer_open wrote; `point` is NULL or points to `dim` numbers,
 * `mean` NULL or points to one.
 */
sordino_status sordino_optimizer_best(struct sordino_optimizer *optimizer, float *point, size_t dim, float *mean);

/**
 * Observations and failures in use; those told since the beginning, also what repeated another or
 * was forgotten; slots of the flash in use; and 1 if nothing was told since the last fit, else 0.
 * Each may be NULL.
 *
 * Pointers: `optimizer` is NULL or what sordino_optimizer_open wrote; the other pointers are NULL or point to one
 * value.
 */
sordino_status sordino_optimizer_describe(const struct sordino_optimizer *optimizer,
                                          uint32_t *observations,
                                          uint32_t *told,
                                          uint32_t *stored,
                                          uint32_t *just_fitted);

/**
 * Bytes of memory an optimizer takes, as SORDINO_OPTIMIZER_SIZE; 0 if `dim` or `capacity` is out
 * of range.
 */
size_t sordino_optimizer_size(uint32_t dim, uint32_t capacity);

/**
 * The usual settings: Matérn 5/2, expected improvement, the box from 0 to 1 on every axis, as many
 * fits in the flash as observations.
 *
 * Pointers: `settings` is NULL or points to one value.
 */
sordino_status sordino_optimizer_usual(uint32_t dim, uint32_t capacity, struct sordino_optimizer_settings *settings);

/**
 * Bytes of memory a prior file takes, as SORDINO_PRIOR_SIZE, without a factor that is given; 0 if
 * `landmarks` is out of range.
 */
size_t sordino_prior_size(uint32_t landmarks);

/**
 * Checks the numbers of a prior file, builds it in `memory` of `len` bytes, and writes its address
 * to `prior`. `refusal` may be NULL. It is called once, after a reset say; the numbers stay where
 * they are.
 *
 * Without a factor `scratch` may be NULL and the memory holds SORDINO_PRIOR_SIZE bytes. With one
 * it holds SORDINO_PRIOR_HEAD, and `scratch` of SORDINO_PACKED(landmarks) numbers is free
 * afterwards, for a newcomer say.
 *
 * SORDINO_STATUS_RANGE names the list, the number and what it may be, NaN included,
 * SORDINO_STATUS_LENGTH is a list of another length, SORDINO_STATUS_SINGULAR two landmarks that
 * are nearly the same.
 *
 * Pointers: `memory` is NULL or points to `len` bytes that nobody else uses while the object is used; `numbers`,
 * `prior` and `refusal` are NULL or point to one value, its lists NULL or points to as many numbers as are named
 * beside them, which stay as they are while the object, or a newcomer with it, is used; `scratch` is NULL or points
 * to `scratch_len` numbers.
 */
sordino_status sordino_prior_attach(void *memory,
                                    size_t len,
                                    const struct sordino_prior_numbers *numbers,
                                    float *scratch,
                                    size_t scratch_len,
                                    struct sordino_prior **prior,
                                    struct sordino_refusal *refusal);

/**
 * How the file is read (SORDINO_READING_*), its landmarks and their coordinates; each may be NULL.
 *
 * Pointers: `prior` is NULL or what sordino_prior_attach wrote; the other pointers are NULL or point to one value.
 */
sordino_status sordino_prior_describe(const struct sordino_prior *prior,
                                      uint32_t *reading,
                                      uint32_t *landmarks,
                                      uint32_t *dim);

/**
 * The factor of the landmarks to `factor`, SORDINO_PACKED(landmarks) numbers: kept as constants,
 * they save as much memory in sordino_prior_attach. They are the same bits on every machine.
 *
 * Pointers: `prior` is NULL or what sordino_prior_attach wrote; `factor` is NULL or points to `len` numbers.
 */
sordino_status sordino_prior_factor(const struct sordino_prior *prior, float *factor, size_t len);

/**
 * What the file says of every candidate, its mean and its variance, to `moments` of 2 times
 * `count` numbers. A newcomer that is given them, in flash say, answers a few times faster.
 * `candidates` are `count` points of the file's dimension.
 *
 * Pointers: `prior` is NULL or what sordino_prior_attach wrote; `candidates` is NULL or points to `count` times the
 * dimension numbers, `moments` NULL or points to 2 times `count`, `scratch` NULL or points to `scratch_len`, at least
 * as many as there are landmarks.
 */
sordino_status sordino_prior_moments(const struct sordino_prior *prior,
                                     const float *candidates,
                                     size_t count,
                                     float *moments,
                                     float *scratch,
                                     size_t scratch_len);

/**
 * Builds a reporter in `memory` of `len` bytes, with what its two slots of flash say was spent,
 * and writes its address to `reporter`. `refusal` may be NULL; the flash may not: a budget that is
 * forgotten is none.
 *
 * Erased slots are the beginning of a device's life. Slots that are damaged, or of another user or
 * budget, are refused.
 *
 * Pointers: `memory` is NULL or points to `len` bytes that nobody else uses while the object is used; the other
 * pointers are NULL or point to one value; the callbacks do what their docs say.
 */
sordino_status sordino_reporter_open(void *memory,
                                     size_t len,
                                     const struct sordino_reporter_settings *settings,
                                     const struct sordino_flash *flash,
                                     const struct sordino_entropy *entropy,
                                     struct sordino_reporter **reporter,
                                     struct sordino_refusal *refusal);

/**
 * The learner asks for the reward of `candidate`: the budget is charged, and SORDINO_STATUS_OK
 * says that the charge is in both slots: observe the reward now, and call sordino_reporter_reward.
 *
 * After SORDINO_STATUS_FLASH ask again for the same candidate: the charge is written again and
 * taken only once.
 *
 * Pointers: `reporter` is NULL or what sordino_reporter_open wrote.
 */
sordino_status sordino_reporter_query(struct sordino_reporter *reporter, uint32_t candidate);

/**
 * The reward that was observed: NaN counts as 0, anything else is clamped. `report` gets what may
 * leave the device.
 *
 * Pointers: `reporter` is NULL or what sordino_reporter_open wrote; `report` is NULL or points to one number.
 */
sordino_status sordino_reporter_reward(struct sordino_reporter *reporter, float reward, float *report);

/**
 * Epsilon that is spent and left, and reports that left this device by what the flash holds; each
 * may be NULL.
 *
 * Pointers: `reporter` is NULL or what sordino_reporter_open wrote; the other pointers are NULL or point to one
 * value.
 */
sordino_status sordino_reporter_describe(const struct sordino_reporter *reporter,
                                         double *spent,
                                         double *left,
                                         uint32_t *reports);

/**
 * Bytes of memory a site takes, as SORDINO_SITE_SIZE; 0 if one of the numbers is out of range.
 */
size_t sordino_site_size(uint32_t points, uint32_t features);

/**
 * Builds a site in `memory` of `len` bytes of the points that it has measured, and writes its
 * address to `site`. `points` are `count` points of the campaign's dimension, coordinates from 0
 * to 1; `values` their `count` values, in the site's own unit, **larger is better**: where the
 * campaign minimises, give -value. At least three; `refusal` may be NULL.
 *
 * All releases are of the same values: keep them in flash, so that a reset contributes the same
 * again. Settings, landmarks, points and values are read and not kept.
 *
 * Pointers: `memory` is NULL or points to `len` bytes that nobody else uses while the object is used; `settings`,
 * `site` and `refusal` are NULL or point to one value; `points` is NULL or points to `points_len` numbers, `values`
 * NULL or points to `count` numbers; the pointers of the settings are NULL or point to as many values as are named
 * beside them.
 */
sordino_status sordino_site_open(void *memory,
                                 size_t len,
                                 const struct sordino_site_settings *settings,
                                 const double *points,
                                 size_t points_len,
                                 const double *values,
                                 size_t count,
                                 struct sordino_site **site,
                                 struct sordino_refusal *refusal);

/**
 * Writes what the site contributes to a release as the frame that it sends, into the `room` bytes
 * at `frame`, and how many it took to `written`: SORDINO_SITE_FRAME_SIZE or fewer. `opening` are
 * the `opening_len` bytes that the server answers to `GET /v1/RUN/rounds/ROUND/opening` while that
 * round is open.
 *
 * `header` is that of the upload: its round and attempt are those of the server's last frame, its
 * chain the prefix of the history with that frame (sordino_frame_chain). SORDINO_STATUS_FOREIGN:
 * the opening is of another campaign, round or history than the header, or the round has no
 * release. SORDINO_STATUS_SINGULAR: to this release the site sends no numbers, a frame of none.
 *
 * Keep the frame in flash before it leaves, and send that after a reset: asked again, a server may
 * say something else of how the release is made, and what was sent is never to be contradicted.
 *
 * The server learns what is sent, and adds its noise; ε is that of the campaign whatever stands in
 * the opening: a contribution is clipped as a whole before it is added.
 *
 * Pointers: `site` is NULL or what sordino_site_open wrote; `header` and `written` are NULL or point to one value,
 * `opening` NULL or points to `opening_len` bytes, `frame` NULL or points to `room` bytes.
 */
sordino_status sordino_site_contribution(struct sordino_site *site,
                                         const struct sordino_frame_header *header,
                                         const uint8_t *opening,
                                         size_t opening_len,
                                         uint8_t *frame,
                                         size_t room,
                                         size_t *written);

/**
 * Reads the file of the campaign from the `frame_len` bytes at `frame` that the server answers to
 * `GET /v1/RUN/prior.frame`: its numbers into the `room` numbers at `numbers`,
 * SORDINO_SITE_FILE_NUMBERS of them, and where they are to `file`, without a factor.
 * sordino_prior_attach checks them then; they stay where they are.
 *
 * `history` are the SORDINO_DIGEST_BYTES bytes of the history with the server's last frame. Ask
 * before the last frame is answered: the server may end when everybody has.
 * SORDINO_STATUS_FOREIGN: the frame is of another campaign, another kind, or an older history, as
 * a cache may have it.
 *
 * Pointers: `site` is NULL or what sordino_site_open wrote; `history` is NULL or points to SORDINO_DIGEST_BYTES
 * bytes, `frame` NULL or points to `frame_len` bytes, `numbers` NULL or points to `room` numbers, `file` NULL or
 * points to one value.
 */
sordino_status sordino_site_file(struct sordino_site *site,
                                 const uint8_t *history,
                                 const uint8_t *frame,
                                 size_t frame_len,
                                 float *numbers,
                                 size_t room,
                                 struct sordino_prior_numbers *file);

/**
 * What a status says, in English; a static text, for any number at all.
 */
const char *sordino_message(int32_t status);

/**
 * Version of the library that is linked, as SORDINO_VERSION of the header that belongs to it:
 * compare the two once at the start, because sizes and settings of another version differ.
 */
uint32_t sordino_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SORDINO_H */
