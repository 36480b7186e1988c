// SPDX-License-Identifier: Apache-2.0
/*
 * A training step as a library. `ingotc MODEL.onnx --emit lib -o libNAME.so`,
 * or libNAME.a for a static one, writes the library, this header, and NAME.h
 * with the constants of the model and calls with its names. docs/guide/embed.md
 * goes through it.
 *
 * Every function that returns an ingot_status returns INGOT_OK, or what went
 * wrong; ingot_last_error() then has the text. A session is used by one thread
 * at a time: a call while another thread's is running returns INGOT_USAGE.
 * Different sessions are independent, also those of different models. Nothing
 * here prints, ends the process, or changes its signals, environment or locale.
 */

#ifndef INGOT_H
#define INGOT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define INGOT_API __attribute__((visibility("default")))
#else
#define INGOT_API
#endif

/* Any number may be passed for a constant: what is none is refused. */
#ifdef __cplusplus
#define INGOT_INT : int
#else
#define INGOT_INT
#endif

/** A compiled model. NAME.h declares the function that returns it. */
typedef struct ingot_model ingot_model;

/** A model with its own parameters, optimizer state and memory. */
typedef struct ingot_session ingot_session;

/** The outcome of a call: the exit statuses of trainers. */
typedef enum ingot_status INGOT_INT {
  INGOT_OK = 0,
  /** The call failed while it ran. */
  INGOT_FAILED = 1,
  /** The caller's mistake: a null, a wrong size, an unknown name. */
  INGOT_USAGE = 2,
  /** A file, or values of an input, are wrong. */
  INGOT_BAD_INPUT = 3
} ingot_status;

/** The types of elements. */
typedef enum ingot_type INGOT_INT {
  INGOT_TYPE_F64 = 0,
  INGOT_TYPE_F32 = 1,
  INGOT_TYPE_F16 = 2,
  INGOT_TYPE_BF16 = 3,
  INGOT_TYPE_I64 = 4,
  INGOT_TYPE_I32 = 5,
  INGOT_TYPE_I8 = 6,
  INGOT_TYPE_U8 = 7,
  /** Bytes that are 0 or 1. */
  INGOT_TYPE_BOOL = 8
} ingot_type;

/** Returns the version of the library, such as "0.1.0". */
INGOT_API const char *ingot_version(void);

/**
 * Returns what went wrong in the last call of this thread that failed, and what
 * to do about it, in one line. The text is valid until the thread's next call.
 */
INGOT_API const char *ingot_last_error(void);

/* Sessions ------------------------------------------------------------------*/

/** Where big blocks of memory come from: state, arena, scratch. */
typedef struct ingot_allocator {
  /** Returns memory aligned to 4096 bytes, or null. */
  void *(*allocate)(void *data, size_t bytes);
  void (*release)(void *data, void *memory, size_t bytes);
  void *data;
} ingot_allocator;

/** Receives a line about what happens, without its end. */
typedef void (*ingot_log)(void *data, const char *line);

/** How files are read. */
enum {
  /**
   * Map files instead of reading them. Against files that are truncated
   * meanwhile, SIGBUS gets a handler, which the last ingot_close() removes.
   */
  INGOT_MAP_FILES = 1
};

/** Options of a session. What is 0 or null has its default. */
typedef struct ingot_options {
  /** sizeof(ingot_options): ingot_default_options() sets it. */
  size_t size;
  /** The seed of initial values and of random numbers in the step. */
  uint64_t seed;
  /** Threads of a step; 0 for OMP_NUM_THREADS, else the processors. */
  int threads;
  /** INGOT_MAP_FILES or 0. */
  unsigned flags;
  /** Initial weights, a safetensors file, instead of those of the model. */
  const char *weights;
  /**
   * The file that `--weights sidecar` wrote; by default it is beside the
   * library, by the name that the compiler gave it, or beside a program with a
   * static library, as PROGRAM.safetensors.
   */
  const char *sidecar;
  ingot_allocator allocator;
  ingot_log log;
  void *log_data;
} ingot_options;

/** Returns options that all have their default. */
static inline ingot_options ingot_default_options(void) {
  ingot_options options = {sizeof(ingot_options), 0,    0,   0, NULL, NULL,
                           {NULL, NULL, NULL},    NULL, NULL};
  return options;
}

/** Opens a session; `options` may be null. */
INGOT_API ingot_status ingot_open(const ingot_model *model,
                                  const ingot_options *options,
                                  ingot_session **session);

/**
 * Frees a session; null is none. Calls with it then return INGOT_USAGE. The
 * last one also ends the threads, so that the library can be unloaded.
 */
INGOT_API ingot_status ingot_close(ingot_session *session);

/* What a model has ----------------------------------------------------------*/

/** Lists of what a model has. */
typedef enum ingot_list INGOT_INT {
  /** Inputs of a step, of all its micro-batches. */
  INGOT_STEP_INPUTS = 0,
  /** Results of a step, which are numbers. */
  INGOT_STEP_RESULTS = 1,
  INGOT_EVALUATE_INPUTS = 2,
  /** Sums over the samples of an evaluation. */
  INGOT_EVALUATE_RESULTS = 3,
  INGOT_PREDICT_INPUTS = 4,
  INGOT_PREDICT_OUTPUTS = 5,
  /** Parameters, statistics, and the state of the optimizer. */
  INGOT_STATES = 6,
  INGOT_HYPERPARAMETERS = 7,
  /** The bindings of dimensions that `--dim NAME=A,B` compiled. */
  INGOT_SHAPES = 8
} ingot_list;

