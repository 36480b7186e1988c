// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// EmulateKernels: lowers GPU functions to functions for the emulator, whose
// entry points are in runtime/emulator/Emulator.h.
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/targets/emulator/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ingot {
#define GEN_PASS_DEF_EMULATEKERNELS
#include "passes/targets/emulator/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct EmulateKernels : ingot::impl::EmulateKernelsBase<EmulateKernels> {
  void runOnOperation() override {
    index = IndexType::get(&getContext());
    i32 = IntegerType::get(&getContext(), 32);
    declare("ingot_emulator_check", {index, index}, {});
    declare("ingot_emulator_access", {index, index, i32}, {});
    declare("ingot_emulator_barrier", {}, {});
    declare("ingot_emulator_blocks", {}, {index});
    declare("ingot_emulator_shuffle", {i32, i32}, {i32});
    for (auto module : llvm::make_early_inc_range(
             getOperation().getOps<gpu::GPUModuleOp>())) {
      for (auto function : module.getOps<gpu::GPUFuncOp>())
        emulate(function);
      module.erase();
    }
  }

private:
  void declare(StringRef name, TypeRange inputs, TypeRange results) {
    OpBuilder b = OpBuilder::atBlockBegin(getOperation().getBody());
    func::FuncOp::create(b, getOperation().getLoc(), name,
                         b.getFunctionType(inputs, results))
        .setPrivate();
  }

  func::CallOp call(OpBuilder &b, Location loc, StringRef name,
                    TypeRange results, ValueRange arguments) {
    return func::CallOp::create(b, loc, name, results, arguments);
  }

  Value constant(OpBuilder &b, Location loc, int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }

  /// Reports an access to the emulator before it happens.
  void check(Operation *access, Value memory, ValueRange indices,
             bool isStore) {
    OpBuilder b(access);
    Location loc = access->getLoc();
    auto type = cast<MemRefType>(memory.getType());
    Value position = constant(b, loc, 0);
    for (auto [at, size] : llvm::zip_equal(indices, type.getShape())) {
      Value limit = constant(b, loc, size);
      call(b, loc, "ingot_emulator_check", {}, {at, limit});
      position = arith::MulIOp::create(b, loc, position, limit);
      position = arith::AddIOp::create(b, loc, position, at);
    }
    Value bytes =
        constant(b, loc, llvm::divideCeil(type.getElementTypeBitWidth(), 8));
    Value address =
        memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memory);
    address = arith::AddIOp::create(
        b, loc, address, arith::MulIOp::create(b, loc, position, bytes));
    Value store = arith::ConstantIntOp::create(b, loc, i32, isStore);
    call(b, loc, "ingot_emulator_access", {}, {address, bytes, store});
  }

  Value shuffle(gpu::ShuffleOp op) {
    OpBuilder b(op);
    Location loc = op.getLoc();
    Value bits = op.getValue();
    if (bits.getType() != i32)
      bits = arith::BitcastOp::create(b, loc, i32, bits);
    Value other =
        call(b, loc, "ingot_emulator_shuffle", i32, {bits, op.getOffset()})
            .getResult(0);
    return op.getValue().getType() == i32
               ? other
               : arith::BitcastOp::create(b, loc, op.getValue().getType(),
                                          other);
  }

  /// The emulator only passes addresses.
  static void takeRangeFromMemory(gpu::GPUFuncOp function) {
    Block &entry = function.getBody().front();
    unsigned end = function.getNumArguments(), first = end;
    while (first > 0 && entry.getArgument(first - 1).getType().isInteger(64))
      --first;
    if (first == end)
      return;
    Location loc = function.getLoc();
    OpBuilder b = OpBuilder::atBlockBegin(&entry);
    auto type = MemRefType::get({end - first}, b.getI64Type());
    Value range = entry.insertArgument(first, type, loc);
    for (unsigned i = 0; i < end - first; ++i) {
      Value at = arith::ConstantIndexOp::create(b, loc, i);
      entry.getArgument(first + 1 + i)
          .replaceAllUsesWith(memref::LoadOp::create(b, loc, range, at));
    }
    entry.eraseArguments(first + 1, end - first);
    SmallVector<Type> types(function.getFunctionType().getInputs());
    types.resize(first);
    types.push_back(type);
    function.setFunctionType(b.getFunctionType(types, {}));
  }

  void emulate(gpu::GPUFuncOp function) {
    OpBuilder b(function->getParentOp());
    Location loc = function.getLoc();
    function.walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](memref::LoadOp load) {
            check(op, load.getMemRef(), load.getIndices(), /*isStore=*/false);
          })
          .Case([&](memref::StoreOp store) {
            check(op, store.getMemRef(), store.getIndices(), /*isStore=*/true);
          });
    });

    takeRangeFromMemory(function);
    int64_t sharedBytes = 0;
    SmallVector<std::pair<BlockArgument, int64_t>> shared;
    for (BlockArgument memory : function.getWorkgroupAttributions()) {
      shared.push_back({memory, sharedBytes});
      sharedBytes += byteSize(cast<MemRefType>(memory.getType()));
    }
    SmallVector<Type> types(function.getFunctionType().getInputs());
    auto blockMemory = MemRefType::get({std::max<int64_t>(sharedBytes, 1)},
                                       b.getIntegerType(8));
    types.push_back(blockMemory);
    types.append(2, index);
    auto emulated = func::FuncOp::create(b, loc, function.getName(),
                                         b.getFunctionType(types, {}));
    emulated.setPrivate();
    emulated.getBody().takeBody(function.getBody());
    Block &entry = emulated.getBody().front();
    b.setInsertionPointToStart(&entry);
    size_t buffers = types.size() - 3;
    Value block = entry.insertArgument(buffers, blockMemory, loc);
    for (auto [memory, offset] : shared) {
      auto type = cast<MemRefType>(memory.getType());
      Value view = memref::ViewOp::create(
          b, loc, MemRefType::get(type.getShape(), type.getElementType()),
          block, constant(b, loc, offset), ValueRange());
      memory.replaceAllUsesWith(view);
    }
    entry.eraseArguments(buffers + 1, shared.size());
    Value thread = entry.addArgument(index, loc);
    Value number = entry.addArgument(index, loc);

    emulated.walk([&](Operation *op) {
      OpBuilder at(op);
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](gpu::ThreadIdOp) { replace(op, thread); })
          .Case([&](gpu::BlockIdOp) { replace(op, number); })
          .Case([&](gpu::GridDimOp) {
            replace(op,
                    call(at, op->getLoc(), "ingot_emulator_blocks", index, {})
                        .getResult(0));
          })
          .Case([&](gpu::ShuffleOp exchange) {
            exchange.getShuffleResult().replaceAllUsesWith(shuffle(exchange));
            op->erase();
          })
          .Case([&](gpu::BarrierOp) {
            call(at, op->getLoc(), "ingot_emulator_barrier", {}, {});
            op->erase();
          })
          .Case([&](gpu::ReturnOp) {
            func::ReturnOp::create(at, op->getLoc());
            op->erase();
          });
    });
  }

  void replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }

  Type index, i32;
};

} // namespace
