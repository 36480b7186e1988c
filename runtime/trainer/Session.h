//===----------------------------------------------------------------------===//
//
// A loaded module with its memory: runs the compiled functions.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_SESSION_H
#define INGOT_RUNTIME_TRAINER_SESSION_H

#include "runtime/abi/Abi.h"
#include "runtime/core/Context.h"
#include "runtime/core/Manifest.h"
#include "runtime/data/Dataset.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// A compiled function, ready to run.
struct Function {
  const FunctionSpec *spec = nullptr;
  ingot_step_fn run = nullptr;
  int32_t index = 0;
};

class Session {
public:
  /// Checks the module and allocates its blocks. Throws failure.
  Session(const ingot_module_t &module, const Manifest &manifest);

  const Manifest &getManifest() const { return manifest; }
  const ingot_module_t &getModule() const { return module; }
  ingot_context &getContext() { return context; }

  /// The function of that name and variant; null if the module has none.
  const Function *findFunction(std::string_view name, size_t variant = 0) const;

  /// Where a state lies.
  char *getPlace(const StateSpec &spec) {
    return state.getData() + spec.offset;
  }
  const char *getPlace(const StateSpec &spec) const {
    return state.getData() + spec.offset;
  }

  const char *getStateData() const { return state.getData(); }
  const char *getArenaData() const { return arena.getData(); }

  /// Fills the batched inputs of `function` from the samples.
  void fillBatch(const Function &function, const Dataset &data,
                 const int64_t *samples, int64_t count);
  /// Fills the scalar inputs and runs. Throws failure if the step failed.
  void run(const Function &function,
           const std::map<std::string, double> &hyperparameters,
           int64_t validSamples);
  /// A scalar output of the last run; NaN if the function has none so named.
  double readScalar(const Function &function, std::string_view output) const;
  /// An output of the last run.
  const char *getOutput(const TensorSpec &output) const {
    return arena.getData() + output.offset;
  }

private:
  const ingot_module_t &module;
  const Manifest &manifest;
  ingot_context context;
  Block state, arena;
  std::vector<Function> functions;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_SESSION_H
