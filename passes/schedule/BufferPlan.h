//===----------------------------------------------------------------------===//
//
// Where each tensor of a function lives, and for how long.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_BUFFERPLAN_H
#define INGOT_PASSES_SCHEDULE_BUFFERPLAN_H

#include "dialects/exec/Exec.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Signature.h"
#include "passes/schedule/Arena.h"
#include "llvm/ADT/DenseMap.h"

namespace ingot {

/// A place in memory.
struct Place {
  exec::Space space = exec::Space::Arena;
  int64_t offset = 0;
};

/// A copy at the end of the step.
struct FinalCopy {
  mlir::Value value;
  Place to;
};

/// The memory plan of one function of fusions, anchors and views.
class BufferPlan {
public:
  /// `stateOffsets`: place of each state in the state block, by symbol;
  /// `scratchBytes`: of an operation's work memory.
  BufferPlan(Signature signature,
             const llvm::DenseMap<mlir::Attribute, int64_t> &stateOffsets,
             llvm::function_ref<int64_t(mlir::Operation *)> scratchBytes,
             bool noReuse);

  /// The place of a tensor.
  Place getPlace(mlir::Value value) const;
  /// The memory that an operation works in; none if it needs none.
  std::optional<Interval> getScratch(mlir::Operation *op) const;
  /// The place of the output that result `index` is; none if it is a state.
  std::optional<Place> getOutputPlace(unsigned index) const;
  /// Copies that the step ends with.
  llvm::ArrayRef<FinalCopy> getFinalCopies() const { return copies; }
  /// Per operand of a fusion, the result whose memory it shares, or -1.
  llvm::SmallVector<int64_t> getAliases(FusionOp fusion) const;

  int64_t getArenaBytes() const { return arenaBytes; }
  /// The most bytes of the arena that are live at once.
  int64_t getLiveBytes() const { return liveBytes; }
  /// Of these, those of gradients that wait for the optimizer.
  int64_t getGradientBytes() const { return gradientBytes; }
  /// Of these, those that library calls work in.
  int64_t getWorkspaceBytes() const { return workspaceBytes; }
  unsigned getStatesInPlace() const { return statesInPlace; }

private:
  mlir::Value resolve(mlir::Value value) const;
  void placeStates();
  bool canReplace(mlir::BlockArgument oldValue, mlir::Value newValue) const;
  void placeArena(llvm::function_ref<int64_t(mlir::Operation *)> scratchBytes,
                  bool noReuse);

  Signature signature;
  const llvm::DenseMap<mlir::Attribute, int64_t> &stateOffsets;
  llvm::DenseMap<mlir::Operation *, int64_t> position;
  /// Tensors that live in the state block.
  llvm::DenseMap<mlir::Value, int64_t> inState;
  /// The interval of each tensor in the arena.
  llvm::DenseMap<mlir::Value, unsigned> inArena;
  /// The interval of each operation's scratch.
  llvm::DenseMap<mlir::Operation *, unsigned> scratch;
  /// Outputs that need memory of their own.
  llvm::DenseMap<unsigned, unsigned> ownOutput;
  llvm::SmallVector<Interval> intervals;
  llvm::SmallVector<FinalCopy> copies;
  int64_t arenaBytes = 0, liveBytes = 0, gradientBytes = 0, workspaceBytes = 0;
  unsigned statesInPlace = 0;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_BUFFERPLAN_H
