// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Matmuls with an epilogue.
//===----------------------------------------------------------------------===//

#include "dialects/exec/CallSupport.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::exec;

/// Returns the table of buffers: the matmul's result, inputs, outputs, then
/// those of kernels for the extra output.
template <typename Op> static SmallVector<Value> epilogueTable(Op op) {
  SmallVector<Value> table = {op.getProductBuffer()};
  llvm::append_range(table,
                     op->getOperands().drop_front(2 + op.getScales().size()));
  if (op.getScratch())
    table.pop_back();
  return table;
}

/// Returns whether a position in the table, if there is one, is after that of
/// the matmul's result.
static bool isBehindProduct(std::optional<int64_t> place, int64_t buffers) {
  return !place || (*place > 0 && *place < buffers);
}

template <typename Op> static LogicalResult verifyMatmul(Op op) {
  if (op.getProduct() >= op.getOutputs().size())
    return op.emitOpError("leaves the product in output ")
           << op.getProduct() << " of " << op.getOutputs().size();
  if (op.getDesc().getType() != &abi::structOf<ingot_matmul_desc>)
    return op.emitOpError("must have a descriptor of type ingot_matmul_desc");
  if (!op.getScales().empty() && op.getScales().size() != 2)
    return op.emitOpError("has the scales of one operand");
  if (failed(verifyBuffers(op, *abi::findEntry("ingot_matmul"),
                           op.getDesc().getDescriptor(), op.getBuffers())))
    return failure();
  if (!op.getKernel() &&
      (!op.getInputs().empty() || op.getOutputs().size() > 1))
    return op.emitOpError("passes buffers to no kernel");
  if ((op.getExtra() != std::nullopt) != (op.getExtraOutput() != nullptr))
    return op.emitOpError("has an extra kernel or an extra output alone");
  LibraryEpilogueAttr library = op.getLibraryAttr();
  if (!library)
    return success();
  auto buffers = static_cast<int64_t>(epilogueTable(op).size());
  for (std::optional<int64_t> place :
       {library.getBias(), library.getAddend(), library.getAuxiliary(),
        std::optional(library.getResult()), library.getBiasGrad()})
    if (!isBehindProduct(place, buffers))
      return op.emitOpError("invalid 'library' epilogue: index ")
             << *place << " out of range for " << buffers << " buffers";
  return success();
}

/// Returns the bytes that the call moves: the kernel reads the matmul's result
/// where it was computed, as a library without an extra kernel does.
template <typename Op> static int64_t countEpilogueBytes(Op op) {
  int64_t bytes = bufferBytes({op.getLhs(), op.getRhs()}) +
                  bufferBytes(op.getScales()) + bufferBytes(op.getInputs()) +
                  bufferBytes(op.getOutputs());
  return op.getExtraOutput() ? bytes + bufferBytes(op.getExtraOutput()) : bytes;
}

/// Adds the effects of a call. Extra inputs are operands of the call, and its
/// outputs once more.
template <typename Op> static void addEpilogueEffects(Op op, Effects &effects) {
  unsigned reads = 2 + op.getScales().size() + op.getInputs().size();
  unsigned written = reads + op.getOutputs().size();
  unsigned extra = written + op.getExtraInputs().size();
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (number < reads || (number >= written && number < extra))
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

/// Returns the descriptor of the matmul only.
template <typename Op>
static ingot_matmul_desc describeMatmul(Op op, int64_t index) {
  auto desc = op.getDesc().getDescriptor().template get<ingot_matmul_desc>();
  if (op.getScratch())
    desc.scratch_bytes = bufferBytes(op.getScratch());
  desc.index = index;
  return desc;
}

#define INGOT_MATMUL_WITH_EPILOGUE(OP, ENTRY)                                  \
  LogicalResult OP::verify() { return verifyMatmul(*this); }                   \
  const abi::Entry &OP::getAbiEntry() { return *abi::findEntry(ENTRY); }       \
  int64_t OP::getCallFlops() { return getFlops(); }                            \
  int64_t OP::getCallBytes() { return countEpilogueBytes(*this); }             \
  SmallVector<Value> OP::getBuffers() {                                        \
    auto scales = llvm::to_vector_of<Value>(getScales());                      \
    scales.resize(2);                                                          \
    return {getLhs(),  getRhs(),           scales[0],                          \
            scales[1], getProductBuffer(), getScratch()};                      \
  }                                                                            \
  SmallVector<Value> OP::getTable() { return epilogueTable(*this); }           \
  void OP::getEffects(Effects &effects) { addEpilogueEffects(*this, effects); }

INGOT_MATMUL_WITH_EPILOGUE(MatmulEpilogueOp, "ingot_matmul_epilogue")
INGOT_MATMUL_WITH_EPILOGUE(MatmulEpilogueGridOp, "ingot_matmul_epilogue_grid")
#undef INGOT_MATMUL_WITH_EPILOGUE

//===----------------------------------------------------------------------===//
// On a CPU
//===----------------------------------------------------------------------===//

LogicalResult
MatmulEpilogueOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getKernelAttr() &&
      failed(verifyKernel(*this, symbols, getKernelAttr(),
                          1 + getInputs().size(), getOutputs().size())))
    return failure();
  return getExtraAttr() ? verifyKernel(*this, symbols, getExtraAttr(),
                                       getExtraInputs().size(), 1)
                        : success();
}

