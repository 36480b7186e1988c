#include "dialects/exec/Exec.h"

#include "dialects/exec/CallSupport.h"
#include "dialects/ingot/builders/Builders.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "runtime/abi/Abi.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::exec;

#include "dialects/exec/Exec.cpp.inc"
#include "dialects/exec/ExecEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttributes.cpp.inc"
#include "dialects/exec/ExecInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/exec/ExecAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/ExecOps.cpp.inc"
      >();
}

int64_t exec::bufferBytes(ValueRange buffers) {
  int64_t bytes = 0;
  for (Type type : buffers.getTypes())
    bytes += byteSize(cast<ShapedType>(type));
  return bytes;
}

void exec::addEffects(Operation *op, unsigned reads, Effects &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (operand.getOperandNumber() < reads)
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

int32_t exec::dtypeOf(Value buffer) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  if (element.isF64())
    return INGOT_F64;
  if (element.isBF16())
    return INGOT_BF16;
  if (element.isF16())
    return INGOT_F16;
  return INGOT_F32;
}

/// `shard_first` and `shard_of` of a descriptor; zeros without a shard.
static std::array<Field, 2>
shardFields(std::optional<ArrayRef<int64_t>> shard) {
  return {{{8, shard ? (*shard)[0] : 0}, {8, shard ? (*shard)[1] : 0}}};
}

LogicalResult BufferOp::verify() {
  auto offset = static_cast<int64_t>(getOffset());
  // An address, or a tensor.
  int64_t alignment =
      getSpace() == Space::Shard ? sizeof(void *) : INGOT_ALIGNMENT;
  if (offset < 0 || offset % alignment != 0)
    return emitOpError("offset must be a multiple of ")
           << alignment << ", got " << offset;
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.empty() || body.back().getName().getStringRef() != "ingot.yield")
    return emitOpError("must end with ingot.yield");
  if (getAliases().size() != body.getNumArguments())
    return emitOpError("names aliases of ")
           << getAliases().size() << " inputs, the body has "
           << body.getNumArguments();
  int64_t results = body.back().getNumOperands();
  for (auto [argument, alias] :
       llvm::zip_equal(body.getArguments(), getAliases())) {
    if (alias < -1 || alias >= results)
      return emitOpError("input ")
             << argument.getArgNumber() << " shares memory with result "
             << alias << " of " << results;
    if (alias < 0)
      continue;
    auto type = cast<ShapedType>(argument.getType());
    auto result = cast<ShapedType>(body.back().getOperand(alias).getType());
    if (type.getElementType() != result.getElementType() ||
        type.getNumElements() != result.getNumElements())
      return emitOpError("input ")
             << argument.getArgNumber() << " shares memory with result "
             << alias << " of another type";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// launch
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  if (getOutputs().empty())
    return emitOpError("writes nothing");
  if (getShard() && getShard()->size() != 2)
    return emitOpError("names no place in a bucket");
  return success();
}

/// A kernel of a call has so many buffers.
template <typename Op>
static LogicalResult verifyKernel(Op call, SymbolTableCollection &symbols,
                                  FlatSymbolRefAttr name, size_t inputs,
                                  size_t outputs) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(call, name);
  // After code generation the kernel is a function.
  if (!kernel)
    return symbols.lookupNearestSymbolFrom(call, name)
               ? success()
               : call.emitOpError("no kernel named ") << name;
  Block &body = kernel.getBody().front();
  if (body.getNumArguments() != inputs ||
      body.getTerminator()->getNumOperands() != outputs)
    return call.emitOpError("passes ")
           << inputs << " inputs and " << outputs << " outputs, kernel takes "
           << body.getNumArguments() << " and "
           << body.getTerminator()->getNumOperands();
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyKernel(*this, symbols, getKernelAttr(), getInputs().size(),
                      getOutputs().size());
}

StringRef LaunchOp::getEntryPoint() { return "ingot_launch"; }
SmallVector<Value> LaunchOp::getBuffers() { return {}; }
SmallVector<Value> LaunchOp::getTable() {
  return llvm::to_vector(getOperands());
}
StringRef LaunchOp::getCallKind() { return "loop"; }
int64_t LaunchOp::getCallFlops() { return getFlops(); }
int64_t LaunchOp::getCallBytes() {
  return getBytes().value_or(bufferBytes(getOperands()));
}

SmallVector<Field> LaunchOp::getDescriptor(int64_t index) {
  auto [first, of] = shardFields(getShard());
  return {Field::codeOf(getKernelAttr().getAttr(), /*indices=*/2),
          {8, static_cast<int64_t>(getExtent())},
          {8, static_cast<int64_t>(getGrain())},
          first,
          of,
          {8, index}};
}

