// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The functions of ingot.h as a library implements them. A program may hold
// libraries of several models, which export the same names: those of the first
// one pass each call on to the library that the session belongs to.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_EMBED_LIBRARYFUNCTIONS_H
#define INGOT_RUNTIME_EMBED_LIBRARYFUNCTIONS_H

#include "runtime/embed/include/ingot.h"

/// The functions that a library implements, in the order of ingot.h.
struct ingot_functions {
  const char *(*lastError)();
  ingot_status (*open)(const ingot_options *, ingot_session **);
  ingot_status (*close)(ingot_session *);
  size_t (*count)(ingot_session *, ingot_list);
  ingot_status (*describe)(ingot_session *, ingot_list, size_t, ingot_tensor *);
  ingot_status (*selectShape)(ingot_session *, size_t);
  ingot_status (*step)(ingot_session *, const ingot_input *, size_t, double *,
                       size_t);
  ingot_status (*evaluate)(ingot_session *, const ingot_input *, size_t, size_t,
                           double *, size_t);
  ingot_status (*predict)(ingot_session *, const ingot_input *, size_t, size_t,
                          const ingot_output *, size_t);
  ingot_status (*inputAddress)(ingot_session *, ingot_list, size_t, void **);
  ingot_status (*getHyperparameter)(ingot_session *, const char *, double *);
  ingot_status (*setHyperparameter)(ingot_session *, const char *, double);
  ingot_status (*getState)(ingot_session *, const char *, ingot_type, void *,
                           size_t);
  ingot_status (*setState)(ingot_session *, const char *, ingot_type,
                           const void *, size_t);
  ingot_status (*reset)(ingot_session *, uint64_t);
  ingot_status (*save)(ingot_session *, const char *, int);
  ingot_status (*resume)(ingot_session *, const char *);
  ingot_status (*load)(ingot_session *, const char *);
  ingot_status (*exportModel)(ingot_session *, const char *);
  ingot_status (*getStatistics)(ingot_session *, ingot_statistics *);
};

struct ingot_model {
  /// The version of this struct and of ingot_functions.
  static constexpr uint32_t kVersion = 1;

  uint32_t version;
  const ingot_functions *functions;
};

namespace ingot::runtime {

/// The functions of this library.
extern const ingot_functions kFunctions;

} // namespace ingot::runtime

/// The model of this library. What `--emit lib` generates calls it.
extern "C" const ingot_model *ingot_get_model(void);

#endif // INGOT_RUNTIME_EMBED_LIBRARYFUNCTIONS_H
