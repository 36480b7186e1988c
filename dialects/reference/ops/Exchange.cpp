// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Exchanges over axes of the mesh of ranks: docs/spec/exchange.md.
//===----------------------------------------------------------------------===//

#include "dialects/reference/RankExchange.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

namespace {

/// The coordinates of simulated ranks.
class Ranks {
public:
  Ranks(Operation *op, ArrayRef<int64_t> axes, int64_t count)
      : axes(axes), mesh(Mesh::of(op)), count(count) {
    int64_t known = 1;
    for (size_t axis = 0; axis < kNumAxes; ++axis) {
      sizes.push_back(mesh.getSize(static_cast<Axis>(axis)));
      known *= sizes.back() == Mesh::kAny ? 1 : sizes.back();
    }
    for (int64_t &size : sizes)
      if (size == Mesh::kAny)
        size = count / known;
  }

  /// Returns the ranks that differ from this one on the axes only, in the order
  /// of their coordinates on these, the first axis being the slowest.
  SmallVector<int64_t> getGroup(int64_t rank) const {
    SmallVector<int64_t> coordinates, group;
    llvm::append_range(coordinates, mesh.getCoordinates(rank, count));
    collect(coordinates, /*next=*/0, group);
    return group;
  }

private:
  void collect(SmallVector<int64_t> &coordinates, size_t next,
               SmallVector<int64_t> &group) const {
    if (next == axes.size()) {
      int64_t rank = 0;
      for (auto [size, at] : llvm::zip_equal(sizes, coordinates))
        rank = rank * size + at;
      group.push_back(rank);
      return;
    }
    for (int64_t i = 0; i < sizes[axes[next]]; ++i) {
      coordinates[axes[next]] = i;
      collect(coordinates, next + 1, group);
    }
  }

  ArrayRef<int64_t> axes;
  Mesh mesh;
  int64_t count;
  SmallVector<int64_t> sizes;
};

/// A position in a tensor, in row-major order.
SmallVector<int64_t> getPosition(ArrayRef<int64_t> shape, int64_t element) {
  SmallVector<int64_t> position(shape.size());
  for (size_t dim = shape.size(); dim-- > 0; element /= shape[dim])
    position[dim] = element % shape[dim];
  return position;
}
int64_t getElement(ArrayRef<int64_t> shape, ArrayRef<int64_t> position) {
  int64_t element = 0;
  for (auto [size, at] : llvm::zip_equal(shape, position))
    element = element * size + at;
  return element;
}

/// Combines the tensors of a group, in its order.
Tensor reduce(ReductionKind kind, ArrayRef<int64_t> group,
              ArrayRef<Operands> operands) {
  Tensor result = operands[group.front()][0];
  for (int64_t rank : group.drop_front())
    combineElements(kind, result, operands[rank][0]);
  return result;
}

/// Copies the part with a number along a dimension.
void takePart(Tensor &to, const Tensor &from, int64_t dim, int64_t part) {
  for (int64_t i = 0; i < to.size(); ++i) {
    SmallVector<int64_t> position = getPosition(to.getShape(), i);
    position[dim] += part * to.getShape()[dim];
    to.copy(i, from, getElement(from.getShape(), position));
  }
}

} // namespace

void ingot::reference::combineElements(ReductionKind kind, Tensor &into,
                                       const Tensor &from) {
  for (int64_t i = 0; i < into.size(); ++i) {
    if (!into.isFloat()) {
      int64_t a = into.integer(i), b = from.integer(i);
      bool isUnsigned = into.getElementType().isUnsignedInteger();
      bool isLess = isUnsigned
                        ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b)
                        : a < b;
      into.integer(i) = kind == ReductionKind::Sum
                            ? static_cast<int64_t>(static_cast<uint64_t>(a) +
                                                   static_cast<uint64_t>(b))
                            : (isLess == (kind == ReductionKind::Max) ? b : a);
      continue;
    }
    double a = into.real(i), b = from.real(i);
    bool hasNan = std::isnan(a) || std::isnan(b);
    if (kind == ReductionKind::Sum || hasNan)
      into.real(i) = a + b;
    else
      into.real(i) =
          kind == ReductionKind::Max ? std::fmax(a, b) : std::fmin(a, b);
  }
  into.roundToElementType();
}

