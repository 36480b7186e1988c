//===----------------------------------------------------------------------===//
//
// Calls of libraries but for products: convolutions and attention.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/CallSupport.h"
#include "dialects/ingot/convolution/WindowLayout.h"
#include "runtime/abi/Abi.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::exec;

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// The descriptor from the three tensors in their forward roles.
template <typename Op>
static SmallVector<Field> convDescriptor(Op op, Value input, Value filter,
                                         Value output, int64_t index) {
  ArrayRef<int64_t> in = cast<MemRefType>(input.getType()).getShape();
  ArrayRef<int64_t> out = cast<MemRefType>(output.getType()).getShape();
  ArrayRef<int64_t> weights = cast<MemRefType>(filter.getType()).getShape();
  auto rank = static_cast<int64_t>(in.size());
  WindowLayout layout{op.getChannelsLast()};
  SmallVector<Field> fields = {{8, rank - 2},
                               {8, in[0]},
                               {8, in[layout.channelDim(rank)]},
                               {8, out[layout.channelDim(rank)]},
                               {8, static_cast<int64_t>(op.getGroups())}};
  auto add = [&](ArrayRef<int64_t> sizes) {
    for (size_t d = 0; d < INGOT_MAX_SPATIAL; ++d)
      fields.push_back({8, d < sizes.size() ? sizes[d] : 0});
  };
  add(layout.spatial(in));
  add(layout.spatial(out));
  add(WindowLayout{op.getFilterChannelsLast()}.spatial(weights));
  add(op.getStrides());
  add(op.getDilations());
  add(op.getPadLow());
  add(op.getPadHigh());
  fields.push_back({4, dtypeOf(input)});
  fields.push_back({4, op.getChannelsLast()});
  fields.push_back({4, op.getFilterChannelsLast()});
  fields.push_back({4, op.getOnTiles()});
  fields.push_back(scratchBytes(op));
  fields.push_back({8, index});
  return fields;
}

/// Every output element sums a window of its group's channels.
static int64_t convFlops(Value output, Value filter) {
  int64_t flops = 2 * cast<MemRefType>(output.getType()).getNumElements();
  for (int64_t size :
       cast<MemRefType>(filter.getType()).getShape().drop_front())
    flops *= size;
  return flops;
}

#define INGOT_CONVOLUTION(OP, ENTRY, INPUT, FILTER, OUTPUT)                    \
  StringRef OP::getEntryPoint() { return ENTRY; }                              \
  StringRef OP::getCallKind() { return "convolution"; }                        \
  int64_t OP::getCallBytes() {                                                 \
    return bufferBytes({getLhs(), getRhs(), getResult()});                     \
  }                                                                            \
  SmallVector<Value> OP::getBuffers() { return libraryBuffers(*this); }        \
  int64_t OP::getCallFlops() { return convFlops(OUTPUT(), FILTER()); }         \
  SmallVector<Field> OP::getDescriptor(int64_t index) {                        \
    return convDescriptor(*this, INPUT(), FILTER(), OUTPUT(), index);          \
  }                                                                            \
  void OP::getEffects(Effects &effects) { addEffects(*this, 2, effects); }

INGOT_CONVOLUTION(exec::ConvOp, "ingot_conv", getLhs, getRhs, getResult)
INGOT_CONVOLUTION(exec::ConvInputGradOp, "ingot_conv_input_grad", getResult,
                  getRhs, getLhs)
INGOT_CONVOLUTION(exec::ConvFilterGradOp, "ingot_conv_filter_grad", getRhs,
                  getResult, getLhs)

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

