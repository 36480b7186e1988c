// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A session of the library's model: the compiled step with its memory, driven
// by calls instead of a training loop.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_EMBED_EMBEDDEDSESSION_H
#define INGOT_RUNTIME_EMBED_EMBEDDEDSESSION_H

#include "runtime/checkpoint/CheckpointInfo.h"
#include "runtime/core/console/Console.h"
#include "runtime/embed/ModelLists.h"
#include "runtime/embed/SessionScope.h"
#include "runtime/trainer/pruning/Pruner.h"
#include "runtime/trainer/session/ModuleChoice.h"
#include "runtime/trainer/session/Session.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Every function throws Error, and is called within a SessionScope of the
/// session's settings.
class EmbeddedSession {
public:
  EmbeddedSession(const ingot_options &options,
                  std::unique_ptr<const SessionSettings> settings);

  const SessionSettings &getSettings() const { return *settings; }

  /// The entries of a list, for the shape that is chosen.
  const std::vector<ingot_tensor> &list(ingot_list list) const {
    return lists.get(list, shape);
  }
  void selectShape(size_t index);

  void step(std::span<const ingot_input> inputs, std::span<double> results);
  void evaluate(std::span<const ingot_input> inputs, size_t samples,
                std::span<double> results);
  void predict(std::span<const ingot_input> inputs, size_t samples,
               std::span<const ingot_output> outputs);
  void *getInputAddress(ingot_list list, size_t index);

  double getHyperparameter(const std::string &name) const;
  void setHyperparameter(const std::string &name, double value);
  void getState(const std::string &name, ingot_type type, void *data,
                size_t bytes);
  void setState(const std::string &name, ingot_type type, const void *data,
                size_t bytes);
  void reset(uint64_t seed);

  void save(const std::string &folder, int keep);
  void resume(const std::string &path);
  void load(const std::string &path);
  void exportModel(const std::string &path);

  void fill(ingot_statistics &statistics);

private:
  const Function &findFunction(ingot_list inputs) const;
  /// Throws unless there are states to work with.
  void requireStates() const;
  /// Checks numbers, sizes and values of inputs, of which each holds `samples`
  /// samples of a batch in each of `batches`.
  void check(ingot_list list, std::span<const ingot_input> inputs,
             int64_t samples, int64_t batches) const;
  /// Copies a batch of the inputs to where the function reads it.
  void place(const Function &function, ingot_list list,
             std::span<const ingot_input> inputs, int64_t samples,
             int64_t batch);
  void checkResults(ingot_list list, std::span<double> results) const;
  void read(const Function &function, std::span<double> results);
  const StateSpec &findState(const std::string &name, size_t bytes,
                             DType type) const;
  CheckpointInfo describe() const;
  /// Prunes what is due now, if the model is pruned.
  void pruneWeights();

  std::unique_ptr<const SessionSettings> settings;
  Console console;
  std::shared_ptr<const LoadedModule> loaded;
  ModelLists lists;
  Session session;
  /// Null unless the model is pruned.
  std::unique_ptr<Pruner> pruner;
  std::map<std::string, double> hyperparameters;
  uint64_t seed;
  int64_t steps = 0;
  size_t shape = 0;
  /// The list of the inputs that were asked for to be filled in place, and
  /// their memory.
  std::optional<ingot_list> prepared;
  char *memory = nullptr;
  /// Whether a call that replaces all states has failed half-way.
  bool isTorn = false;
  /// The run that was resumed, from where, and the folders that hold this one.
  std::optional<CheckpointInfo> resumed;
  std::string resumedFrom;
  std::set<std::string> folders;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_EMBED_EMBEDDEDSESSION_H