llvm::Error ingot::reference::checkRanks(Operation *op, int64_t ranks) {
  if (!isa<Exchange>(op))
    return llvm::Error::success();
  int64_t known = 1;
  bool isOpen = false;
  Mesh mesh = Mesh::of(op);
  for (size_t axis = 0; axis < kNumAxes; ++axis)
    if (int64_t size = mesh.getSize(static_cast<Axis>(axis));
        size == Mesh::kAny)
      isOpen = true;
    else
      known *= size;
  if (isOpen ? ranks % known == 0 : ranks == known)
    return llvm::Error::success();
  return invalid(llvm::Twine(ranks) + " ranks are not those of the mesh: " +
                 llvm::Twine(known) + (isOpen ? " or a multiple" : ""));
}

SmallVector<int64_t> ingot::reference::getGroup(Operation *op,
                                                ArrayRef<int64_t> axes,
                                                int64_t rank, int64_t ranks) {
  return Ranks(op, axes, ranks).getGroup(rank);
}

void ingot::reference::exchange(Exchange op, ArrayRef<Operands> operands,
                                ArrayRef<Results> results) {
  Ranks ranks(op, op.getExchangeAxes(), static_cast<int64_t>(results.size()));
  for (auto [rank, own] : llvm::enumerate(results)) {
    Tensor out(cast<RankedTensorType>(op->getResult(0).getType()));
    SmallVector<int64_t> group = ranks.getGroup(static_cast<int64_t>(rank));
    auto place = static_cast<int64_t>(
        llvm::find(group, static_cast<int64_t>(rank)) - group.begin());
    auto count = static_cast<int64_t>(group.size());
    if (auto sum = dyn_cast<AllReduceOp>(*op)) {
      out = reduce(sum.getKind(), group, operands);
    } else if (auto scatter = dyn_cast<ReduceScatterOp>(*op)) {
      takePart(out, reduce(scatter.getKind(), group, operands),
               static_cast<int64_t>(scatter.getDim()), place);
    } else if (auto part = dyn_cast<PartOp>(*op)) {
      takePart(out, operands[rank][0], static_cast<int64_t>(part.getDim()),
               place);
    } else if (auto permute = dyn_cast<PermuteOp>(*op)) {
      int64_t from = (place - static_cast<int64_t>(permute.getBy())) % count;
      out = operands[group[from < 0 ? from + count : from]][0];
    } else {
      // Along `concat`, the part of each rank is next to that of the one
      // before.
      auto gather = dyn_cast<AllGatherOp>(*op);
      auto all = dyn_cast<AllToAllOp>(*op);
      auto concat =
          static_cast<int64_t>(gather ? gather.getDim() : all.getConcat());
      int64_t each = operands[rank][0].getShape()[concat];
      // Where both are one dimension, it has been split before it is joined.
      if (all && all.getSplit() == all.getConcat())
        each /= count;
      for (int64_t i = 0; i < out.size(); ++i) {
        SmallVector<int64_t> position = getPosition(out.getShape(), i);
        int64_t source = position[concat] / each;
        position[concat] %= each;
        const Tensor &from = operands[group[source]][0];
        if (all) {
          auto split = static_cast<int64_t>(all.getSplit());
          position[split] += place * (from.getShape()[split] / count);
        }
        out.copy(i, from, getElement(from.getShape(), position));
      }
    }
    own[0] = std::move(out);
  }
}

/// Among one rank.
template <typename Op> static void pass(Op, Operands in, Results out) {
  if (in[0].size() == out[0].size())
    out[0] = in[0].reshaped(out[0].getType());
}

void ingot::reference::registerExchange(Registry &registry) {
  registry.add<AllReduceOp>(pass<AllReduceOp>);
  registry.add<AllGatherOp>(pass<AllGatherOp>);
  registry.add<ReduceScatterOp>(pass<ReduceScatterOp>);
  registry.add<AllToAllOp>(pass<AllToAllOp>);
  registry.add<PermuteOp>(pass<PermuteOp>);
  registry.add<PartOp>(pass<PartOp>);
}
