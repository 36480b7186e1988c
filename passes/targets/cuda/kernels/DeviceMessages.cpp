// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Messages of buckets. What is sent says all of what `compress` gave: numbers
// are found again, not chosen.
//===----------------------------------------------------------------------===//

#include "passes/targets/cuda/kernels/DeviceMessages.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <cfloat>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using I = arith::CmpIPredicate;

/// The words of a block: a scale, then four integers in each.
static constexpr int64_t kWordBytes = 4;
static constexpr int64_t kBlockWords = INGOT_INT8_BLOCK / kWordBytes;
static constexpr int64_t kStride = sizeof(abi::Int8Block) / kWordBytes;
/// Index and value of an element that is kept.
static constexpr int64_t kPair = sizeof(abi::TopKElement) / kWordBytes;
/// More than there can be: their number is known when a step runs.
static constexpr int64_t kMaxRanks = 1 << 16;
/// Elements of a bucket that a block adds up in shared memory.
static constexpr int64_t kTile = 2048;

int64_t MessageBuffers::getChunk(int64_t elements) {
  // Each block adds up the counts of all before it.
  constexpr int64_t maxBlocks = 1024, least = 16 * kBlock;
  return std::max(least, static_cast<int64_t>(llvm::alignTo(
                             llvm::divideCeil(elements, maxBlocks), kBlock)));
}

MessageBuffers MessageBuffers::of(MLIRContext *context, int32_t code,
                                  int64_t elements, int64_t kept) {
  Type word = IntegerType::get(context, 32);
  MessageBuffers buffers;
  buffers.message = MemRefType::get(
      {abi::getPayloadBytes(code, elements, kept) / kWordBytes}, word);
  if (code == INGOT_TOPK)
    buffers.counts = MemRefType::get(
        {static_cast<int64_t>(llvm::divideCeil(elements, getChunk(elements)))},
        word);
  return buffers;
}

DeviceMessages::DeviceMessages(gpu::GPUModuleOp module, Location loc,
                               int32_t code, int64_t elements, int64_t kept)
    : DeviceFunctionBuilder(module, loc), code(code), elements(elements),
      kept(kept),
      types(MessageBuffers::of(module.getContext(), code, elements, kept)),
      words(types.message.getNumElements()),
      chunk(MessageBuffers::getChunk(elements)) {}

MemRefType DeviceMessages::getBucketType() {
  return MemRefType::get({elements}, builder.getF32Type());
}
MemRefType DeviceMessages::getMessageType() { return types.message; }
MemRefType DeviceMessages::getMessagesType() {
  return MemRefType::get({kMaxRanks, words}, builder.getI32Type());
}
MemRefType DeviceMessages::getCountsType() { return types.counts; }

DeviceLaunch DeviceMessages::emitEncode(const Twine &name) {
  return code == INGOT_TOPK ? encodeKept(name) : encodeIntegers(name);
}
DeviceLaunch DeviceMessages::emitDecode(const Twine &name) {
  return code == INGOT_TOPK ? decodeKept(name) : decodeIntegers(name);
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

Value DeviceMessages::word(int64_t value) {
  return arith::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}
Value DeviceMessages::toWord(Value number) {
  return arith::BitcastOp::create(builder, loc, builder.getI32Type(), number);
}
Value DeviceMessages::toNumber(Value word) {
  return arith::BitcastOp::create(builder, loc, builder.getF32Type(), word);
}
Value DeviceMessages::toIndex(Value word) {
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      word);
}
Value DeviceMessages::fromIndex(Value index) {
  return arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(),
                                      index);
}

//===----------------------------------------------------------------------===//
// Integers with a scale for each block of elements
//===----------------------------------------------------------------------===//

