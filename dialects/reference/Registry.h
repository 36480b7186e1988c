// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The table from op names to the functions that evaluate them. Each family
// registers its ops.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_REFERENCE_REGISTRY_H
#define INGOT_DIALECTS_REFERENCE_REGISTRY_H

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/reference/Tensor.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace ingot::reference {

/// The operands of the op that is evaluated.
class Operands {
public:
  Operands(llvm::ArrayRef<const Tensor *> values) : values(values) {}
  const Tensor &operator[](size_t i) const { return *values[i]; }
  size_t size() const { return values.size(); }

private:
  llvm::ArrayRef<const Tensor *> values;
};

/// The results, which have their types and are zero at first; the interpreter
/// rounds them to their element types afterwards.
using Results = llvm::MutableArrayRef<Tensor>;

class Registry {
public:
  using Function =
      std::function<llvm::Error(mlir::Operation *, Operands, Results)>;

  /// `compute(op, operands, results)` returns nothing, or an llvm::Error.
  template <typename OpT, typename Compute> void add(Compute compute) {
    functions[OpT::getOperationName()] = [compute](mlir::Operation *op,
                                                   Operands in,
                                                   Results out) -> llvm::Error {
      OpT typed = llvm::cast<OpT>(op);
      if constexpr (std::is_void_v<decltype(compute(typed, in, out))>) {
        compute(typed, in, out);
        return llvm::Error::success();
      } else {
        return compute(typed, in, out);
      }
    };
  }

  /// Returns the function of an op; null if the op is not supported.
  const Function *lookup(llvm::StringRef name) const {
    auto found = functions.find(name);
    return found == functions.end() ? nullptr : &found->second;
  }

private:
  llvm::StringMap<Function> functions;
};

void registerElementwise(Registry &registry);
void registerShape(Registry &registry);
void registerIndexing(Registry &registry);
void registerReduction(Registry &registry);
void registerContraction(Registry &registry);
void registerDistillation(Registry &registry);
void registerEncoding(Registry &registry);
void registerAttention(Registry &registry);
void registerConvolution(Registry &registry);
void registerPooling(Registry &registry);
void registerNormalization(Registry &registry);
void registerRandom(Registry &registry);
void registerCollective(Registry &registry);

/// Returns the elements [begin, end) of a bucket of `of` in the shard of one of
/// `ranks`.
std::pair<int64_t, int64_t> shardOf(int64_t of, int64_t rank, int64_t ranks);

/// The place of one of the ranks of a run among those that have other shards
/// than it, on the mesh of an op, and their number.
struct ShardPlace {
  int64_t place, count;
};
ShardPlace getShardPlace(mlir::Operation *op, int64_t rank, int64_t ranks);

/// Copies the elements in the rank's shard, of tensors whose first element is
/// at `first` of a bucket of `of` elements, and each of `block` of these.
void copyShard(Tensor &to, const Tensor &from, int64_t first, int64_t of,
               int64_t rank, int64_t ranks, int64_t block = 1);

/// Computes the op on several batches with the statistics of all batches
/// together.
void normalizeBatches(BatchNormOp op, llvm::ArrayRef<Operands> operands,
                      llvm::ArrayRef<Results> results);

/// Returns whether the results of an op depend on other ranks, or on their
/// number.
bool knowsRanks(mlir::Operation *op);

/// Combines the results of such an op over ranks: `results` contains those of
/// each rank by itself, and is updated.
void combineRanks(mlir::Operation *op, llvm::ArrayRef<Operands> operands,
                  llvm::ArrayRef<Results> results);

} // namespace ingot::reference

#endif // INGOT_DIALECTS_REFERENCE_REGISTRY_H
