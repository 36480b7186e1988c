// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Inspects parameters, their gradients and their updates in some steps:
// histograms for TensorBoard, and whether training changes them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_HOOKS_PARAMETERINSPECTOR_H
#define INGOT_RUNTIME_TRAINER_HOOKS_PARAMETERINSPECTOR_H

#include "runtime/core/Context.h"
#include "runtime/core/Manifest.h"
#include "runtime/core/Memory.h"
#include "runtime/observe/tensorboard/TensorBoard.h"
#include "runtime/trainer/hooks/StepHook.h"
#include "runtime/trainer/run/RunContext.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ingot::runtime {

/// A problem of a parameter.
enum class Ailment {
  /// The weight, its gradient or its update has elements that are NaN or
  /// infinite.
  NotFinite,
  /// All elements of the gradient are zero.
  NoGradient,
  /// The update is below the resolution of the weight.
  TinyUpdate,
  /// The update is so large that it replaces the weight.
  LargeUpdate
};

/// The histograms of a parameter in one step; none of the gradient if no kernel
/// writes it to memory.
struct ParameterHistograms {
  Histogram weight, update;
  std::optional<Histogram> gradient;

  /// The norm of the update as a part of that of the weight.
  double getUpdateRatio() const;
  /// `isMatrix` is whether the parameter has several dimensions: vectors begin
  /// at zero or change quickly, and are not large for that.
  std::optional<Ailment> diagnose(bool isMatrix, double rate = 1) const;
};

class ParameterInspector : public StepHook, public ingot_observer {
public:
  /// Parameters that are divided over ranks are left out. Ranks without a
  /// board only wait for the one that has it.
  ParameterInspector(const RunContext &context, TensorBoard *board);

  bool inspects(int64_t number) const override { return number % every == 0; }
  /// Keeps the weights before the step.
  void startStep(int64_t number) override;
  ingot_observer *getObserver(int64_t number) override {
    return board && inspects(number) ? this : nullptr;
  }
  void called(int32_t function, int64_t kernel) override;
  /// Writes what the step did, and says once what is wrong with a parameter.
  void endStep(int64_t number, double rate) override;

private:
  struct Parameter {
    const StateSpec *spec;
    /// The values before the step.
    float *before;
    std::optional<Histogram> gradient;
  };
  /// Calls `take` with the values of a parameter, in pieces, and their index.
  void read(const StateSpec &spec,
            const std::function<void(const float *, int64_t first,
                                     int64_t count)> &take);
  const char *readState(const StateSpec &spec);
  void say(int64_t number,
           const std::map<Ailment, std::vector<std::string>> &found);

  Session &session;
  /// Null on ranks that write nothing.
  TensorBoard *board;
  Console &console;
  int64_t every;
  std::vector<Parameter> parameters;
  std::map<std::string, size_t> indices;
  Block block;
  std::set<std::pair<Ailment, std::string>> said;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_HOOKS_PARAMETERINSPECTOR_H