/// Returns a warp for each block of elements, eight elements a lane.
DeviceLaunch DeviceMessages::encodeIntegers(const Twine &name) {
  constexpr int64_t perLane = INGOT_INT8_BLOCK / kWarp, warps = kBlock / kWarp;
  int64_t blocks = llvm::divideCeil(elements, INGOT_INT8_BLOCK);
  startFunction(name, {getBucketType(), getMessageType()},
                /*takesRange=*/false);
  ScalarEmitter e = scalars();
  Value inBlock = threadInBlock(), lane = e.rem(inBlock, kWarp);
  Value number = e.add(e.mul(block(), warps), e.div(inBlock, kWarp));
  // Whole warps agree on this.
  onlyIf(e.inRange(number, blocks), [&] {
    Value first = e.add(e.mul(number, INGOT_INT8_BLOCK), e.mul(lane, perLane));
    SmallVector<Value> values;
    Value largest = word(0);
    for (int64_t i = 0; i < perLane; ++i) {
      Value at = e.add(first, i), value;
      if (elements % INGOT_INT8_BLOCK == 0) {
        value = load(buffers[0], at);
      } else {
        Value zero = e.constant(builder.getF32Type(), 0);
        value = e.branch(
            e.inRange(at, elements), builder.getF32Type(),
            [&] { return load(buffers[0], at); }, [&] { return zero; });
      }
      values.push_back(value);
      Value magnitude =
          arith::AndIOp::create(builder, loc, toWord(value), word(0x7FFFFFFF));
      largest = arith::MaxUIOp::create(builder, loc, largest, magnitude);
    }
    for (int64_t distance = kWarp / 2; distance > 0; distance /= 2)
      largest = arith::MaxUIOp::create(builder, loc, largest,
                                       shuffleXor(largest, distance));
    Type f32 = builder.getF32Type();
    Value scale = arith::DivFOp::create(builder, loc, toNumber(largest),
                                        e.constant(f32, 127));
    using F = arith::CmpFPredicate;
    auto compare = [&](F predicate, double limit) -> Value {
      return arith::CmpFOp::create(builder, loc, predicate, scale,
                                   e.constant(f32, limit));
    };
    Value isNormal =
        e.logicalAnd(compare(F::OGE, FLT_MIN), compare(F::OLE, FLT_MAX));
    Value inverse = arith::SelectOp::create(
        builder, loc, isNormal,
        arith::DivFOp::create(builder, loc, e.constant(f32, 1), scale),
        e.constant(f32, 0));
    Value place = e.mul(number, kStride);
    onlyIf(e.compare(I::eq, lane, e.index(0)),
           [&] { store(toWord(scale), buffers[1], place); });
    for (int64_t i = 0; i < perLane; i += kWordBytes) {
      Value packed = word(0);
      for (int64_t byte = 0; byte < kWordBytes; ++byte) {
        Value rounded = math::RoundEvenOp::create(
            builder, loc,
            arith::MulFOp::create(builder, loc, values[i + byte], inverse));
        // NaN, of which the scale is one too, is no integer.
        Value integer = arith::FPToSIOp::create(
            builder, loc, builder.getI32Type(),
            arith::SelectOp::create(builder, loc, isNormal, rounded,
                                    e.constant(f32, 0)));
        Value bits = arith::AndIOp::create(builder, loc, integer, word(0xFF));
        packed = arith::OrIOp::create(
            builder, loc, packed,
            arith::ShLIOp::create(builder, loc, bits, word(8 * byte)));
      }
      Value at = e.add(e.mul(lane, perLane / kWordBytes), 1 + i / kWordBytes);
      store(packed, buffers[1], e.add(place, at));
    }
  });
  return finishFunction(llvm::divideCeil(blocks, warps));
}