/** What a state is. */
typedef enum ingot_role INGOT_INT {
  INGOT_ROLE_NONE = 0,
  /** Trained. */
  INGOT_ROLE_PARAMETER = 1,
  /** Of the model, and not trained. */
  INGOT_ROLE_FROZEN = 2,
  /** Statistics of the model that training updates. */
  INGOT_ROLE_RUNNING = 3,
  /** Of the optimizer. */
  INGOT_ROLE_OPTIMIZER = 4
} ingot_role;

/** An entry of a list. Pointers are valid until the session is closed. */
typedef struct ingot_tensor {
  const char *name;
  const int64_t *shape;
  size_t rank;
  size_t elements;
  size_t bytes;
  ingot_type type;
  ingot_role role;
} ingot_tensor;

/** Returns the length of a list; 0 for what is none. */
INGOT_API size_t ingot_count(ingot_session *session, ingot_list list);

/** Describes an entry of a list. */
INGOT_API ingot_status ingot_describe(ingot_session *session, ingot_list list,
                                      size_t index, ingot_tensor *tensor);

/** Chooses the shape of the calls that follow, by its index in INGOT_SHAPES. */
INGOT_API ingot_status ingot_select_shape(ingot_session *session, size_t index);

/* Steps ---------------------------------------------------------------------*/

/** The values of an input, and their bytes, which are checked. */
typedef struct ingot_input {
  /** Null for values that are at ingot_input_address(). */
  const void *data;
  size_t bytes;
} ingot_input;

/** Memory for an output, and its bytes, which are checked. */
typedef struct ingot_output {
  /** Null for an output that is not wanted. */
  void *data;
  size_t bytes;
} ingot_output;

/**
 * Trains one step: gradients and update. `inputs` are all of INGOT_STEP_INPUTS
 * in order, `results` the first of INGOT_STEP_RESULTS. Of a model compiled with
 * `--grad-accumulation N`, inputs hold N batches, one after the other.
 */
INGOT_API ingot_status ingot_step(ingot_session *session,
                                  const ingot_input *inputs, size_t input_count,
                                  double *results, size_t result_count);

/**
 * Evaluates the first `samples` of a batch. Inputs hold that many samples. The
 * results are sums: the mean loss of several batches is the sum of their
 * `loss_sum` divided by that of their `loss_count`.
 */
INGOT_API ingot_status ingot_evaluate(ingot_session *session,
                                      const ingot_input *inputs,
                                      size_t input_count, size_t samples,
                                      double *results, size_t result_count);

/**
 * Computes the model's outputs for the first `samples` of a batch. Inputs and
 * outputs hold that many samples.
 */
INGOT_API ingot_status ingot_predict(ingot_session *session,
                                     const ingot_input *inputs,
                                     size_t input_count, size_t samples,
                                     const ingot_output *outputs,
                                     size_t output_count);

/**
 * Returns where an input of the next call lies in the session's own memory, to
 * be filled in place. `list` is the call's list of inputs. Any call that
 * computes uses the memory up.
 */
INGOT_API ingot_status ingot_input_address(ingot_session *session,
                                           ingot_list list, size_t index,
                                           void **address);

/* Values --------------------------------------------------------------------*/

/** Hyperparameters have the names of INGOT_HYPERPARAMETERS, such as "lr". */
INGOT_API ingot_status ingot_get_hyperparameter(ingot_session *session,
                                                const char *name,
                                                double *value);
INGOT_API ingot_status ingot_set_hyperparameter(ingot_session *session,
                                                const char *name, double value);

/**
 * Copies a state out or in, as elements of `type`, which are converted.
 * `bytes` is the size of all of them.
 */
INGOT_API ingot_status ingot_get_state(ingot_session *session, const char *name,
                                       ingot_type type, void *data,
                                       size_t bytes);
INGOT_API ingot_status ingot_set_state(ingot_session *session, const char *name,
                                       ingot_type type, const void *data,
                                       size_t bytes);

/** Starts again: initial values by a seed, and step 0. */
INGOT_API ingot_status ingot_reset(ingot_session *session, uint64_t seed);

/* Files ---------------------------------------------------------------------*/

/**
 * Saves a checkpoint, as a trainer of the same model does with `--save FOLDER
 * --keep N`; 0 for its default, 2. Each can resume the other's.
 */
INGOT_API ingot_status ingot_save(ingot_session *session, const char *folder,
                                  int keep);

/**
 * Resumes from a folder of checkpoints, or one of them: states, step and
 * hyperparameters.
 */
INGOT_API ingot_status ingot_resume(ingot_session *session, const char *path);

/** Loads weights from a safetensors file, as `--init` does. */
INGOT_API ingot_status ingot_load(ingot_session *session, const char *path);

/**
 * Writes the trained model: ONNX, or to a file named *.safetensors the weights.
 */
INGOT_API ingot_status ingot_export(ingot_session *session, const char *path);

/* Figures -------------------------------------------------------------------*/

/** Where a session is, and what it takes. */
typedef struct ingot_statistics {
  /** sizeof(ingot_statistics), set by the caller. */
  size_t size;
  /** Steps since the start, also those before a checkpoint. */
  int64_t steps;
  /** Memory of parameters and optimizer, as `--inspect` states it. */
  size_t state_bytes;
  /** Memory that steps compute in, as `--inspect` states it. */
  size_t arena_bytes;
  /** Memory of library calls beyond the plan. */
  size_t scratch_bytes;
  /** Threads of a step. */
  int threads;
} ingot_statistics;

INGOT_API ingot_status ingot_get_statistics(ingot_session *session,
                                            ingot_statistics *statistics);

#ifdef __cplusplus
}
#endif

#endif /* INGOT_H */
