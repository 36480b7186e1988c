//===----------------------------------------------------------------------===//
//
// What the oneDNN entry points share.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/OneDnn.h"

#include <stdexcept>

using namespace ingot::runtime;
using dnnl::memory;

const dnnl::engine &ingot::runtime::getDnnlEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream &ingot::runtime::getDnnlStream() {
  static dnnl::stream stream(getDnnlEngine());
  return stream;
}

memory::data_type ingot::runtime::getDnnlType(int32_t type) {
  switch (type) {
  case INGOT_F32:
    return memory::data_type::f32;
  case INGOT_BF16:
    return memory::data_type::bf16;
  case INGOT_F16:
    return memory::data_type::f16;
  default:
    throw std::runtime_error("element type " + std::to_string(type) +
                             " is not one the library computes in");
  }
}

size_t DnnlCall::reserve(size_t bytes) {
  size_t offset = scratchBytes;
  scratchBytes +=
      (bytes + INGOT_ALIGNMENT - 1) / INGOT_ALIGNMENT * INGOT_ALIGNMENT;
  return offset;
}

void DnnlCall::add(int argument, bool isOutput, const memory::desc &outer,
                   const memory::desc &inner) {
  Operand &operand = operands.emplace_back();
  operand.argument = argument;
  operand.isOutput = isOutput;
  operand.outer = memory(outer, getDnnlEngine(), nullptr);
  operand.reordered = outer != inner;
  if (operand.reordered) {
    operand.inner = memory(inner, getDnnlEngine(), nullptr);
    operand.scratchOffset = reserve(inner.get_size());
    operand.reorder = isOutput ? dnnl::reorder(operand.inner, operand.outer)
                               : dnnl::reorder(operand.outer, operand.inner);
  }
  arguments[argument] = operand.reordered ? operand.inner : operand.outer;
}

void DnnlCall::addInput(int argument, const memory::desc &outer,
                        const memory::desc &inner) {
  add(argument, /*isOutput=*/false, outer, inner);
}

void DnnlCall::addOutput(int argument, const memory::desc &outer,
                         const memory::desc &inner) {
  add(argument, /*isOutput=*/true, outer, inner);
}

void DnnlCall::setPrimitive(const dnnl::primitive &made,
                            const memory::desc &pad) {
  primitive = made;
  if (pad.get_size() == 0)
    return;
  scratchpad = memory(pad, getDnnlEngine(), nullptr);
  scratchpadOffset = reserve(pad.get_size());
  arguments[DNNL_ARG_SCRATCHPAD] = scratchpad;
}

void DnnlCall::run(ingot_context *context,
                   std::initializer_list<const void *> pointers) {
  dnnl::stream &stream = getDnnlStream();
  char *scratch = scratchBytes ? context->getScratch(scratchBytes) : nullptr;
  auto pointer = pointers.begin();
  for (Operand &operand : operands) {
    operand.outer.set_data_handle(const_cast<void *>(*pointer++));
    if (!operand.reordered)
      continue;
    operand.inner.set_data_handle(scratch + operand.scratchOffset);
    if (!operand.isOutput)
      operand.reorder.execute(stream, operand.outer, operand.inner);
  }
  if (scratchpad)
    scratchpad.set_data_handle(scratch + scratchpadOffset);
  primitive.execute(stream, arguments);
  for (Operand &operand : operands)
    if (operand.reordered && operand.isOutput)
      operand.reorder.execute(stream, operand.inner, operand.outer);
  stream.wait();
}
