//===----------------------------------------------------------------------===//
//
// The table from op names to what they compute. Each family fills in its ops.
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

/// The results, of their types and zero at first; rounded to their element
/// types afterwards by the interpreter.
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

  /// Null for an op that is not known.
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
void registerAttention(Registry &registry);
void registerConvolution(Registry &registry);
void registerPooling(Registry &registry);
void registerNormalization(Registry &registry);
void registerRandom(Registry &registry);
void registerCollective(Registry &registry);

/// The elements [begin, end) of a bucket of `of` in the shard of one of
/// `ranks`.
std::pair<int64_t, int64_t> shardOf(int64_t of, int64_t rank, int64_t ranks);

/// Copies the elements in the rank's shard, of tensors whose first element is
/// at `first` of a bucket of `of` elements.
void copyShard(Tensor &to, const Tensor &from, int64_t first, int64_t of,
               int64_t rank, int64_t ranks);

/// What the op gives of several batches, whose statistics it takes together.
void normalizeBatches(BatchNormOp op, llvm::ArrayRef<Operands> operands,
                      llvm::ArrayRef<Results> results);

/// Whether an op's results depend on other ranks, or on their number.
bool knowsRanks(mlir::Operation *op);

/// What such an op does beyond one rank: `results` are those of the op on each
/// rank alone, and become those of the ranks together.
void combineRanks(mlir::Operation *op, llvm::ArrayRef<Operands> operands,
                  llvm::ArrayRef<Results> results);

} // namespace ingot::reference

#endif // INGOT_DIALECTS_REFERENCE_REGISTRY_H
