// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The functions of ingot.h: what is null is refused, and what is thrown becomes
// a status with its text.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/machine/Threads.h"
#include "runtime/embed/Handles.h"
#include "runtime/embed/LastError.h"
#include "runtime/embed/LibraryFunctions.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>

using namespace ingot::runtime;

/// Calls `body`; returns the status of what it throws.
template <typename Body> static ingot_status guard(Body body) {
  try {
    body();
    return INGOT_OK;
  } catch (const Error &error) {
    return setLastError(error);
  } catch (const std::bad_alloc &) {
    setLastError("memory: out of memory (free some, or compile with a smaller "
                 "--batch)");
  } catch (const std::system_error &error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      return setLastError(lackOfThreads());
    setLastError(error.what());
  } catch (const std::exception &error) {
    setLastError(error.what());
  } catch (...) {
    setLastError("internal: an exception that is not known");
  }
  return INGOT_FAILED;
}

/// Calls `body` with the session of a handle.
template <typename Body>
static ingot_status use(ingot_session *handle, Body body) {
  return guard([&] {
    HandleUse use(*handle);
    SessionScope scope(use.getSession().getSettings());
    body(use.getSession());
  });
}

/// Throws if a pointer is null.
static void require(const void *pointer, const char *name) {
  if (!pointer)
    throw usageError(name, "it is null", "give an address");
}

template <typename T>
static std::span<T> makeSpan(T *data, size_t count, const char *name) {
  if (count != 0)
    require(data, name);
  return {data, count};
}

static ingot_status open(const ingot_options *given, ingot_session **session) {
  return guard([&] {
    ingot_options options = ingot_default_options();
    if (given) {
      // What a later ingot.h adds is not known here.
      if (given->size == 0 || given->size > sizeof(options))
        throw usageError("options.size", "it is the size of no ingot_options",
                         "begin with ingot_default_options()");
      std::memcpy(&options, given, given->size);
    }
    *session = openHandle(options);
  });
}

static ingot_status close(ingot_session *handle) {
  return guard([&] {
    HandleUse use(*handle);
    closeHandle(*handle);
  });
}

static size_t count(ingot_session *handle, ingot_list list) {
  size_t number = 0;
  use(handle, [&](EmbeddedSession &s) { number = s.list(list).size(); });
  return number;
}

static ingot_status describe(ingot_session *handle, ingot_list list,
                             size_t index, ingot_tensor *tensor) {
  return use(handle, [&](EmbeddedSession &s) {
    require(tensor, "tensor");
    const std::vector<ingot_tensor> &entries = s.list(list);
    if (index >= entries.size())
      throw usageError("index",
                       "the list has " + std::to_string(entries.size()) +
                           " entries",
                       "ingot_count returns their number");
    *tensor = entries[index];
  });
}

static ingot_status selectShape(ingot_session *handle, size_t index) {
  return use(handle, [&](EmbeddedSession &s) { s.selectShape(index); });
}

static ingot_status step(ingot_session *handle, const ingot_input *inputs,
                         size_t inputCount, double *results,
                         size_t resultCount) {
  return use(handle, [&](EmbeddedSession &s) {
    s.step(makeSpan(inputs, inputCount, "inputs"),
           makeSpan(results, resultCount, "results"));
  });
}

static ingot_status evaluate(ingot_session *handle, const ingot_input *inputs,
                             size_t inputCount, size_t samples, double *results,
                             size_t resultCount) {
  return use(handle, [&](EmbeddedSession &s) {
    s.evaluate(makeSpan(inputs, inputCount, "inputs"), samples,
               makeSpan(results, resultCount, "results"));
  });
}

static ingot_status predict(ingot_session *handle, const ingot_input *inputs,
                            size_t inputCount, size_t samples,
                            const ingot_output *outputs, size_t outputCount) {
  return use(handle, [&](EmbeddedSession &s) {
    s.predict(makeSpan(inputs, inputCount, "inputs"), samples,
              makeSpan(outputs, outputCount, "outputs"));
  });
}

static ingot_status inputAddress(ingot_session *handle, ingot_list list,
                                 size_t index, void **address) {
  return use(handle, [&](EmbeddedSession &s) {
    require(address, "address");
    *address = s.getInputAddress(list, index);
  });
}

static ingot_status getHyperparameter(ingot_session *handle, const char *name,
                                      double *value) {
  return use(handle, [&](EmbeddedSession &s) {
    require(name, "name");
    require(value, "value");
    *value = s.getHyperparameter(name);
  });
}

static ingot_status setHyperparameter(ingot_session *handle, const char *name,
                                      double value) {
  return use(handle, [&](EmbeddedSession &s) {
    require(name, "name");
    s.setHyperparameter(name, value);
  });
}

static ingot_status getState(ingot_session *handle, const char *name,
                             ingot_type type, void *data, size_t bytes) {
  return use(handle, [&](EmbeddedSession &s) {
    require(name, "name");
    require(data, "data");
    s.getState(name, type, data, bytes);
  });
}

static ingot_status setState(ingot_session *handle, const char *name,
                             ingot_type type, const void *data, size_t bytes) {
  return use(handle, [&](EmbeddedSession &s) {
    require(name, "name");
    require(data, "data");
    s.setState(name, type, data, bytes);
  });
}

static ingot_status reset(ingot_session *handle, uint64_t seed) {
  return use(handle, [&](EmbeddedSession &s) { s.reset(seed); });
}

static ingot_status save(ingot_session *handle, const char *folder, int keep) {
  return use(handle, [&](EmbeddedSession &s) {
    require(folder, "folder");
    s.save(folder, keep);
  });
}

static ingot_status resume(ingot_session *handle, const char *path) {
  return use(handle, [&](EmbeddedSession &s) {
    require(path, "path");
    s.resume(path);
  });
}

static ingot_status load(ingot_session *handle, const char *path) {
  return use(handle, [&](EmbeddedSession &s) {
    require(path, "path");
    s.load(path);
  });
}

static ingot_status exportModel(ingot_session *handle, const char *path) {
  return use(handle, [&](EmbeddedSession &s) {
    require(path, "path");
    s.exportModel(path);
  });
}

static ingot_status getStatistics(ingot_session *handle,
                                  ingot_statistics *statistics) {
  return use(handle, [&](EmbeddedSession &s) {
    require(statistics, "statistics");
    size_t size = statistics->size;
    ingot_statistics all = {};
    if (size == 0 || size > sizeof(all))
      throw usageError("statistics.size",
                       "it is the size of no ingot_statistics",
                       "set it to sizeof(ingot_statistics)");
    s.fill(all);
    all.size = size;
    std::memcpy(statistics, &all, size);
  });
}

const ingot_functions ingot::runtime::kFunctions = {getLastError,
                                                    open,
                                                    close,
                                                    count,
                                                    describe,
                                                    selectShape,
                                                    step,
                                                    evaluate,
                                                    predict,
                                                    inputAddress,
                                                    getHyperparameter,
                                                    setHyperparameter,
                                                    getState,
                                                    setState,
                                                    reset,
                                                    save,
                                                    resume,
                                                    load,
                                                    exportModel,
                                                    getStatistics};
