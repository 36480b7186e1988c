// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// exec.call: a call of an entry point, verified against the ABI's table.
//===----------------------------------------------------------------------===//

#include "dialects/exec/CallSupport.h"
#include "dialects/exec/Fields.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::exec;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Returns the entry point of a symbol; an error if the ABI has none.
static const abi::Entry *findEntry(OpAsmParser &parser,
                                   FlatSymbolRefAttr symbol) {
  const abi::Entry *entry = abi::findEntry(symbol.getValue());
  if (!entry)
    parser.emitError(parser.getNameLoc(), "the ABI has no entry ") << symbol;
  return entry;
}

static ParseResult
parseNamedBuffers(OpAsmParser &parser, FlatSymbolRefAttr symbol,
                  SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
                  DenseI32ArrayAttr &places) {
  const abi::Entry *entry = findEntry(parser, symbol);
  if (!entry)
    return failure();
  SmallVector<int32_t> numbers;
  StringRef name;
  auto parseBuffer = [&](SMLoc loc) -> ParseResult {
    if (parser.parseEqual() || parser.parseOperand(operands.emplace_back()))
      return failure();
    for (auto [i, buffer] : llvm::enumerate(entry->buffers))
      if (StringRef(buffer.name) == name) {
        numbers.push_back(static_cast<int32_t>(i));
        return success();
      }
    return parser.emitError(loc) << symbol << " has no buffer '" << name << "'";
  };
  // There may be none.
  SMLoc loc = parser.getCurrentLocation();
  bool isThere = succeeded(parser.parseOptionalKeyword(&name));
  while (isThere) {
    if (parseBuffer(loc))
      return failure();
    isThere = succeeded(parser.parseOptionalComma());
    loc = parser.getCurrentLocation();
    if (isThere && parser.parseKeyword(&name))
      return failure();
  }
  places = parser.getBuilder().getDenseI32ArrayAttr(numbers);
  return success();
}

static void printNamedBuffers(OpAsmPrinter &printer, CallOp op,
                              FlatSymbolRefAttr, OperandRange operands,
                              DenseI32ArrayAttr places) {
  const abi::Entry &entry = op.getAbiEntry();
  llvm::interleaveComma(
      llvm::zip_equal(operands, places.asArrayRef()), printer, [&](auto pair) {
        auto [operand, place] = pair;
        printer << StringRef(entry.buffers[place].name) << " = " << operand;
      });
}

static ParseResult parseCallFields(OpAsmParser &parser,
                                   FlatSymbolRefAttr symbol, DescAttr &desc) {
  const abi::Entry *entry = findEntry(parser, symbol);
  if (!entry)
    return failure();
  FailureOr<CallDescriptor> fields =
      exec::parseFields(parser, *entry->descriptor);
  if (failed(fields))
    return failure();
  desc = DescAttr::get(parser.getContext(), *fields);
  return success();
}

static void printCallFields(OpAsmPrinter &printer, CallOp, FlatSymbolRefAttr,
                            DescAttr desc) {
  exec::printFields(printer, desc.getDescriptor());
}

static ParseResult parseMatmulFields(OpAsmParser &parser, DescAttr &desc) {
  FailureOr<CallDescriptor> fields =
      exec::parseFields(parser, abi::structOf<ingot_matmul_desc>);
  if (failed(fields))
    return failure();
  desc = DescAttr::get(parser.getContext(), *fields);
  return success();
}

static void printMatmulFields(OpAsmPrinter &printer, Operation *,
                              DescAttr desc) {
  exec::printFields(printer, desc.getDescriptor());
}

#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Returns the element type in the spelling of the ABI's table.
static std::string nameOf(Type element) {
  if (element.isBF16())
    return "bf16";
  if (isa<Float8E4M3FNType>(element))
    return "f8e4m3";
  if (isa<Float8E5M2Type>(element))
    return "f8e5m2";
  unsigned bits = element.getIntOrFloatBitWidth();
  return (isa<FloatType>(element)       ? "f"
          : element.isUnsignedInteger() ? "u"
                                        : "i") +
         std::to_string(bits);
}

static int64_t valueOf(const CallDescriptor &descriptor,
                       abi::FieldPlace place) {
  return descriptor.getInteger(place.offset, place.field->bytes);
}

/// Returns the product of a field's elements, without the zeros that an array
/// ends with.
static int64_t productOf(const CallDescriptor &descriptor,
                         abi::FieldPlace place) {
  if (place.field->count == 0)
    return valueOf(descriptor, place);
  int64_t product = 1, factors = 1;
  for (uint32_t i = place.field->count; i-- > 0;) {
    int64_t size = descriptor.getInteger(place.offset + i * place.field->bytes,
                                         place.field->bytes);
    if (size == 0 && factors == 1)
      continue;
    ++factors;
    product *= size;
  }
  return product;
}

static std::string spell(abi::FieldPlace place,
                         const CallDescriptor &descriptor) {
  int64_t value = valueOf(descriptor, place);
  for (const abi::Case &each : place.field->values->cases)
    if (each.value == value)
      return std::string(each.name);
  return std::to_string(value);
}