void LaunchOp::getEffects(Effects &effects) {
  addEffects(*this, getInputs().size(), effects);
}

//===----------------------------------------------------------------------===//
// launch_grid
//===----------------------------------------------------------------------===//

/// The fields of ingot_grid_kernel; `launch` is null for no kernel.
static SmallVector<Field>
gridDescriptor(GridAttr launch, size_t buffers, int64_t index,
               bool anyGrid = false, uint64_t extent = 0,
               std::optional<ArrayRef<int64_t>> shard = std::nullopt) {
  auto [first, of] = shardFields(shard);
  StringAttr kernel =
      launch ? launch.getKernel().getLeafReference() : StringAttr();
  return {Field::nameOf(kernel),
          Field::codeOf(kernel, /*indices=*/2),
          {4, launch ? launch.getGrid() : 0},
          {4, launch ? launch.getBlock() : 0},
          {4, static_cast<int64_t>(buffers)},
          {4, launch ? launch.getShared() : 0},
          {4, anyGrid},
          {4, 0},
          {8, static_cast<int64_t>(extent)},
          first,
          of,
          {8, index}};
}

/// A kernel of a device takes so many buffers, and others.
static LogicalResult verifyGridKernel(Operation *call,
                                      SymbolTableCollection &symbols,
                                      SymbolRefAttr name, size_t buffers,
                                      size_t others = 0) {
  // After code generation kernels are bytes.
  auto kernel =
      symbols.lookupNearestSymbolFrom<FunctionOpInterface>(call, name);
  if (kernel && kernel.getNumArguments() != buffers + others)
    return call->emitOpError("passes ")
           << buffers << " buffers, kernel takes " << kernel.getNumArguments();
  return success();
}

static LogicalResult verifyGrid(Operation *call, int64_t grid, int64_t block) {
  constexpr int64_t maxGrid = (int64_t(1) << 31) - 1, maxBlock = 1024;
  if (grid < 1 || grid > maxGrid || block < 1 || block > maxBlock)
    return call->emitOpError("launches ")
           << grid << " blocks of " << block << " threads";
  return success();
}

LogicalResult LaunchGridOp::verify() {
  if (failed(verifyGrid(*this, static_cast<int64_t>(getGrid()),
                        static_cast<int64_t>(getBlock()))))
    return failure();
  if (getShard() && (getShard()->size() != 2 || getExtent() == 0))
    return emitOpError("names no place in a bucket, or no extent");
  return success();
}

LogicalResult LaunchGridOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGridKernel(*this, symbols, getKernelAttr(), getNumOperands(),
                          /*others=*/getExtent() != 0 ? 2 : 0);
}

StringRef LaunchGridOp::getEntryPoint() { return "ingot_launch_grid"; }
SmallVector<Value> LaunchGridOp::getBuffers() { return {}; }
SmallVector<Value> LaunchGridOp::getTable() {
  return llvm::to_vector(getOperands());
}
StringRef LaunchGridOp::getCallKind() { return "loop"; }
int64_t LaunchGridOp::getCallFlops() { return getFlops(); }
int64_t LaunchGridOp::getCallBytes() {
  return getBytes().value_or(bufferBytes(getOperands()));
}

SmallVector<Field> LaunchGridOp::getDescriptor(int64_t index) {
  auto launch = GridAttr::get(
      getContext(), getKernelAttr(), static_cast<int64_t>(getGrid()),
      static_cast<int64_t>(getBlock()), static_cast<int64_t>(getShared()));
  return gridDescriptor(launch, getNumOperands(), index, getAnyGrid(),
                        getExtent(), getShard());
}

void LaunchGridOp::getEffects(Effects &effects) {
  addEffects(*this, getInputs().size(), effects);
}

//===----------------------------------------------------------------------===//
// matmul
//===----------------------------------------------------------------------===//

namespace {
struct Product {
  int64_t batch = 1, m, n, k;
};

template <typename Op> Product productOf(Op op) {
  ArrayRef<int64_t> lhs = cast<MemRefType>(op.getLhs().getType()).getShape();
  ArrayRef<int64_t> rhs = cast<MemRefType>(op.getRhs().getType()).getShape();
  size_t rows = lhs.size() - 2, inner = lhs.size() - 1;
  Product product;
  for (int64_t size : lhs.drop_back(2))
    product.batch *= size;
  product.m = lhs[op.getTransposeLhs() ? inner : rows];
  product.k = lhs[op.getTransposeLhs() ? rows : inner];
  product.n = rhs[op.getTransposeRhs() ? rows : inner];
  return product;
}

/// The fields of ingot_matmul_desc.
template <typename Op>
SmallVector<Field> matmulDescriptor(Op op, Value result, int64_t index) {
  Product p = productOf(op);
  return {{8, p.batch},
          {8, p.m},
          {8, p.n},
          {8, p.k},
          {4, op.getTransposeLhs()},
          {4, op.getTransposeRhs()},
          {4, dtypeOf(op.getLhs())},
          {4, dtypeOf(op.getRhs())},
          {4, dtypeOf(result)},
          {4, op.getOnTiles()},
          scratchBytes(op),
          {8, index}};
}
} // namespace