bool MatmulEpilogueOp::writesWhole(Value) { return true; }

Descriptor MatmulEpilogueOp::getDescriptor(int64_t index) {
  ingot_matmul_epilogue_desc desc = {};
  desc.matmul = describeMatmul(*this, index);
  Descriptor descriptor(desc);
  descriptor.setCode(offsetof(ingot_matmul_epilogue_desc, epilogue),
                     getKernelAttr() ? getKernelAttr().getAttr() : StringAttr(),
                     /*indices=*/4);
  return descriptor;
}

//===----------------------------------------------------------------------===//
// On a GPU
//===----------------------------------------------------------------------===//

/// Returns the number of buffers of launch `i` for the extra output: all of
/// them or, with two launches, those up to the partial sums and those from
/// these on.
static size_t countExtraBuffers(MatmulEpilogueGridOp op, size_t i) {
  size_t partials = op.getPartials().size();
  return (i == 0 ? op.getExtraInputs().size() : 1) +
         (partials == 0 ? 1 : partials);
}

LogicalResult
MatmulEpilogueGridOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto check = [&](GridAttr launch, size_t buffers) {
    return success(
        succeeded(verifyGrid(*this, launch.getGrid(), launch.getBlock())) &&
        succeeded(
            verifyGridKernel(*this, symbols, launch.getKernel(), buffers)));
  };
  if (getKernelAttr() &&
      failed(
          check(getKernelAttr(), 1 + getInputs().size() + getOutputs().size())))
    return failure();
  auto extra = getExtra().value_or(ArrayAttr());
  if (!extra)
    return success();
  if (extra.size() != (getPartials().empty() ? 1 : 2))
    return emitOpError("computes its extra output in ")
           << extra.size() << " launches";
  for (auto [i, launch] : llvm::enumerate(extra.getAsRange<GridAttr>()))
    if (failed(check(launch, countExtraBuffers(*this, i))))
      return failure();
  return success();
}

/// Partial sums are not written where the library computes the extra output.
bool MatmulEpilogueGridOp::writesWhole(Value buffer) {
  return !llvm::is_contained(getPartials(), buffer);
}

