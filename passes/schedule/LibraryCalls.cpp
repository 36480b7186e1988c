#include "passes/schedule/LibraryCalls.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot;

namespace {

/// One overload per anchor: the only place where the two dialects meet.
struct CallBuilder {
  const Target &target;
  OpBuilder &b;
  ValueRange inputs, outputs;
  Value scratch;

  void operator()(MatmulOp op) const {
    exec::MatmulOp::create(b, op.getLoc(), inputs[0], inputs[1], outputs[0],
                           scratch, op.getTransposeLhs(), op.getTransposeRhs(),
                           isOnTiles(op));
  }
  void operator()(ConvOp op) const { convolution<exec::ConvOp>(op); }
  void operator()(ConvInputGradOp op) const {
    convolution<exec::ConvInputGradOp>(op);
  }
  void operator()(ConvFilterGradOp op) const {
    convolution<exec::ConvFilterGradOp>(op);
  }

  void operator()(AttentionOp op) const {
    attention(op, 3, {inputs[0], inputs[1], inputs[2]});
  }
  void operator()(AttentionGradOp op) const {
    attentionGrad(op, 3, {inputs[0], inputs[1], inputs[2]},
                  {outputs[0], outputs[1], outputs[2]});
  }

  void operator()(CompressOp op) const {
    exec::CompressOp::create(b, op.getLoc(), inputs[0], outputs[0],
                             static_cast<int64_t>(op.getCode()), op.getKept());
  }

  void operator()(ShardSquareSumOp op) const {
    exec::ShardSquareSumOp::create(b, op.getLoc(), inputs[0], outputs[0],
                                   op.getFirst(), op.getOf());
  }

  void operator()(PackedAttentionOp op) const {
    attention(op, 1, unpack(op, inputs[0]));
  }
  void operator()(PackedAttentionGradOp op) const {
    attentionGrad(op, 1, unpack(op, inputs[0]), unpack(op, outputs[0]));
  }

  /// Queries, keys and values, or their gradients.
  using Parts = std::array<Value, 3>;

  /// `first`: how many inputs stand before those that may be there.
  template <typename Op>
  void attention(Op op, unsigned first, const Parts &in) const {
    auto [bias, mask, lengths, seed, step] = optional(op, first);
    exec::AttentionOp::create(b, op.getLoc(), in[0], in[1], in[2], bias, mask,
                              lengths, seed, step, outputs[0], outputs[1],
                              scratch, op.getScale(), op.getLeft(),
                              op.getRight(), op.getRatio(), op.getStream(),
                              isOnTiles(op), op.getFlops());
  }
  /// `first`: where the results of the forward pass stand.
  template <typename Op>
  void attentionGrad(Op op, unsigned first, const Parts &in,
                     const Parts &out) const {
    auto [bias, mask, lengths, seed, step] = optional(op, first + 3);
    exec::AttentionGradOp::create(
        b, op.getLoc(), in[0], in[1], in[2], inputs[first], inputs[first + 1],
        inputs[first + 2], bias, mask, lengths, seed, step, out[0], out[1],
        out[2], scratch, op.getScale(), op.getLeft(), op.getRight(),
        op.getRatio(), op.getStream(), isOnTiles(op), op.getFlops());
  }

  /// Queries, keys and values within a packed buffer.
  template <typename Op> Parts unpack(Op op, Value packed) const {
    auto whole = packed.getDefiningOp<exec::BufferOp>();
    auto type = cast<MemRefType>(packed.getType());
    SmallVector<int64_t> shape(type.getShape());
    auto strides = type.getStridesAndOffset().first;
    AttentionSizes sizes = op.getSizes();
    int64_t counts[] = {sizes.heads, sizes.keyHeads, sizes.keyHeads};
    Parts parts;
    for (auto [part, first, count] :
         llvm::zip_equal(parts, op.getFirstHeads(), counts)) {
      shape[2] = count;
      int64_t bytes = first * strides[2] * type.getElementTypeBitWidth() / 8;
      part = exec::BufferOp::create(
          b, op.getLoc(),
          MemRefType::get(shape, type.getElementType(),
                          StridedLayoutAttr::get(b.getContext(), 0, strides)),
          whole.getSpace(), whole.getOffset() + bytes);
    }
    return parts;
  }

