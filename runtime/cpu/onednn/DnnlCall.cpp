// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/onednn/DnnlCall.h"

#include "runtime/abi/Align.h"
#include "runtime/core/DType.h"
#include "runtime/core/machine/Features.h"
#include "runtime/cpu/threads/ThreadPool.h"

#include <dnnl_threadpool.hpp>

#include <stdexcept>

using namespace ingot::runtime;
using dnnl::memory;

/// Holds the library to the instructions that the kernels of this tree use. It
/// decides when it is first called.
static void limitInstructions() {
  using dnnl::cpu_isa;
  switch (getMaxCpuLevel()) {
  case ingot::abi::CpuLevel::Baseline:
  case ingot::abi::CpuLevel::V2:
    dnnl::set_max_cpu_isa(cpu_isa::sse41);
    return;
  case ingot::abi::CpuLevel::V3:
    dnnl::set_max_cpu_isa(cpu_isa::avx2);
    return;
  case ingot::abi::CpuLevel::V4:
    dnnl::set_max_cpu_isa(cpu_isa::avx512_core);
    return;
  case ingot::abi::CpuLevel::Amx:
    return;
  }
}

namespace {

/// The threads of ThreadPool.h, as the library sees them.
class PoolThreads : public dnnl::threadpool_interop::threadpool_iface {
public:
  int get_num_threads() const override { return getThreadCount(); }
  bool get_in_parallel() const override { return isInParallel(); }
  /// Calls return when all is done.
  uint64_t get_flags() const override { return 0; }
  void parallel_for(int count,
                    const std::function<void(int, int)> &body) override {
    parallelFor(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        body(static_cast<int>(i), count);
    });
  }
};

} // namespace

const dnnl::engine &ingot::runtime::getDnnlEngine() {
  static const dnnl::engine engine = [] {
    limitInstructions();
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

dnnl::stream &ingot::runtime::getDnnlStream() {
  static PoolThreads threads;
  static dnnl::stream stream =
      dnnl::threadpool_interop::make_stream(getDnnlEngine(), &threads);
  return stream;
}

void ingot::runtime::useAllThreads() {
  dnnl_threadpool_interop_set_max_concurrency(getThreadCount());
}

memory::data_type ingot::runtime::getDnnlType(int32_t type) {
  DType dtype = getDType(type);
  switch (dtype) {
  case DType::F32:
    return memory::data_type::f32;
  case DType::BF16:
    return memory::data_type::bf16;
  case DType::F16:
    return memory::data_type::f16;
  default:
    throw std::invalid_argument("oneDNN does not compute in " +
                                std::string(getName(dtype)));
  }
}

size_t DnnlCall::reserve(size_t bytes) {
  size_t offset = scratchBytes;
  scratchBytes += ingot::abi::alignTo(bytes, INGOT_ALIGNMENT);
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
                   std::initializer_list<const void *> pointers, void *given,
                   int64_t planned) {
  dnnl::stream &stream = getDnnlStream();
  char *scratch = scratchBytes
                      ? context->getScratch(scratchBytes, given, planned)
                      : nullptr;
  auto pointer = pointers.begin();
  for (Operand &operand : operands) {
    void *data = const_cast<void *>(*pointer++);
    operand.outer.set_data_handle(data);
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