LogicalResult exec::MatmulOp::verify() {
  if (cast<MemRefType>(getResult().getType()).getRank() < 2)
    return emitOpError("result must have rank 2 or more");
  return success();
}

StringRef exec::MatmulOp::getEntryPoint() { return "ingot_matmul"; }
StringRef exec::MatmulOp::getCallKind() { return "matmul"; }
int64_t exec::MatmulOp::getCallBytes() {
  return bufferBytes({getLhs(), getRhs(), getResult()});
}
SmallVector<Value> exec::MatmulOp::getBuffers() {
  return libraryBuffers(*this);
}
int64_t exec::MatmulOp::getCallFlops() {
  Product p = productOf(*this);
  return 2 * p.batch * p.m * p.n * p.k;
}

SmallVector<Field> exec::MatmulOp::getDescriptor(int64_t index) {
  return matmulDescriptor(*this, getResult(), index);
}

void exec::MatmulOp::getEffects(Effects &effects) {
  addEffects(*this, 2, effects);
}

/// Numbers that `library` has, from the activation to the result, and all.
static constexpr size_t kElementFields = 5, kLibraryFields = 7;

/// The product, inputs, outputs, then what kernels of the extra output take.
template <typename Op> static SmallVector<Value> epilogueTable(Op op) {
  SmallVector<Value> table = {op.getProductBuffer()};
  llvm::append_range(table, op->getOperands().drop_front(2));
  if (op.getScratch())
    table.pop_back();
  return table;
}

/// Of a call that leaves its product in one of its outputs.
template <typename Op> static LogicalResult verifyProduct(Op op) {
  if (cast<MemRefType>(op.getLhs().getType()).getRank() < 2 ||
      cast<MemRefType>(op.getRhs().getType()).getRank() < 2)
    return op.emitOpError("operands must have rank 2 or more");
  if (op.getProduct() >= op.getOutputs().size())
    return op.emitOpError("leaves the product in output ")
           << op.getProduct() << " of " << op.getOutputs().size();
  Product p = productOf(op);
  auto type = cast<MemRefType>(op.getProductBuffer().getType());
  if (type.getNumElements() != p.batch * p.m * p.n)
    return op.emitOpError("leaves a product of ")
           << p.batch * p.m * p.n << " elements in " << type;
  if (!op.getKernel() &&
      (!op.getInputs().empty() || op.getOutputs().size() > 1))
    return op.emitOpError("passes buffers to no kernel");
  if ((op.getExtra() != std::nullopt) != (op.getExtraOutput() != nullptr))
    return op.emitOpError("has an extra kernel or an extra output alone");
  std::optional<ArrayRef<int64_t>> library = op.getLibrary();
  auto buffers = static_cast<int64_t>(epilogueTable(op).size());
  auto isBuffer = [&](int64_t number) {
    return number >= -1 && number < buffers;
  };
  bool isKnown =
      !library ||
      (library->size() == kLibraryFields &&
       library->front() >= INGOT_IDENTITY &&
       library->front() <= INGOT_RELU_GRAD &&
       (*library)[kElementFields - 1] > 0 &&
       llvm::all_of(library->slice(1, kElementFields - 1), isBuffer) &&
       (*library)[kElementFields] >= -1 &&
       (*library)[kElementFields] <= INGOT_SUM_OF_RESULT &&
       isBuffer(library->back()));
  if (!isKnown)
    return op.emitOpError("names no epilogue of ") << buffers << " buffers";
  return success();
}

/// Bytes of a product that the kernel finds where it was computed, as a library
/// that needs no extra kernel has it.
template <typename Op> static int64_t countEpilogueBytes(Op op) {
  int64_t bytes = bufferBytes({op.getLhs(), op.getRhs()}) +
                  bufferBytes(op.getInputs()) + bufferBytes(op.getOutputs());
  return op.getExtraOutput() ? bytes + bufferBytes(op.getExtraOutput()) : bytes;
}