Descriptor MatmulEpilogueGridOp::getDescriptor(int64_t index) {
  using Desc = ingot_matmul_epilogue_grid_desc;
  Desc desc = {};
  desc.finish = describeGrid(getKernelAttr(),
                             1 + getInputs().size() + getOutputs().size());
  desc.finish.index = index;
  auto extra = getExtra().value_or(ArrayAttr());
  auto findExtra = [&](size_t i) {
    return extra && i < extra.size() ? cast<GridAttr>(extra[i]) : GridAttr();
  };
  for (size_t i = 0; i < INGOT_EXTRA_KERNELS; ++i) {
    desc.extra[i] = describeGrid(findExtra(i), countExtraBuffers(*this, i));
    desc.extra[i].index = index;
  }
  desc.matmul = describeMatmul(*this, index);
  LibraryEpilogueAttr library = getLibraryAttr();
  auto numberOf = [](auto value) {
    return value ? static_cast<int32_t>(*value) : -1;
  };
  desc.activation =
      library ? static_cast<int32_t>(library.getActivation()) : -1;
  desc.bias = library ? numberOf(library.getBias()) : -1;
  desc.addend = library ? numberOf(library.getAddend()) : -1;
  desc.auxiliary = library ? numberOf(library.getAuxiliary()) : -1;
  desc.result = library ? static_cast<int32_t>(library.getResult()) : -1;
  desc.summed = library ? numberOf(library.getSummed()) : -1;
  desc.bias_grad = library ? numberOf(library.getBiasGrad()) : -1;

  Descriptor descriptor(desc);
  auto setKernel = [&](size_t offset, GridAttr launch) {
    StringAttr kernel =
        launch ? launch.getKernel().getLeafReference() : StringAttr();
    descriptor.setName(offset + offsetof(ingot_grid_kernel, name), kernel);
    descriptor.setCode(offset + offsetof(ingot_grid_kernel, emulated), kernel,
                       /*indices=*/2);
  };
  setKernel(offsetof(Desc, finish), getKernelAttr());
  for (size_t i = 0; i < INGOT_EXTRA_KERNELS; ++i)
    setKernel(offsetof(Desc, extra) + i * sizeof(ingot_grid_kernel),
              findExtra(i));
  return descriptor;
}

//===----------------------------------------------------------------------===//
// As one kernel of a GPU
//===----------------------------------------------------------------------===//

LogicalResult MatmulGridOp::verify() {
  if (getDesc().getType() != &abi::structOf<ingot_matmul_desc>)
    return emitOpError("must have a descriptor of type ingot_matmul_desc");
  if (getOutputs().empty())
    return emitOpError("writes nothing");
  if (failed(verifyGrid(*this, getKernel().getGrid(), getKernel().getBlock())))
    return failure();
  ingot_matmul_grid_desc whole = {};
  whole.matmul = getDesc().getDescriptor().get<ingot_matmul_desc>();
  CallDescriptor descriptor;
  descriptor = whole;
  return verifyBuffers(*this, getAbiEntry(), descriptor, getBuffers());
}

LogicalResult MatmulGridOp::verifySymbolUses(SymbolTableCollection &symbols) {
  constexpr size_t maps = 2;
  return verifyGridKernel(*this, symbols, getKernel().getKernel(),
                          getTable().size(), /*others=*/maps);
}

const abi::Entry &MatmulGridOp::getAbiEntry() {
  return *abi::findEntry("ingot_matmul_grid");
}
int64_t MatmulGridOp::getCallFlops() { return getFlops(); }
int64_t MatmulGridOp::getCallBytes() { return bufferBytes(getOperands()); }
SmallVector<Value> MatmulGridOp::getBuffers() { return {getLhs(), getRhs()}; }
SmallVector<Value> MatmulGridOp::getTable() {
  return llvm::to_vector(getOperands().drop_front(2));
}
void MatmulGridOp::getEffects(Effects &effects) {
  addEffects(*this, 2 + getInputs().size(), effects);
}

Descriptor MatmulGridOp::getDescriptor(int64_t index) {
  using Desc = ingot_matmul_grid_desc;
  Desc desc = {};
  desc.kernel = describeGrid(getKernel(), getTable().size());
  desc.kernel.index = index;
  desc.matmul = getDesc().getDescriptor().get<ingot_matmul_desc>();
  desc.matmul.index = index;
  desc.tile_m = static_cast<int32_t>(getTile().getM());
  desc.tile_n = static_cast<int32_t>(getTile().getN());
  desc.tile_k = static_cast<int32_t>(getTile().getK());
  desc.dynamic_bytes = static_cast<int32_t>(getDynamicBytes());
  Descriptor descriptor(desc);
  descriptor.setName(offsetof(Desc, kernel) + offsetof(ingot_grid_kernel, name),
                     getKernel().getKernel().getLeafReference());
  return descriptor;
}
