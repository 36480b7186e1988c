// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Loops that read some inputs transposed: a block loads tiles of these to
// shared memory in the layout of the inputs, and reads them in that of the
// results, so that adjacent threads access adjacent addresses on both sides.
// Ruetsch, Micikevicius, "Optimizing Matrix Transpose in CUDA", 2009.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "passes/targets/cuda/kernels/DeviceKernel.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

/// For each dimension of a tensor, the dimension of the results whose index it
/// is read at, or -1 where that is 0.
using Dims = SmallVector<int64_t>;

/// The number of rows and columns of a tile. A row has one element of padding
/// in memory, so that columns are in different banks.
constexpr int64_t kTile = kWarp, kTileStride = kTile + 1;
/// With shorter sides, too many threads would be idle.
constexpr int64_t kShortest = kTile / 2;

/// Returns the shared memory of a tile of the argument.
int64_t getTileBytes(BlockArgument argument) {
  Type element = tensorType(argument).getElementType();
  return kTile * kTileStride *
         llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

/// Returns how arguments of a kernel's body are read; nothing if they are read
/// in several ways, or in an unsupported one.
SmallVector<std::optional<Dims>> findReads(Block &body) {
  DenseMap<Value, std::optional<Dims>> reads;
  auto add = [&](Value value, std::optional<Dims> dims) {
    auto [it, isNew] = reads.try_emplace(value, dims);
    if (!isNew && it->second != dims)
      it->second = std::nullopt;
  };
  for (Value result : body.getTerminator()->getOperands())
    add(result,
        llvm::to_vector(llvm::seq<int64_t>(0, tensorType(result).getRank())));
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    auto scalar = dyn_cast<ScalarBody>(op);
    // All results of an op have its shape.
    std::optional<Dims> here =
        scalar ? reads.lookup(op.getResult(0)) : std::nullopt;
    for (OpOperand &operand : op.getOpOperands()) {
      std::optional<Dims> dims =
          here ? scalar.getReadDims(operand.getOperandNumber()) : std::nullopt;
      if (dims)
        for (int64_t &dim : *dims)
          dim = dim < 0 ? dim : (*here)[dim];
      add(operand.get(), dims);
    }
  }
  return llvm::map_to_vector(body.getArguments(), [&](BlockArgument argument) {
    return reads.lookup(argument);
  });
}

/// Returns the dimension of the results along which adjacent elements of the
/// argument are, if it has all of their dimensions in another order; -1 if not.
int64_t findColumns(const std::optional<Dims> &dims, BlockArgument argument,
                    ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> own = tensorType(argument).getShape();
  if (!dims || product(own) != product(shape))
    return -1;
  llvm::SmallBitVector seen(shape.size());
  int64_t columns = -1;
  for (auto [dim, size] : llvm::zip_equal(*dims, own)) {
    if (size == 1)
      continue;
    if (dim < 0 || shape[dim] != size || seen.test(dim))
      return -1;
    seen.set(dim);
    columns = dim;
  }
  auto last = static_cast<int64_t>(shape.size()) - 1;
  bool isWorthIt = columns >= 0 && columns != last && seen.test(last) &&
                   shape[columns] >= kShortest && shape[last] >= kShortest;
  return isWorthIt ? columns : -1;
}

} // namespace

std::optional<DeviceKernel> DeviceKernelBuilder::emitTiles() {
  ArrayRef<int64_t> shape = tensorType(yield()->getOperand(0)).getShape();
  if (rangeUnit != 0 || isPart ||
      !llvm::all_of(yield()->getOperandTypes(), [&](Type type) {
        return cast<RankedTensorType>(type).getShape() == shape;
      }))
    return std::nullopt;
  SmallVector<std::optional<Dims>> reads = findReads(body);
  // The arguments that are read along the same dimension have tiles.
  SmallVector<BlockArgument> tiled;
  int64_t columns = -1, sharedBytes = 0;
  for (auto [argument, dims] : llvm::zip_equal(body.getArguments(), reads)) {
    int64_t found = findColumns(dims, argument, shape);
    if (found < 0 || (columns >= 0 && found != columns))
      continue;
    // The others are read in their own layout, at a stride.
    int64_t bytes = getTileBytes(argument);
    if (sharedBytes + bytes > kMaxShared)
      continue;
    sharedBytes += bytes;
    columns = found;
    tiled.push_back(argument);
  }
  if (tiled.empty())
    return std::nullopt;

  auto last = static_cast<int64_t>(shape.size()) - 1;
  SmallVector<int64_t> tiles(shape);
  for (int64_t dim : {columns, last})
    tiles[dim] = llvm::divideCeil(shape[dim], kTile);
  createFunction("", inputTypes(), resultTypes(), /*hasAliases=*/true);
  ElementEmitter emitter = elements();
  ScalarEmitter e = scalars();
  constexpr int64_t rows = kBlock / kWarp;
  Value inBlock = threadInBlock();
  Value lane = e.rem(inBlock, kWarp), warp = e.div(inBlock, kWarp);
  Indices first = e.delinearize(block(), tiles);
  for (int64_t dim : {columns, last})
    first[dim] = e.mul(first[dim], kTile);
  // Returns the element of the tile at these positions, if there is one.
  auto at = [&](Value inColumns, Value inLast,
                llvm::function_ref<void(const Indices &)> emit) {
    Indices indices = first;
    indices[columns] = e.add(first[columns], inColumns);
    indices[last] = e.add(first[last], inLast);
    Value isThere;
    for (int64_t dim : {columns, last})
      if (shape[dim] % kTile != 0) {
        Value fits = e.inRange(indices[dim], shape[dim]);
        isThere = isThere ? e.logicalAnd(isThere, fits) : fits;
      }
    if (isThere)
      onlyIf(isThere, [&] { emit(indices); });
    else
      emit(indices);
  };
  auto place = [&](Value row, Value column) {
    return e.add(e.mul(row, kTileStride), column);
  };

  SmallVector<Value> shared;
  for (BlockArgument argument : tiled) {
    Value buffer = buffers[argument.getArgNumber()];
    shared.push_back(
        addShared(kTile * kTileStride,
                  cast<MemRefType>(buffer.getType()).getElementType()));
    ArrayRef<int64_t> own = tensorType(argument).getShape();
    const Dims &dims = *reads[argument.getArgNumber()];
    for (int64_t done = 0; done < kTile; done += rows) {
      Value row = e.add(warp, done);
      at(lane, row, [&](const Indices &indices) {
        Indices read;
        for (int64_t dim : dims)
          read.push_back(dim < 0 ? e.index(0) : indices[dim]);
        DeviceFunctionBuilder::store(load(buffer, e.linearize(read, own)),
                                     shared.back(), place(row, lane));
      });
    }
  }
  synchronizeBlock();
  for (int64_t done = 0; done < kTile; done += rows) {
    Value row = e.add(warp, done);
    at(row, lane, [&](const Indices &indices) {
      for (auto [argument, tile] : llvm::zip_equal(tiled, shared)) {
        Value element = load(tile, place(lane, row));
        emitter.setSource(argument, [=](ValueRange) { return element; });
      }
      SmallVector<Value> values;
      for (Value result : yield()->getOperands())
        values.push_back(emitter.element(result, indices));
      Value position = e.linearize(indices, shape);
      for (auto [value, buffer] : llvm::zip_equal(values, outputs()))
        DeviceFunctionBuilder::store(value, buffer, position);
    });
  }
  return DeviceKernel{finishFunction(product(tiles)), std::nullopt, {}};
}