/// Extra inputs are operands of the call, and outputs once more.
template <typename Op> static void addEpilogueEffects(Op op, Effects &effects) {
  unsigned reads = 2 + op.getInputs().size();
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

#define INGOT_PRODUCT_WITH_EPILOGUE(OP, ENTRY)                                 \
  LogicalResult OP::verify() { return verifyProduct(*this); }                  \
  StringRef OP::getEntryPoint() { return ENTRY; }                              \
  StringRef OP::getCallKind() { return "matmul"; }                             \
  int64_t OP::getCallFlops() { return getFlops(); }                            \
  int64_t OP::getCallBytes() { return countEpilogueBytes(*this); }             \
  SmallVector<Value> OP::getBuffers() {                                        \
    return {getLhs(), getRhs(), getProductBuffer(), getScratch()};             \
  }                                                                            \
  SmallVector<Value> OP::getTable() { return epilogueTable(*this); }           \
  void OP::getEffects(Effects &effects) { addEpilogueEffects(*this, effects); }

INGOT_PRODUCT_WITH_EPILOGUE(exec::MatmulEpilogueOp, "ingot_matmul_epilogue")
INGOT_PRODUCT_WITH_EPILOGUE(exec::MatmulEpilogueGridOp,
                            "ingot_matmul_epilogue_grid")
#undef INGOT_PRODUCT_WITH_EPILOGUE

LogicalResult
exec::MatmulEpilogueOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getKernelAttr() &&
      failed(verifyKernel(*this, symbols, getKernelAttr(),
                          1 + getInputs().size(), getOutputs().size())))
    return failure();
  return getExtraAttr() ? verifyKernel(*this, symbols, getExtraAttr(),
                                       getExtraInputs().size(), 1)
                        : success();
}

/// Buffers that the launch number `i` of the extra output's takes: all of them,
/// or, in two launches, those up to the partial sums and from these on.
static size_t countExtraBuffers(MatmulEpilogueGridOp op, size_t i) {
  size_t partials = op.getPartials().size();
  return (i == 0 ? op.getExtraInputs().size() : 1) +
         (partials == 0 ? 1 : partials);
}

LogicalResult
exec::MatmulEpilogueGridOp::verifySymbolUses(SymbolTableCollection &symbols) {
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

SmallVector<Field> exec::MatmulEpilogueOp::getDescriptor(int64_t index) {
  SmallVector<Field> fields = {
      Field::codeOf(getKernelAttr() ? getKernelAttr().getAttr() : StringAttr(),
                    /*indices=*/4)};
  llvm::append_range(fields,
                     matmulDescriptor(*this, getProductBuffer(), index));
  return fields;
}

SmallVector<Field> exec::MatmulEpilogueGridOp::getDescriptor(int64_t index) {
  SmallVector<Field> fields = gridDescriptor(
      getKernelAttr(), 1 + getInputs().size() + getOutputs().size(), index);
  auto extra = getExtra().value_or(ArrayAttr());
  for (size_t i = 0; i < INGOT_EXTRA_KERNELS; ++i)
    llvm::append_range(fields,
                       gridDescriptor(extra && i < extra.size()
                                          ? cast<GridAttr>(extra[i])
                                          : GridAttr(),
                                      countExtraBuffers(*this, i), index));
  llvm::append_range(fields,
                     matmulDescriptor(*this, getProductBuffer(), index));
  static constexpr std::array<int64_t, kLibraryFields> none = {-1, -1, -1, -1,
                                                               -1, -1, -1};
  for (int64_t number : getLibrary().value_or(none))
    fields.push_back({4, number});
  fields.push_back({4, 0});
  return fields;
}

//===----------------------------------------------------------------------===//
// copy
//===----------------------------------------------------------------------===//

LogicalResult CopyOp::verify() {
  int64_t from = byteSize(cast<MemRefType>(getFrom().getType()));
  int64_t to = byteSize(cast<MemRefType>(getTo().getType()));
  if (from != to)
    return emitOpError("copies ") << from << " bytes into " << to;
  if (getShard() && getShard()->size() != 2)
    return emitOpError("names no place in a bucket");
  return success();
}

StringRef CopyOp::getEntryPoint() { return "ingot_copy"; }
StringRef CopyOp::getCallKind() { return "copy"; }
int64_t CopyOp::getCallFlops() { return 0; }
int64_t CopyOp::getCallBytes() { return bufferBytes(getOperands()); }

SmallVector<Field> CopyOp::getDescriptor(int64_t index) {
  auto type = cast<MemRefType>(getFrom().getType());
  auto [first, of] = shardFields(getShard());
  return {{8, byteSize(type)},
          {8, llvm::divideCeil(type.getElementTypeBitWidth(), 8)},
          first,
          of,
          {8, index}};
}

void CopyOp::getEffects(Effects &effects) { addEffects(*this, 1, effects); }