static LogicalResult verifyBuffer(Operation *call, const abi::Buffer &buffer,
                                  const CallDescriptor &descriptor,
                                  MemRefType type) {
  auto fail = [&] {
    return call->emitOpError("buffer '") << StringRef(buffer.name) << "' ";
  };
  if (buffer.isScratch) {
    if (type.getRank() != 1 || !type.getElementType().isInteger(8))
      return fail() << "must be bytes, got " << type;
    return success();
  }
  std::string element = nameOf(type.getElementType());
  std::string expected = buffer.typeField.field
                             ? spell(buffer.typeField, descriptor)
                             : std::string(buffer.type);
  // Bytes are those of elements of any type.
  bool isBytes = buffer.typeField.field && expected == "u8";
  if (!isBytes && !expected.empty() && element != expected)
    return fail() << "must have elements of " << expected << ", got " << type;
  if (buffer.bytes.field && byteSize(type) != valueOf(descriptor, buffer.bytes))
    return fail() << "must have " << valueOf(descriptor, buffer.bytes)
                  << " bytes, got " << type;
  if (buffer.shape.empty())
    return success();
  int64_t elements = 1;
  for (const abi::Factor &factor : buffer.shape) {
    elements *= productOf(descriptor, factor.field);
    if (factor.divisor.field)
      elements /= std::max<int64_t>(valueOf(descriptor, factor.divisor), 1);
  }
  // Dimensions of size 0 cannot be distinguished from absent ones.
  int64_t given = isBytes ? byteSize(type) : type.getNumElements();
  if (given != 0 && given != elements)
    return fail() << "must have " << elements << " elements, got " << type;
  return success();
}

LogicalResult exec::verifyBuffers(Operation *call, const abi::Entry &entry,
                                  const CallDescriptor &descriptor,
                                  ArrayRef<Value> values) {
  for (auto [buffer, value] : llvm::zip_equal(entry.buffers, values)) {
    if (!value) {
      if (!buffer.isOptional)
        return call->emitOpError("needs the buffer '")
               << StringRef(buffer.name) << "'";
      continue;
    }
    if (failed(verifyBuffer(call, buffer, descriptor,
                            cast<MemRefType>(value.getType()))))
      return failure();
  }
  return success();
}

LogicalResult CallOp::verify() {
  const abi::Entry *entry = abi::findEntry(getEntry());
  if (!entry)
    return emitOpError("the ABI has no entry ") << getEntryAttr();
  if (entry->hasTable)
    return emitOpError("has no descriptor for ")
           << getEntryAttr() << ", which an operation of its own calls";
  if (getDesc().getType() != entry->descriptor)
    return emitOpError("must have a descriptor of type ")
           << StringRef(entry->descriptor->name);
  ArrayRef<int32_t> places = getPlaces();
  int32_t next = 0;
  for (int32_t place : places) {
    if (place < next || place >= static_cast<int32_t>(entry->buffers.size()))
      return emitOpError("must name each buffer once, in the entry's order");
    next = place + 1;
  }
  if (places.size() != getArgs().size())
    return emitOpError("names ")
           << places.size() << " buffers, passes " << getArgs().size();
  return verifyBuffers(*this, *entry, getDesc().getDescriptor(), getBuffers());
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

void CallOp::build(OpBuilder &builder, OperationState &state, StringRef entry,
                   ArrayRef<Value> buffers, const CallDescriptor &descriptor,
                   int64_t flops, IntegerAttr bytes) {
  SmallVector<Value> operands;
  SmallVector<int32_t> places;
  for (auto [i, buffer] : llvm::enumerate(buffers))
    if (buffer) {
      operands.push_back(buffer);
      places.push_back(static_cast<int32_t>(i));
    }
  build(builder, state, FlatSymbolRefAttr::get(builder.getContext(), entry),
        operands, builder.getDenseI32ArrayAttr(places),
        DescAttr::get(builder.getContext(), descriptor),
        builder.getI64IntegerAttr(flops), bytes, /*scratch=*/ScratchAttr());
}

const abi::Entry &CallOp::getAbiEntry() { return *abi::findEntry(getEntry()); }

SmallVector<Value> CallOp::getBuffers() {
  SmallVector<Value> buffers(getAbiEntry().buffers.size());
  for (auto [operand, place] : llvm::zip_equal(getArgs(), getPlaces()))
    buffers[place] = operand;
  return buffers;
}

int64_t CallOp::getCallFlops() { return static_cast<int64_t>(getFlops()); }

int64_t CallOp::getCallBytes() {
  if (getBytes())
    return static_cast<int64_t>(*getBytes());
  const abi::Entry &entry = getAbiEntry();
  int64_t bytes = 0;
  for (auto [operand, place] : llvm::zip_equal(getArgs(), getPlaces()))
    if (!entry.buffers[place].isScratch)
      bytes += bufferBytes(operand);
  return bytes;
}

Descriptor CallOp::getDescriptor(int64_t index) {
  Descriptor descriptor = getDesc().getDescriptor();
  for (const abi::Field &field : descriptor.getType().fields) {
    if (field.source == abi::Source::Index)
      descriptor.setInteger(field.offset, field.bytes, index);
    if (field.source == abi::Source::Scratch)
      for (auto [buffer, value] :
           llvm::zip_equal(getAbiEntry().buffers, getBuffers()))
        if (buffer.isScratch && value)
          descriptor.setInteger(field.offset, field.bytes, bufferBytes(value));
  }
  return descriptor;
}

bool CallOp::writesWhole(Value buffer) {
  const abi::Entry &entry = getAbiEntry();
  for (auto [operand, place] : llvm::zip_equal(getArgs(), getPlaces()))
    if (operand == buffer && entry.buffers[place].isShard)
      return false;
  return true;
}

void CallOp::getEffects(Effects &effects) {
  const abi::Entry &entry = getAbiEntry();
  for (auto [operand, place] : llvm::zip_equal(getArgsMutable(), getPlaces())) {
    const abi::Buffer &buffer = entry.buffers[place];
    if (buffer.isRead)
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (buffer.isWritten)
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}
