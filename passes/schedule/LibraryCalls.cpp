#include "passes/schedule/LibraryCalls.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot;

namespace {

/// The entry points of convolutions.
abi::ConvKind getKind(Operation *op) {
  return isa<ConvOp>(op)            ? abi::ConvKind::Forward
         : isa<ConvInputGradOp>(op) ? abi::ConvKind::InputGrad
                                    : abi::ConvKind::FilterGrad;
}

template <typename Desc> Desc describe(LibraryCall op) {
  return std::get<Desc>(CallDescriptor::of(op).fields);
}

/// One overload per anchor: the only place where the two dialects meet.
struct CallBuilder {
  const abi::ScratchMachine &machine;
  OpBuilder &b;
  ValueRange inputs, outputs;
  Value scratch;

  void operator()(MatmulOp op) const {
    exec::MatmulOp::create(b, op.getLoc(), inputs[0], inputs[1], outputs[0],
                           scratch, op.getTransposeLhs(), op.getTransposeRhs(),
                           ingot::isOnTiles(op, machine));
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
                              attendsOnTiles(op), op.getFlops());
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
        op.getRatio(), op.getStream(), attendsOnTiles(op), op.getFlops());
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

  bool attendsOnTiles(Operation *op) const {
    ingot_attention_desc desc = {};
    desc.type = getAbiType(getElementTypeOrSelf(op->getOperand(0)));
    return isOnTiles(desc, machine);
  }

  template <typename Call, typename Op> void convolution(Op op) const {
    Call::create(
        b, op.getLoc(), inputs[0], inputs[1], outputs[0], scratch,
        op.getStrides(), op.getDilations(), op.getPadLow(), op.getPadHigh(),
        op.getGroups(), op.getChannelsLast(), op.getFilterChannelsLast(),
        isOnTiles(describe<ingot_conv_desc>(op), getKind(op), machine));
  }
};

/// The sizes of an anchor as its descriptor has them.
struct ScratchQuery {
  const abi::ScratchMachine &machine;

  int64_t operator()(MatmulOp op) const {
    return abi::getScratchBytes(describe<ingot_matmul_desc>(op), machine);
  }
  int64_t operator()(ConvOp op) const { return convolution(op); }
  int64_t operator()(ConvInputGradOp op) const { return convolution(op); }
  int64_t operator()(ConvFilterGradOp op) const { return convolution(op); }

  int64_t operator()(AttentionOp op) const {
    return abi::getScratchBytes(describe<ingot_attention_desc>(op), machine);
  }
  int64_t operator()(AttentionGradOp op) const {
    return abi::getGradientScratchBytes(describe<ingot_attention_desc>(op),
                                        machine);
  }
  int64_t operator()(PackedAttentionOp op) const {
    return abi::getScratchBytes(describe<ingot_attention_desc>(op), machine);
  }
  int64_t operator()(PackedAttentionGradOp op) const {
    return abi::getGradientScratchBytes(describe<ingot_attention_desc>(op),
                                        machine);
  }

  template <typename Op> int64_t convolution(Op op) const {
    auto desc = describe<ingot_conv_desc>(op);
    abi::ConvKind kind = getKind(op);
    if (machine.workspace == 0 && isOnTiles(desc, kind, machine))
      return abi::ProductOfWindows(desc, kind, machine.threads)
          .getScratchBytes();
    return abi::getScratchBytes(desc, machine);
  }
};

} // namespace

int64_t ingot::getScratchBytes(Operation *op,
                               const abi::ScratchMachine &machine) {
  if (auto fusion = dyn_cast<FusionOp>(op))
    if (Operation *anchor = fusion.getAnchor())
      op = anchor;
  ScratchQuery query{machine};
  return TypeSwitch<Operation *, int64_t>(op)
      .Case<MatmulOp, ConvOp, ConvInputGradOp, ConvFilterGradOp, AttentionOp,
            AttentionGradOp, PackedAttentionOp, PackedAttentionGradOp>(query)
      .Default([](Operation *) { return 0; });
}

void ingot::createLibraryCall(Operation *anchor, ValueRange inputs,
                              ValueRange outputs, Value scratch,
                              const abi::ScratchMachine &machine,
                              OpBuilder &builder) {
  CallBuilder call{machine, builder, inputs, outputs, scratch};
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

bool ingot::isOnTiles(Operation *anchor, const abi::ScratchMachine &machine) {
  return isOnTiles(describe<ingot_matmul_desc>(cast<MatmulOp>(anchor)),
                   machine);
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
