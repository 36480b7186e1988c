// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// StreamStores: writes large results past the caches.
//
// A processor reads each line from memory before it writes to it, unless whole
// lines are stored at once and not kept in the caches. Loops write to a buffer
// in the first-level cache, because only the vectorizer knows where their
// vectors begin; it is copied with vectors of one line, which every processor
// divides into its own stores.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/support/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/targets/cpu/Passes.h"
#include "passes/targets/cpu/streams/Streams.h"

namespace ingot {
#define GEN_PASS_DEF_STREAMSTORES
#include "passes/targets/cpu/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot::codegen;

namespace {

constexpr int64_t kLineBytes = 64;

struct StreamStores : ingot::impl::StreamStoresBase<StreamStores> {
  using StreamStoresBase::StreamStoresBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    bool streams = false;
    for (scf::ForOp loop : findInnermostLoops(function)) {
      SmallVector<memref::StoreOp> stores;
      for (auto store : loop.getBody()->getOps<memref::StoreOp>())
        if (isStreamed(store, loop))
          stores.push_back(store);
      if (stores.empty())
        continue;
      remark::passed(loop.getLoc(),
                     ingot::remarkOptions(getArgument(), "StreamedStores"))
          << remark::metric("arrays", stores.size());
      stage(loop, stores);
      numStores += stores.size();
      streams = true;
    }
    if (!streams)
      return;
    // Such stores are not ordered with those that announce the end of the
    // kernel.
    function.walk([](func::ReturnOp end) {
      OpBuilder builder(end);
      LLVM::FenceOp::create(builder, end.getLoc(),
                            LLVM::AtomicOrdering::seq_cst);
    });
  }

private:
  /// Returns whether a store fills a large buffer, which the function does not
  /// read, in order.
  bool isStreamed(memref::StoreOp store, scf::ForOp loop) {
    auto buffer = dyn_cast<BlockArgument>(store.getMemRef());
    if (!buffer || store.getIndices().size() != 1)
      return false;
    MemRefType type = store.getMemRefType();
    unsigned bits = type.getElementTypeBitWidth();
    auto writes = [](Operation *user) { return isa<memref::StoreOp>(user); };
    return bits >= 8 && llvm::isPowerOf2_32(bits) &&
           bytesOf(type) >= leastBytes &&
           findStride(store.getIndices().front(), loop) == 1 &&
           llvm::all_of(buffer.getUsers(), writes);
  }

  /// Redirects the stores of pieces of the loop to buffers, and copies these.
  void stage(scf::ForOp loop, ArrayRef<memref::StoreOp> stores) {
    Location loc = loop.getLoc();
    unsigned bits = 0;
    for (memref::StoreOp store : stores)
      bits += store.getMemRefType().getElementTypeBitWidth();
    // Whole lines, even of bytes.
    int64_t length =
        std::max<int64_t>(1, pieceBytes * 8 / bits / kLineBytes) * kLineBytes;
    APInt lower, upper;
    bool isShort = matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) &&
                   matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) &&
                   (upper - lower).sle(length);
    if (!isShort)
      cutLoop(loop, length);
    Value from = loop.getLowerBound();
    OpBuilder after(loop->getContext());
    after.setInsertionPointAfter(loop);
    Value count = arith::SubIOp::create(after, loc, loop.getUpperBound(), from);
    for (memref::StoreOp store : stores) {
      MemRefType type = store.getMemRefType();
      auto function = loop->getParentOfType<func::FuncOp>();
      OpBuilder builder(&function.getBody().front().front());
      Value staged = memref::AllocaOp::create(
          builder, loc, MemRefType::get({length}, type.getElementType()),
          builder.getI64IntegerAttr(kLineBytes));
      Value start = copyIndex(after, store.getIndices().front(), loop, from);
      copyPiece(after, loc, staged, store.getMemRef(), start, count);
      builder.setInsertionPoint(store);
      Value at =
          arith::SubIOp::create(builder, loc, loop.getInductionVar(), from);
      store.getMemrefMutable().assign(staged);
      store.getIndicesMutable().assign(at);
    }
  }

  /// Copies `count` elements to the buffer, beginning at `start` there. Lines
  /// that the piece shares with others are not written at once.
  void copyPiece(OpBuilder &builder, Location loc, Value staged, Value buffer,
                 Value start, Value count) {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    int64_t lanes = kLineBytes / bytes;
    Value zero = constant(0), one = constant(1), line = constant(lanes);
    // The elements before the first whole line.
    Value base =
        memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer);
    Value position = arith::AddIOp::create(
        builder, loc,
        arith::DivUIOp::create(builder, loc, base, constant(bytes)), start);
    Value head = arith::AndIOp::create(
        builder, loc, arith::SubIOp::create(builder, loc, zero, position),
        constant(lanes - 1));
    head = arith::MinSIOp::create(builder, loc, head, count);
    Value whole = arith::SubIOp::create(builder, loc, count, head);
    Value tail = arith::AddIOp::create(
        builder, loc, head,
        arith::SubIOp::create(
            builder, loc, whole,
            arith::AndIOp::create(builder, loc, whole, constant(lanes - 1))));
    auto copySome = [&](Value from, Value to) {
      auto loop = scf::ForOp::create(builder, loc, from, to, one);
      loop->setAttr(LLVM::LoopAnnotationAttr::getMnemonic(), keepScalar());
      OpBuilder body = OpBuilder::atBlockBegin(loop.getBody());
      Value i = loop.getInductionVar();
      Value value = memref::LoadOp::create(body, loc, staged, i);
      memref::StoreOp::create(
          body, loc, value, buffer,
          ValueRange(arith::AddIOp::create(body, loc, start, i)));
    };
    copySome(zero, head);
    auto lines = scf::ForOp::create(builder, loc, head, tail, line);
    {
      OpBuilder body = OpBuilder::atBlockBegin(lines.getBody());
      Value i = lines.getInductionVar();
      auto type = VectorType::get({lanes}, element);
      Value value = vector::LoadOp::create(body, loc, type, staged, i);
      Value to = arith::AddIOp::create(body, loc, start, i);
      auto store = vector::StoreOp::create(body, loc, value, buffer, to);
      store.setNontemporal(true);
      store.setAlignment(kLineBytes);
    }
    copySome(tail, count);
  }

  /// Returns the annotation of loops over less than a line.
  LLVM::LoopAnnotationAttr keepScalar() {
    MLIRContext *context = &getContext();
    auto yes = BoolAttr::get(context, true);
    auto vectorize = LLVM::LoopVectorizeAttr::get(
        context, /*disable=*/yes, /*predicateEnable=*/{},
        /*scalableEnable=*/{}, /*width=*/{}, /*followupVectorized=*/{},
        /*followupEpilogue=*/{}, /*followupAll=*/{});
    auto unroll = LLVM::LoopUnrollAttr::get(
        context, /*disable=*/yes, /*count=*/{}, /*runtimeDisable=*/{},
        /*full=*/{}, /*followupUnrolled=*/{}, /*followupRemainder=*/{},
        /*followupAll=*/{});
    return LLVM::LoopAnnotationAttr::get(context, {}, vectorize, {}, unroll, {},
                                         {}, {}, {}, {}, {}, {}, {}, {}, {},
                                         {});
  }
};

} // namespace