  /// The buffers of bias, mask, lengths, seed and step, which follow the
  /// `first` ones; null where there is none.
  template <typename Op>
  std::array<Value, 5> optional(Op op, unsigned first) const {
    std::array<Value, 5> buffers = {op.getBias(), op.getMask(), op.getLengths(),
                                    op.getSeed(), op.getStep()};
    for (Value &buffer : buffers)
      if (buffer)
        buffer = inputs[first++];
    return buffers;
  }

  bool isOnTiles(LibraryCall call) const {
    return target.getSupport(call).onTiles;
  }

  template <typename Call, typename Op> void convolution(Op op) const {
    Call::create(b, op.getLoc(), inputs[0], inputs[1], outputs[0], scratch,
                 op.getStrides(), op.getDilations(), op.getPadLow(),
                 op.getPadHigh(), op.getGroups(), op.getChannelsLast(),
                 op.getFilterChannelsLast(), isOnTiles(op));
  }
};

} // namespace

void ingot::createLibraryCall(Operation *anchor, ValueRange inputs,
                              ValueRange outputs, Value scratch,
                              const Target &target, OpBuilder &builder) {
  CallBuilder call{target, builder, inputs, outputs, scratch};
  TypeSwitch<Operation *>(anchor)
      .Case<MatmulOp, ConvOp, ConvInputGradOp, ConvFilterGradOp, AttentionOp,
            AttentionGradOp, PackedAttentionOp, PackedAttentionGradOp,
            CompressOp, ShardSquareSumOp>(call);
}

namespace {
/// One overload per end of a bucket.
struct BucketCallBuilder {
  OpBuilder &b;
  Value bucket;
  int64_t number;

  template <typename Call, typename Op> void call(Op op) const {
    Call::create(b, op.getLoc(), bucket, number);
  }
  /// `start`: says how the bucket is sent.
  template <typename Call>
  void allReduce(Location loc, AllReduceStartOp start) const {
    std::optional<Code> code = start.getCode();
    Call::create(b, loc, bucket, number,
                 code ? static_cast<int64_t>(*code) : INGOT_UNCOMPRESSED,
                 start.getKept());
  }
  void operator()(AllReduceStartOp op) const {
    allReduce<exec::AllReduceStartOp>(op.getLoc(), op);
  }
  void operator()(AllReduceWaitOp op) const {
    allReduce<exec::AllReduceWaitOp>(
        op.getLoc(), op.getBucket().getDefiningOp<AllReduceStartOp>());
  }
  void operator()(ReduceScatterStartOp op) const {
    call<exec::ReduceScatterStartOp>(op);
  }
  void operator()(ReduceScatterWaitOp op) const {
    call<exec::ReduceScatterWaitOp>(op);
  }
  void operator()(AllGatherStartOp op) const {
    call<exec::AllGatherStartOp>(op);
  }
  void operator()(AllGatherWaitOp op) const { call<exec::AllGatherWaitOp>(op); }
};
} // namespace

void ingot::createBucketCall(Operation *end, Value bucket, int64_t number,
                             OpBuilder &builder) {
  BucketCallBuilder call{builder, bucket, number};
  TypeSwitch<Operation *>(end)
      .Case<AllReduceStartOp, AllReduceWaitOp, ReduceScatterStartOp,
            ReduceScatterWaitOp, AllGatherStartOp, AllGatherWaitOp>(call);
}

void ingot::createEpilogueCall(Operation *anchor, ValueRange operands,
                               const EpilogueKernel &kernel, Value scratch,
                               OpBuilder &builder) {
  auto op = cast<MatmulOp>(anchor);
  exec::MatmulEpilogueOp::create(
      builder, op.getLoc(), operands[0], operands[1], kernel.name,
      kernel.inputs, kernel.outputs, kernel.extra, kernel.extraInputs,
      kernel.extraOutput, kernel.product, scratch, op.getTransposeLhs(),
      op.getTransposeRhs(), kernel.onTiles, kernel.flops, kernel.library);
}
