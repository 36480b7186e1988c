// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// From a function on tensors to a step on blocks of memory, and where its
// arguments and results lie: what running compiled functions has in common.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOT_EVAL_SLOTS_H
#define INGOT_TOOLS_INGOT_EVAL_SLOTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir {
class PassManager;
} // namespace mlir

namespace ingot {

class Target;
struct PipelineOptions;

/// An argument or result, and its place in one of the two blocks.
struct Slot {
  mlir::RankedTensorType type;
  std::string name;
  bool isState = false;
  int64_t offset = -1;
  /// Memory of its own, whose address is at the offset: a rank alone has all of
  /// a state in shards.
  bool isShard = false;
};

struct FunctionSlots {
  std::vector<Slot> arguments, results;
  int64_t arenaBytes = 0;
};

/// A constant of the module, or a state that not every function has.
struct InitialState {
  int64_t offset;
  std::string bytes;
  bool isShard = false;
};

/// Where messages of all ranks go: the place of their address, and bytes of
/// each.
struct MessagePlace {
  int64_t offset, rankBytes;
};

struct ModuleSlots {
  llvm::StringMap<FunctionSlots> functions;
  std::vector<InitialState> states;
  std::vector<MessagePlace> messages;
  int64_t stateBytes = 0;

  /// Before compilation: gives everything that is no state a name, and
  /// remembers what was there.
  void readSignatures(mlir::ModuleOp module);
  /// After placement.
  llvm::Error readPlaces(mlir::ModuleOp module);
};

/// From ops on tensors to placed steps, as ingotc goes on from a training
/// graph. The target is that of the options.
llvm::Error placeSteps(mlir::ModuleOp module, const PipelineOptions &options,
                       const Target &target);

/// Fails with what the compiler said.
llvm::Error runPasses(mlir::ModuleOp module,
                      llvm::function_ref<void(mlir::PassManager &)> build);

} // namespace ingot

#endif // INGOT_TOOLS_INGOT_EVAL_SLOTS_H