/// Returns a thread for each word.
DeviceLaunch DeviceMessages::decodeIntegers(const Twine &name) {
  int64_t sent = llvm::divideCeil(elements, kWordBytes);
  startFunction(name, {getMessagesType(), getBucketType()},
                /*takesRange=*/true);
  ScalarEmitter e = scalars();
  auto [from, to] = getBounds();
  Value number = thread();
  onlyIf(e.inRange(number, sent), [&] {
    Value place = e.mul(e.div(number, kBlockWords), kStride);
    Value at = e.add(e.add(place, e.rem(number, kBlockWords)), 1);
    Value zero = e.constant(builder.getF32Type(), 0);
    SmallVector<Value> sums =
        fold(from, to, 1, SmallVector<Value>(kWordBytes, zero),
             [&](Value rank, ValueRange carried) {
               Value scale = toNumber(load(buffers[0], {rank, place}));
               Value packed = load(buffers[0], {rank, at});
               SmallVector<Value> next;
               for (int64_t byte = 0; byte < kWordBytes; ++byte) {
                 Value high = arith::ShLIOp::create(
                     builder, loc, packed, word(8 * (kWordBytes - 1 - byte)));
                 Value integer = arith::ShRSIOp::create(
                     builder, loc, high, word(8 * (kWordBytes - 1)));
                 Value value = arith::MulFOp::create(
                     builder, loc,
                     arith::SIToFPOp::create(builder, loc, builder.getF32Type(),
                                             integer),
                     scale);
                 next.push_back(
                     arith::AddFOp::create(builder, loc, carried[byte], value));
               }
               return next;
             });
    Value first = e.mul(number, kWordBytes);
    for (int64_t byte = 0; byte < kWordBytes; ++byte) {
      Value element = e.add(first, byte);
      auto put = [&] { store(sums[byte], buffers[1], element); };
      if (elements % kWordBytes == 0)
        put();
      else
        onlyIf(e.inRange(element, elements), put);
    }
  });
  return finishFunction(llvm::divideCeil(sent, kBlock));
}

//===----------------------------------------------------------------------===//
// Elements that are kept, in their order
//===----------------------------------------------------------------------===//

Value DeviceMessages::emitIsSent(Value element) {
  ScalarEmitter e = scalars();
  return e.branch(
      e.inRange(element, elements), builder.getI1Type(),
      [&]() -> Value {
        // NaN is not 0.
        return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE,
                                     load(buffers[0], element),
                                     e.constant(builder.getF32Type(), 0));
      },
      [&]() -> Value { return e.constant(builder.getI1Type(), 0); });
}

DeviceLaunch DeviceMessages::emitCount(const Twine &name) {
  startFunction(name, {getBucketType(), getCountsType()},
                /*takesRange=*/false);
  ScalarEmitter e = scalars();
  Value shared = addShared(kBlock / kWarp, builder.getI32Type());
  Value first = e.mul(block(), chunk), inBlock = threadInBlock();
  Value count = fold(e.index(0), e.index(chunk), kBlock, word(0),
                     [&](Value done, ValueRange carried) {
                       Value element = e.add(e.add(first, done), inBlock);
                       Value isSent = emitIsSent(element);
                       return SmallVector<Value>{arith::AddIOp::create(
                           builder, loc, carried[0],
                           arith::ExtUIOp::create(
                               builder, loc, builder.getI32Type(), isSent))};
                     })
                    .front();
  Value all = sumBlock(count, shared).first;
  onlyIf(e.compare(I::eq, inBlock, e.index(0)),
         [&] { store(all, buffers[1], block()); });
  return finishFunction(getCountsType().getNumElements());
}

