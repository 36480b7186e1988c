// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The states whose values stay in the trainer's weights (StateSpec::home): no
// step changes them, so that they are neither copied nor in checkpoints.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_SESSION_FILEDSTATES_H
#define INGOT_RUNTIME_TRAINER_SESSION_FILEDSTATES_H

#include "runtime/core/Manifest.h"
#include "runtime/core/Memory.h"

#include <map>
#include <memory>
#include <set>
#include <string>

namespace ingot::runtime {

class CompiledWeights;

class FiledStates {
public:
  /// Whether the value of the state is that of the weights.
  bool contain(const StateSpec &spec) const {
    return spec.home != StateHome::Block && own.count(&spec) == 0;
  }

  /// The weights that the states are in, as long as they are; null before they
  /// are taken (takeFiledStates).
  const std::shared_ptr<CompiledWeights> &getWeights() const { return weights; }
  /// Begins to take states from weights in a file of that path, if they are.
  void take(std::shared_ptr<CompiledWeights> from, std::string path) {
    forget();
    weights = std::move(from);
    file = std::move(path);
  }
  /// Gives weights up that are no mapped file, once all states are copied.
  void dropWeights() { weights.reset(); }
  /// Says where the weights have a state of which functions have nothing.
  void setPlace(const StateSpec &spec, const char *data) {
    places[&spec] = data;
  }
  /// Copies such a state, whose weights do not stay.
  void copy(const StateSpec &spec, const char *data);
  const char *getPlace(const StateSpec &spec) const;

  /// Gives a state memory of its own, with the same value. `mapped` is where it
  /// is mapped, if it is.
  void makeOwn(const StateSpec &spec, char *mapped);
  /// Throws badInput if the file of weights became shorter while it is mapped.
  void checkFile() const;
  /// Gives it up again, before all are taken anew.
  void forget();

private:
  std::shared_ptr<CompiledWeights> weights;
  std::string file;
  std::map<const StateSpec *, const char *> places;
  /// The states that have been set, and the memory of those that are not
  /// mapped.
  std::set<const StateSpec *> own;
  std::map<const StateSpec *, Block> blocks;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_SESSION_FILEDSTATES_H
