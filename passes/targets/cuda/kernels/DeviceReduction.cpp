// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Reductions. Within a piece of a sum, each thread accumulates its own elements
// in order, then accumulators are combined in a tree: the order never depends
// on the timing of threads.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/targets/cuda/kernels/DeviceKernel.h"
#include "passes/targets/cuda/kernels/ReductionSplit.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

//===----------------------------------------------------------------------===//
// Accumulators
//===----------------------------------------------------------------------===//

/// Calls a function for each root with its part of each list of values, and
/// returns the results one after the other.
static SmallVector<Value>
mapRoots(ArrayRef<Reduction> roots,
         llvm::function_ref<size_t(Reduction)> countValues,
         ArrayRef<ValueRange> lists,
         llvm::function_ref<SmallVector<Value>(Reduction, ArrayRef<ValueRange>)>
             map) {
  SmallVector<ValueRange> rest(lists);
  SmallVector<Value> results;
  for (Reduction root : roots) {
    size_t count = countValues(root);
    SmallVector<ValueRange> parts;
    for (ValueRange &list : rest) {
      parts.push_back(list.take_front(count));
      list = list.drop_front(count);
    }
    llvm::append_range(results, map(root, parts));
  }
  return results;
}

static size_t countAccumulators(Reduction root) {
  return root.getNumAccumulators();
}

static size_t countPartials(Reduction root) {
  return root.getPartialTypes().size();
}

SmallVector<Value> DeviceKernelBuilder::identities(ArrayRef<Reduction> roots) {
  SmallVector<Value> result;
  for (Reduction root : roots)
    llvm::append_range(result, root.emitIdentities(builder, loc));
  return result;
}

SmallVector<Value> DeviceKernelBuilder::accumulate(ArrayRef<Reduction> roots,
                                                   ValueRange accumulators,
                                                   ValueRange elements) {
  auto element = elements.begin();
  return mapRoots(roots, countAccumulators, accumulators,
                  [&](Reduction root, ArrayRef<ValueRange> own) {
                    return root.emitElement(builder, loc, own[0], *element++);
                  });
}

SmallVector<Value> DeviceKernelBuilder::getPartials(ArrayRef<Reduction> roots,
                                                    ValueRange accumulators) {
  return mapRoots(roots, countAccumulators, accumulators,
                  [&](Reduction root, ArrayRef<ValueRange> own) {
                    return root.emitPartial(builder, loc, own[0]);
                  });
}

SmallVector<Value> DeviceKernelBuilder::combine(ArrayRef<Reduction> roots,
                                                ValueRange sums,
                                                ValueRange others) {
  return mapRoots(roots, countPartials, {sums, others},
                  [&](Reduction root, ArrayRef<ValueRange> parts) {
                    return root.emitMerge(builder, loc, parts[0], parts[1]);
                  });
}

void DeviceKernelBuilder::sumWarp(ArrayRef<Reduction> roots,
                                  SmallVectorImpl<Value> &sums) {
  for (int64_t distance = kWarp / 2; distance > 0; distance /= 2) {
    SmallVector<Value> others = llvm::map_to_vector(
        sums, [&](Value sum) { return shuffleXor(sum, distance); });
    sums = combine(roots, sums, others);
  }
}

SmallVector<Value> DeviceKernelBuilder::sharedSums(ArrayRef<Reduction> roots,
                                                   int64_t count) {
  SmallVector<Value> shared;
  for (Reduction root : roots)
    for (Type type : root.getPartialTypes())
      shared.push_back(addShared(count, type));
  return shared;
}

void DeviceKernelBuilder::store(ArrayRef<Reduction> roots, ValueRange sums,
                                Value position, bool isPartial) {
  SmallVector<Value> results(sums);
  if (!isPartial)
    results = mapRoots(roots, countPartials, sums,
                       [&](Reduction root, ArrayRef<ValueRange> own) {
                         return SmallVector<Value>{
                             root.emitResult(builder, loc, own[0])};
                       });
  for (auto [sum, buffer] : llvm::zip_equal(results, outputs())) {
    Type type = cast<MemRefType>(buffer.getType()).getElementType();
    DeviceFunctionBuilder::store(scalars().convertFloat(sum, type), buffer,
                                 position);
  }
}

