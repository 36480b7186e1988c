#include "passes/schedule/LibraryCalls.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot;

namespace {

/// One overload per anchor: the only place where the two dialects meet.
struct CallBuilder {
  OpBuilder &b;
  ValueRange inputs, outputs;

  void operator()(MatmulOp op) const {
    exec::MatmulOp::create(b, op.getLoc(), inputs[0], inputs[1], outputs[0],
                           op.getTransposeLhs(), op.getTransposeRhs());
  }
  void operator()(ConvOp op) const { convolution<exec::ConvOp>(op); }
  void operator()(ConvInputGradOp op) const {
    convolution<exec::ConvInputGradOp>(op);
  }
  void operator()(ConvFilterGradOp op) const {
    convolution<exec::ConvFilterGradOp>(op);
  }

  template <typename Call, typename Op> void convolution(Op op) const {
    Call::create(b, op.getLoc(), inputs[0], inputs[1], outputs[0],
                 op.getStrides(), op.getDilations(), op.getPadLow(),
                 op.getPadHigh(), op.getGroups());
  }
};

} // namespace

void ingot::createLibraryCall(Operation *anchor, ValueRange inputs,
                              ValueRange outputs, OpBuilder &builder) {
  CallBuilder call{builder, inputs, outputs};
  TypeSwitch<Operation *>(anchor)
      .Case<MatmulOp, ConvOp, ConvInputGradOp, ConvFilterGradOp>(call);
}
