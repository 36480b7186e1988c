// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The functions that a library exports.
//
//===----------------------------------------------------------------------===//

#include "runtime/embed/LastError.h"
#include "runtime/embed/LibraryFunctions.h"

using namespace ingot::runtime;

/// The first member of ingot_session in each library.
static const ingot_functions *getFunctions(const ingot_session *session) {
  return *reinterpret_cast<const ingot_functions *const *>(session);
}

/// Keeps the text of a failure in another library for this one's
/// ingot_last_error.
static ingot_status pass(const ingot_functions *functions,
                         ingot_status status) {
  if (status != INGOT_OK && functions != &kFunctions)
    setLastError(functions->lastError());
  return status;
}

/// Calls a function of the library that the session belongs to.
template <typename Function, typename... Args>
static ingot_status call(Function ingot_functions::*function,
                         ingot_session *session, Args... args) {
  if (!session)
    return setLastError(usageError("session", "it is null",
                                   "give what ingot_open has returned"));
  const ingot_functions *functions = getFunctions(session);
  return pass(functions, (functions->*function)(session, args...));
}

const char *ingot_version(void) { return INGOT_VERSION; }

const char *ingot_last_error(void) { return getLastError(); }

ingot_status ingot_open(const ingot_model *model, const ingot_options *options,
                        ingot_session **session) {
  if (session)
    *session = nullptr;
  if (!model || !session)
    return setLastError(usageError(
        model ? "session" : "model", "it is null",
        model ? "give the address of a variable for the session"
              : "call the function of NAME.h that returns the model"));
  if (model->version != ingot_model::kVersion)
    return setLastError(
        usageError("model", "its library is of another version of the API",
                   "compile all models of a program by one release, or load "
                   "each library by dlopen with RTLD_LOCAL"));
  return pass(model->functions, model->functions->open(options, session));
}

ingot_status ingot_close(ingot_session *session) {
  return session ? call(&ingot_functions::close, session) : INGOT_OK;
}

size_t ingot_count(ingot_session *session, ingot_list list) {
  return session ? getFunctions(session)->count(session, list) : 0;
}

ingot_status ingot_describe(ingot_session *session, ingot_list list,
                            size_t index, ingot_tensor *tensor) {
  return call(&ingot_functions::describe, session, list, index, tensor);
}

ingot_status ingot_select_shape(ingot_session *session, size_t index) {
  return call(&ingot_functions::selectShape, session, index);
}

ingot_status ingot_step(ingot_session *session, const ingot_input *inputs,
                        size_t input_count, double *results,
                        size_t result_count) {
  return call(&ingot_functions::step, session, inputs, input_count, results,
              result_count);
}

ingot_status ingot_evaluate(ingot_session *session, const ingot_input *inputs,
                            size_t input_count, size_t samples, double *results,
                            size_t result_count) {
  return call(&ingot_functions::evaluate, session, inputs, input_count, samples,
              results, result_count);
}

ingot_status ingot_predict(ingot_session *session, const ingot_input *inputs,
                           size_t input_count, size_t samples,
                           const ingot_output *outputs, size_t output_count) {
  return call(&ingot_functions::predict, session, inputs, input_count, samples,
              outputs, output_count);
}

ingot_status ingot_input_address(ingot_session *session, ingot_list list,
                                 size_t index, void **address) {
  return call(&ingot_functions::inputAddress, session, list, index, address);
}

ingot_status ingot_get_hyperparameter(ingot_session *session, const char *name,
                                      double *value) {
  return call(&ingot_functions::getHyperparameter, session, name, value);
}

ingot_status ingot_set_hyperparameter(ingot_session *session, const char *name,
                                      double value) {
  return call(&ingot_functions::setHyperparameter, session, name, value);
}

ingot_status ingot_get_state(ingot_session *session, const char *name,
                             ingot_type type, void *data, size_t bytes) {
  return call(&ingot_functions::getState, session, name, type, data, bytes);
}

ingot_status ingot_set_state(ingot_session *session, const char *name,
                             ingot_type type, const void *data, size_t bytes) {
  return call(&ingot_functions::setState, session, name, type, data, bytes);
}

ingot_status ingot_reset(ingot_session *session, uint64_t seed) {
  return call(&ingot_functions::reset, session, seed);
}

ingot_status ingot_save(ingot_session *session, const char *folder, int keep) {
  return call(&ingot_functions::save, session, folder, keep);
}

ingot_status ingot_resume(ingot_session *session, const char *path) {
  return call(&ingot_functions::resume, session, path);
}

ingot_status ingot_load(ingot_session *session, const char *path) {
  return call(&ingot_functions::load, session, path);
}

ingot_status ingot_export(ingot_session *session, const char *path) {
  return call(&ingot_functions::exportModel, session, path);
}

ingot_status ingot_get_statistics(ingot_session *session,
                                  ingot_statistics *statistics) {
  return call(&ingot_functions::getStatistics, session, statistics);
}

static const ingot_model model = {ingot_model::kVersion, &kFunctions};

const ingot_model *ingot_get_model(void) { return &model; }