void DeviceKernelBuilder::storeShared(ValueRange sums, ValueRange shared,
                                      Value position) {
  for (auto [sum, buffer] : llvm::zip_equal(sums, shared))
    memref::StoreOp::create(builder, loc, sum, buffer, position);
}

SmallVector<Value> DeviceKernelBuilder::loadShared(ValueRange shared,
                                                   Value position) {
  return llvm::map_to_vector(shared, [&](Value buffer) -> Value {
    return memref::LoadOp::create(builder, loc, buffer, position);
  });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The elements of a thread whose loads are in flight at once.
static constexpr int64_t kElementsInFlight = 16;

/// Sums along the innermost dimension: a thread, a warp or a block for each
/// piece, with adjacent threads at adjacent elements.
DeviceKernel DeviceKernelBuilder::emitAlong(const ReductionSpace &space) {
  SmallVector<int64_t> kept = space.sizes(space.kept);
  SmallVector<int64_t> reduced = space.sizes(space.reduced);
  int64_t results = product(kept), length = product(reduced);
  SmallVector<Type> read = inputTypes(), written = resultTypes();
  ReductionSplit split = ReductionSplit::of(space, read, threads);
  int64_t group = split.group, pieces = split.pieces, piece = split.piece;

  DeviceKernel launches;
  launches.partials = split.partials;
  if (pieces > 1)
    written.assign(launches.partials.begin(), launches.partials.end());
  int64_t groupsInBlock = kBlock / group;
  // There is one block per piece: grids may be that large.
  int64_t total = results * pieces;
  int64_t grid = llvm::divideCeil(total, groupsInBlock);
  emitLanes(reduced, read, length / group, [&](int64_t lanes) {
    createFunction("", read, written, /*hasAliases=*/false);
    ElementEmitter emitter = elements();
    ScalarEmitter e = scalars();
    Value inBlock = threadInBlock();
    Value inGroup = group == 1 ? e.index(0) : e.rem(inBlock, group);
    if (group == kBlock)
      inGroup = inBlock;
    Value number = e.add(e.mul(block(), groupsInBlock),
                         group == kBlock ? e.index(0) : e.div(inBlock, group));
    SmallVector<Value> shared;
    if (group == kBlock)
      shared = sharedSums(space.roots, kBlock / kWarp);

    auto emitPiece = [&] {
      auto [from, to] = range(length);
      Value result = number;
      if (pieces > 1) {
        result = e.div(number, pieces);
        Value first = e.mul(e.rem(number, pieces), piece);
        from = arith::MaxSIOp::create(builder, loc, first, from);
        to = arith::MinSIOp::create(builder, loc, e.add(first, piece), to);
      }
      from = e.add(from, e.mul(inGroup, lanes));
      SmallVector<Value> keptIndices = e.delinearize(result, kept);
      SmallVector<Value> sums = fold(
          from, to, group * lanes, identities(space.roots),
          [&](Value at, ValueRange carried) {
            SmallVector<Value> next(carried);
            for (const Indices &place : lanesAt(at, lanes, reduced)) {
              SmallVector<Value> indices = space.at(keptIndices, place);
              SmallVector<Value> values;
              for (Reduction root : space.roots)
                values.push_back(emitter.element(root->getOperand(0), indices));
              next = accumulate(space.roots, next, values);
            }
            return next;
          });
      sums = getPartials(space.roots, sums);
      auto storeSums = [&](ValueRange all) {
        store(space.roots, all, number, /*isPartial=*/pieces > 1);
      };
      if (group == 1)
        return storeSums(sums);
      sumWarp(space.roots, sums);
      auto isFirst = [&](Value index) {
        return e.compare(arith::CmpIPredicate::eq, index, e.index(0));
      };
      if (group == kWarp)
        return onlyIf(isFirst(inGroup), [&] { storeSums(sums); });
      onlyIf(isFirst(e.rem(inBlock, kWarp)),
             [&] { storeShared(sums, shared, e.div(inBlock, kWarp)); });
      synchronizeBlock();
      onlyIf(isFirst(inBlock), [&] {
        SmallVector<Value> sum = loadShared(shared, e.index(0));
        for (int64_t warp = 1; warp < kBlock / kWarp; ++warp)
          sum = combine(space.roots, sum, loadShared(shared, e.index(warp)));
        storeSums(sum);
      });
    };
    // The condition is uniform within a warp.
    if (total % groupsInBlock != 0)
      onlyIf(e.inRange(number, total), emitPiece);
    else
      emitPiece();
    launches.main = finishFunction(grid);
  });
  launches.extent = rangeUnit != 0 && results == 1 ? length : 0;
  if (pieces > 1)
    emitFinish(space, pieces, launches);
  return launches;
}

/// Sums across the innermost dimension: a block processes the columns of up to
/// 32 threads, each of which reads 16 bytes of adjacent results, and its other
/// threads process the rows at a fixed stride.
DeviceKernel DeviceKernelBuilder::emitAcross(const ReductionSpace &space) {
  SmallVector<int64_t> kept = space.sizes(space.kept);
  SmallVector<int64_t> reduced = space.sizes(space.reduced);
  int64_t results = product(kept), length = product(reduced);
  SmallVector<Type> read = inputTypes(), written = resultTypes();
  ReductionSplit split = ReductionSplit::of(space, read, threads);
  int64_t lanes = split.lanes, columns = split.columns, rows = split.group;
  int64_t pieces = split.pieces, piece = split.piece, width = columns * lanes;
  int64_t tiles = llvm::divideCeil(results, width);
  linear = lanes == 1 && countLanes(read) != 1;
  DeviceKernel launches;
  launches.partials = split.partials;
  if (pieces > 1)
    written.assign(launches.partials.begin(), launches.partials.end());
  createFunction("", read, written, /*hasAliases=*/false);
  ElementEmitter emitter = elements();
  ScalarEmitter e = scalars();
  SmallVector<Value> shared = sharedSums(space.roots, rows * width);
  Value inBlock = threadInBlock(), number = block();
  Value column = e.rem(inBlock, columns), row = e.div(inBlock, columns);
  Value tile = e.div(number, pieces), part = e.rem(number, pieces);
  Value firstResult = e.mul(tile, width);
  Value result = e.add(firstResult, e.mul(column, lanes));

  Value hasWork = e.inRange(result, results);
  if (rows * columns < kBlock)
    hasWork = e.logicalAnd(hasWork, e.inRange(row, rows));
  onlyIf(hasWork, [&] {
    Value from = row, to = e.index(length);
    if (pieces > 1) {
      Value first = e.mul(part, piece);
      from = e.add(first, row);
      to = arith::MinSIOp::create(builder, loc, e.add(first, piece), to);
    }
    SmallVector<Indices> places = lanesAt(result, lanes, kept);
    SmallVector<Value> initial;
    for (int64_t lane = 0; lane < lanes; ++lane)
      llvm::append_range(initial, identities(space.roots));
    size_t numSums = initial.size() / lanes;
    SmallVector<Value> sums = fold(
        from, to, rows, initial,
        [&](Value at, ValueRange carried) {
          SmallVector<Value> reducedIndices = e.delinearize(at, reduced);
          SmallVector<Value> next;
          for (auto [lane, place] : llvm::enumerate(places)) {
            SmallVector<Value> indices = space.at(place, reducedIndices);
            SmallVector<Value> values;
            for (Reduction root : space.roots)
              values.push_back(emitter.element(root->getOperand(0), indices));
            llvm::append_range(
                next,
                accumulate(space.roots, carried.slice(lane * numSums, numSums),
                           values));
          }
          return next;
        },
        kElementsInFlight / std::max<int64_t>(lanes, 4));
    for (int64_t lane = 0; lane < lanes; ++lane)
      storeShared(getPartials(space.roots,
                              ValueRange(sums).slice(lane * numSums, numSums)),
                  shared, e.add(e.mul(inBlock, lanes), lane));
  });
  synchronizeBlock();
  Value mine = e.add(firstResult, inBlock);
  onlyIf(e.logicalAnd(e.inRange(inBlock, width), e.inRange(mine, results)),
         [&] {
           SmallVector<Value> sum = loadShared(shared, inBlock);
           for (int64_t other = 1; other < rows; ++other)
             sum = combine(space.roots, sum,
                           loadShared(shared, e.add(inBlock, other * width)));
           store(space.roots, sum, e.add(e.mul(mine, pieces), part),
                 /*isPartial=*/pieces > 1);
         });
  launches.main = finishFunction(tiles * pieces);
  if (pieces > 1)
    emitFinish(space, pieces, launches);
  return launches;
}

/// One warp per result sums its partial sums.
void DeviceKernelBuilder::emitFinish(const ReductionSpace &space,
                                     int64_t pieces, DeviceKernel &launches) {
  int64_t results = product(space.sizes(space.kept));
  constexpr int64_t warps = kBlock / kWarp;
  int64_t grid = llvm::divideCeil(results, warps);
  SmallVector<Type> read(launches.partials.begin(), launches.partials.end());
  // The partial sums are those of the range already.
  rangeUnit = 0;
  createFunction("_finish", read, resultTypes(), /*hasAliases=*/false);
  ScalarEmitter e = scalars();
  Value inBlock = threadInBlock();
  Value lane = e.rem(inBlock, kWarp);
  Value result = e.add(e.mul(block(), warps), e.div(inBlock, kWarp));
  onlyIf(e.inRange(result, results), [&] {
    Value first = e.mul(result, pieces);
    SmallVector<Value> sums = fold(
        lane, e.index(pieces), kWarp,
        getPartials(space.roots, identities(space.roots)),
        [&](Value at, ValueRange carried) {
          return combine(space.roots, carried,
                         loadShared(ValueRange(buffers).take_front(numRead),
                                    e.add(first, at)));
        });
    sumWarp(space.roots, sums);
    onlyIf(e.compare(arith::CmpIPredicate::eq, lane, e.index(0)),
           [&] { store(space.roots, sums, result, /*isPartial=*/false); });
  });
  launches.finish = finishFunction(grid);
}

/// The threads of a block have 8 columns, which are 32 bytes, in 32 ranges of
/// the partial rows.
DeviceLaunch DeviceKernelBuilder::emitRowSums(ArrayRef<Reduction> roots,
                                              int64_t blocks,
                                              TypeRange partials,
                                              TypeRange written) {
  constexpr int64_t columns = 8, ranges = kBlock / columns, inFlight = 8;
  int64_t length = cast<MemRefType>(written.front()).getNumElements();
  createFunction("_finish", partials, written, /*hasAliases=*/false);
  ScalarEmitter e = scalars();
  SmallVector<Value> shared = sharedSums(roots, kBlock);
  Value inBlock = threadInBlock();
  Value column = e.add(e.mul(block(), columns), e.rem(inBlock, columns));
  Value exists = e.inRange(column, length);
  onlyIf(exists, [&] {
    SmallVector<Value> sums = fold(
        e.div(inBlock, columns), e.index(blocks), ranges, identities(roots),
        [&](Value at, ValueRange carried) {
          return combine(roots, carried,
                         loadShared(ValueRange(buffers).take_front(numRead),
                                    e.add(e.mul(at, length), column)));
        },
        inFlight);
    storeShared(sums, shared, inBlock);
  });
  synchronizeBlock();
  onlyIf(e.logicalAnd(e.inRange(inBlock, columns), exists), [&] {
    SmallVector<Value> sums = loadShared(shared, inBlock);
    for (int64_t range = 1; range < ranges; ++range)
      sums = combine(roots, sums,
                     loadShared(shared, e.add(inBlock, range * columns)));
    store(roots, sums, column, /*isPartial=*/false);
  });
  return finishFunction(llvm::divideCeil(length, columns));
}