DeviceLaunch DeviceMessages::encodeKept(const Twine &name) {
  int64_t blocks = getCountsType().getNumElements();
  startFunction(name, {getBucketType(), getCountsType(), getMessageType()},
                /*takesRange=*/false);
  ScalarEmitter e = scalars();
  Type i32 = builder.getI32Type();
  Value shared = addShared(kBlock / kWarp, i32);
  Value number = block(), inBlock = threadInBlock();
  Value earlier =
      fold(inBlock, number, kBlock, word(0), [&](Value at, ValueRange carried) {
        return SmallVector<Value>{arith::AddIOp::create(
            builder, loc, carried[0], load(buffers[1], at))};
      }).front();
  earlier = sumBlock(earlier, shared).first;
  auto put = [&](Value slot, Value element, Value bits) {
    Value place = e.mul(slot, kPair);
    store(element, buffers[2], place);
    store(bits, buffers[2], e.add(place, 1));
  };
  Value first = e.mul(number, chunk);
  Value end =
      fold(e.index(0), e.index(chunk), kBlock, earlier,
           [&](Value done, ValueRange carried) {
             Value element = e.add(e.add(first, done), inBlock);
             Value isSent = emitIsSent(element);
             auto [all, before] = sumBlock(
                 arith::ExtUIOp::create(builder, loc, i32, isSent), shared);
             Value slot = toIndex(
                 arith::AddIOp::create(builder, loc, carried[0], before));
             onlyIf(e.logicalAnd(isSent, e.inRange(slot, kept)), [&] {
               put(slot, fromIndex(element), toWord(load(buffers[0], element)));
             });
             return SmallVector<Value>{
                 arith::AddIOp::create(builder, loc, carried[0], all)};
           })
          .front();
  // What is left says nothing, and keeps the order.
  onlyIf(e.compare(I::eq, number, e.index(blocks - 1)), [&] {
    forEach(e.add(toIndex(end), inBlock), e.index(kept), kBlock,
            [&](Value slot) { put(slot, word(elements), word(0)); });
  });
  return finishFunction(blocks);
}

Value DeviceMessages::findKept(Value messages, Value rank, Value element) {
  ScalarEmitter e = scalars();
  int64_t halvings = llvm::Log2_64_Ceil(kept + 1);
  SmallVector<Value> ends =
      fold(e.index(0), e.index(halvings), 1, {e.index(0), e.index(kept)},
           [&](Value, ValueRange carried) {
             Value low = carried[0], high = carried[1];
             Value middle = e.div(e.add(low, high), 2);
             // Where both ends have met, at the end of the message.
             Value at = arith::MinUIOp::create(builder, loc, middle,
                                               e.index(kept - 1));
             Value found = toIndex(load(messages, {rank, e.mul(at, kPair)}));
             Value isOpen = e.compare(I::ult, low, high);
             Value isBefore = e.compare(I::ult, found, element);
             Value raises = e.logicalAnd(isOpen, isBefore);
             return SmallVector<Value>{
                 arith::SelectOp::create(builder, loc, raises, e.add(middle, 1),
                                         low),
                 arith::SelectOp::create(builder, loc, isBefore, high, middle)};
           });
  return ends[0];
}

/// Returns a block for each stretch of the bucket, which it adds up in shared
/// memory, one message after the other.
DeviceLaunch DeviceMessages::decodeKept(const Twine &name) {
  startFunction(name, {getMessagesType(), getBucketType()},
                /*takesRange=*/true);
  ScalarEmitter e = scalars();
  Type f32 = builder.getF32Type();
  Value sums = addShared(kTile, f32);
  Value inBlock = threadInBlock(), first = e.mul(block(), kTile);
  forEach(inBlock, e.index(kTile), kBlock,
          [&](Value i) { store(e.constant(f32, 0), sums, i); });
  synchronizeBlock();
  auto [from, to] = getBounds();
  forEach(from, to, 1, [&](Value rank) {
    Value begin = findKept(buffers[0], rank, first);
    Value last = arith::MinUIOp::create(builder, loc, e.add(first, kTile),
                                        e.index(elements));
    Value end = findKept(buffers[0], rank, last);
    // Of one message, no two are for the same element.
    forEach(e.add(begin, inBlock), end, kBlock, [&](Value slot) {
      Value place = e.mul(slot, kPair);
      Value at = e.sub(toIndex(load(buffers[0], {rank, place})), first);
      Value value = toNumber(load(buffers[0], {rank, e.add(place, 1)}));
      store(arith::AddFOp::create(builder, loc, load(sums, at), value), sums,
            at);
    });
    synchronizeBlock();
  });
  forEach(inBlock, e.index(kTile), kBlock, [&](Value i) {
    Value element = e.add(first, i);
    onlyIf(e.inRange(element, elements),
           [&] { store(load(sums, i), buffers[1], element); });
  });
  return finishFunction(llvm::divideCeil(elements, kTile));
}