template <typename Op>
static SmallVector<Field> attentionDescriptor(Op op, Value output,
                                              int64_t index) {
  auto shape = [](Value value) {
    return cast<MemRefType>(value.getType()).getShape();
  };
  ArrayRef<int64_t> q = shape(op.getQuery()), v = shape(op.getValue());
  SmallVector<Field> fields = {
      {8, q[0]},
      {8, q[2]},
      {8, v[2]},
      {8, q[1]},
      {8, v[1]},
      {8, q[3]},
      {8, v[3]},
      {8, static_cast<int64_t>(op.getLeft())},
      {8, static_cast<int64_t>(op.getRight())},
      {8, llvm::bit_cast<int64_t>(op.getScale().convertToDouble())},
      {8, llvm::bit_cast<int64_t>(op.getRatio().convertToDouble())}};
  for (Value rows :
       SmallVector<Value>{op.getQuery(), op.getKey(), op.getValue(), output}) {
    auto [strides, offset] =
        cast<MemRefType>(rows.getType()).getStridesAndOffset();
    for (int64_t each : ArrayRef(strides).drop_back())
      fields.push_back({8, each});
  }
  for (Value pairs : SmallVector<Value>{op.getBias(), op.getMask()}) {
    int64_t stride = 0, strides[3] = {0, 0, 0};
    if (pairs) {
      ArrayRef<int64_t> s = shape(pairs);
      stride = s[3];
      for (int i = 2; i >= 0; --i) {
        strides[i] = s[i] == 1 ? 0 : stride;
        stride *= s[i];
      }
    }
    for (int64_t each : strides)
      fields.push_back({8, each});
  }
  fields.push_back({4, dtypeOf(op.getQuery())});
  fields.push_back({4, op.getOnTiles()});
  fields.push_back({4, static_cast<int64_t>(op.getStream())});
  fields.push_back({4, 0});
  fields.push_back(scratchBytes(op));
  fields.push_back({8, index});
  return fields;
}

/// Reads the first operands and those that may follow.
template <typename Op>
static void addAttentionEffects(Op op, unsigned first, Effects &effects) {
  for (Value optional : {op.getBias(), op.getMask(), op.getLengths(),
                         op.getSeed(), op.getStep()})
    first += optional ? 1 : 0;
  addEffects(op, first, effects);
}

StringRef exec::AttentionOp::getEntryPoint() { return "ingot_attention"; }
StringRef exec::AttentionOp::getCallKind() { return "attention"; }
int64_t exec::AttentionOp::getCallFlops() { return getFlops(); }
int64_t exec::AttentionOp::getCallBytes() {
  return bufferBytes(getOperands()) - scratchBytes(*this).value;
}
SmallVector<Value> exec::AttentionOp::getBuffers() {
  return {getQuery(),  getKey(),     getValue(),  getBias(),
          getMask(),   getLengths(), getSeed(),   getStep(),
          getResult(), getLse(),     getScratch()};
}
SmallVector<Field> exec::AttentionOp::getDescriptor(int64_t index) {
  return attentionDescriptor(*this, getResult(), index);
}
void exec::AttentionOp::getEffects(Effects &effects) {
  addAttentionEffects(*this, 3, effects);
}

StringRef exec::AttentionGradOp::getEntryPoint() {
  return "ingot_attention_grad";
}
StringRef exec::AttentionGradOp::getCallKind() { return "attention"; }
int64_t exec::AttentionGradOp::getCallFlops() { return getFlops(); }
int64_t exec::AttentionGradOp::getCallBytes() {
  return bufferBytes(getOperands()) - scratchBytes(*this).value;
}
SmallVector<Value> exec::AttentionGradOp::getBuffers() {
  return {getQuery(),   getKey(),       getValue(),  getOutput(),
          getLse(),     getCotangent(), getBias(),   getMask(),
          getLengths(), getSeed(),      getStep(),   getQueryGrad(),
          getKeyGrad(), getValueGrad(), getScratch()};
}
SmallVector<Field> exec::AttentionGradOp::getDescriptor(int64_t index) {
  return attentionDescriptor(*this, getOutput(), index);
}
void exec::AttentionGradOp::getEffects(Effects &effects) {
  addAttentionEffects(*this, 6, effects);
}
