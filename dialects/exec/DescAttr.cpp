// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Descriptors as attributes, field by field.
//===----------------------------------------------------------------------===//

#include "dialects/exec/CallSupport.h"
#include "dialects/exec/Fields.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::exec;

static uint32_t countElements(const abi::Field &field) {
  return std::max(field.count, 1u);
}

/// Returns whether the attribute contains the field: fields that are set
/// elsewhere are omitted.
static bool isGiven(const abi::Field &field) {
  return field.source == abi::Source::Given &&
         (field.encoding == abi::Encoding::Integer ||
          field.encoding == abi::Encoding::Float);
}

DescAttr DescAttr::get(MLIRContext *context, const CallDescriptor &desc) {
  ArrayRef<char> bytes = desc.getBytes();
  return get(context, &desc.getType(), StringRef(bytes.data(), bytes.size()));
}

DescAttr DescAttr::with(StringRef name, int64_t value) const {
  CallDescriptor desc = getDescriptor();
  desc.setInteger(name, value);
  return get(getContext(), desc);
}

LogicalResult DescAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               const abi::Struct *type, StringRef bytes) {
  if (bytes.size() != type->bytes)
    return emitError() << "must have " << type->bytes << " bytes";
  for (const abi::Field &field : type->fields) {
    bool isZero = llvm::all_of(
        bytes.substr(field.offset, field.bytes * countElements(field)),
        [](char byte) { return byte == 0; });
    if (!isGiven(field) && !isZero)
      return emitError() << "sets '" << StringRef(field.name)
                         << "', which is not the call's to say";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printValue(AsmPrinter &printer, const abi::Field &field,
                       int64_t value) {
  if (field.encoding == abi::Encoding::Float) {
    printer.printFloat(APFloat(llvm::bit_cast<double>(value)));
    return;
  }
  if (field.values)
    for (const abi::Case &each : field.values->cases)
      if (each.value == value) {
        printer << StringRef(each.name);
        return;
      }
  printer << value;
}

void exec::printFields(AsmPrinter &printer, const CallDescriptor &desc) {
  printer << "<";
  bool isFirst = true;
  for (const abi::Field &field : desc.getType().fields) {
    if (!isGiven(field))
      continue;
    SmallVector<int64_t> values;
    for (uint32_t i = 0; i < countElements(field); ++i)
      values.push_back(
          desc.getInteger(field.offset + i * field.bytes, field.bytes));
    while (!values.empty() && values.back() == 0)
      values.pop_back();
    if (values.empty())
      continue;
    printer << (isFirst ? "" : ", ") << StringRef(field.name) << " = ";
    isFirst = false;
    if (field.count == 0) {
      printValue(printer, field, values.front());
      continue;
    }
    printer << "[";
    llvm::interleaveComma(values, printer.getStream(), [&](int64_t value) {
      printValue(printer, field, value);
    });
    printer << "]";
  }
  printer << ">";
}

/// Parses a number, or the name of an enum case.
static ParseResult parseValue(AsmParser &parser, const abi::Field &field,
                              int64_t &value) {
  SMLoc loc = parser.getCurrentLocation();
  if (field.encoding == abi::Encoding::Float) {
    APFloat number(0.0);
    if (parser.parseFloat(APFloat::IEEEdouble(), number))
      return failure();
    value = llvm::bit_cast<int64_t>(number.convertToDouble());
    return success();
  }
  StringRef name;
  if (field.values && succeeded(parser.parseOptionalKeyword(&name))) {
    for (const abi::Case &each : field.values->cases)
      if (StringRef(each.name) == name) {
        value = each.value;
        return success();
      }
    return parser.emitError(loc, "'")
           << name << "' is no " << StringRef(field.values->name);
  }
  if (parser.parseInteger(value))
    return failure();
  if (field.bytes == sizeof(int32_t) && !llvm::isInt<32>(value))
    return parser.emitError(loc, "'")
           << StringRef(field.name) << "' has 32 bits";
  return success();
}

static ParseResult parseField(AsmParser &parser, CallDescriptor &desc) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name) || parser.parseEqual())
    return failure();
  const abi::Field *field = desc.getType().find(name);
  if (!field || !isGiven(*field))
    return parser.emitError(loc) << StringRef(desc.getType().name)
                                 << " has no field '" << name << "' to set";
  uint32_t count = 0;
  auto parseElement = [&]() -> ParseResult {
    SMLoc at = parser.getCurrentLocation();
    int64_t value = 0;
    if (parseValue(parser, *field, value))
      return failure();
    if (count == countElements(*field))
      return parser.emitError(at, "'")
             << name << "' has " << count << " elements at most";
    desc.setInteger(field->offset + count++ * field->bytes, field->bytes,
                    value);
    return success();
  };
  if (field->count == 0)
    return parseElement();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        parseElement);
}

FailureOr<CallDescriptor> exec::parseFields(AsmParser &parser,
                                            const abi::Struct &type) {
  CallDescriptor desc(type, SmallVector<char>(type.bytes, 0));
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     [&] { return parseField(parser, desc); }))
    return failure();
  return desc;
}

/// Parses `#exec.desc<ingot_matmul_desc <batch = 1, ...>>`.
Attribute DescAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseLess() || parser.parseKeyword(&name))
    return {};
  const abi::Struct *type = abi::findStruct(name);
  if (!type) {
    parser.emitError(loc, "the ABI has no struct '") << name << "'";
    return {};
  }
  FailureOr<CallDescriptor> desc = parseFields(parser, *type);
  if (failed(desc) || parser.parseGreater())
    return {};
  return get(parser.getContext(), *desc);
}

void DescAttr::print(AsmPrinter &printer) const {
  printer << "<" << StringRef(getType()->name) << " ";
  printFields(printer, getDescriptor());
  printer << ">";
}
