// SPDX-License-Identifier: Apache-2.0

#include "passes/codegen/Booleans.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ingot;

void codegen::widenBooleans(Operation *root) {
  Type i1 = IntegerType::get(root->getContext(), 1);
  Type i8 = IntegerType::get(root->getContext(), 8);
  root->walk([&](LLVM::LoadOp load) {
    if (load.getType() != i1)
      return;
    OpBuilder builder(load);
    Location loc = load.getLoc();
    Value byte = LLVM::LoadOp::create(builder, loc, i8, load.getAddr());
    Value zero = LLVM::ConstantOp::create(builder, loc, i8, 0);
    load.replaceAllUsesWith(Value(LLVM::ICmpOp::create(
        builder, loc, LLVM::ICmpPredicate::ne, byte, zero)));
    load.erase();
  });
  root->walk([&](LLVM::StoreOp store) {
    if (store.getValue().getType() != i1)
      return;
    OpBuilder builder(store);
    store.setOperand(
        0, LLVM::ZExtOp::create(builder, store.getLoc(), i8, store.getValue()));
  });
}
