// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/support/ElementTypes.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace ingot;
using runtime::DType;

DType ingot::getDType(Type element) {
  if (isa<Float8E4M3FNType, Float8E5M2Type>(element))
    return DType::U8;
  if (element.isBF16())
    return DType::BF16;
  if (element.isInteger(1))
    return DType::Bool;
  StringRef kind = isa<FloatType>(element)       ? "f"
                   : element.isUnsignedInteger() ? "u"
                                                 : "i";
  unsigned bits = element.getIntOrFloatBitWidth();
  auto known = runtime::parseName<DType>((kind + Twine(bits)).str());
  if (!known)
    llvm::report_fatal_error("a tensor of a type that no trainer has");
  return *known;
}

Type ingot::getElementType(MLIRContext *context, DType type) {
  auto integer = [&](unsigned bits, bool isUnsigned = false) -> Type {
    return IntegerType::get(context, bits,
                            isUnsigned ? IntegerType::Unsigned
                                       : IntegerType::Signless);
  };
  switch (type) {
  case DType::F64:
    return Float64Type::get(context);
  case DType::F32:
    return Float32Type::get(context);
  case DType::F16:
    return Float16Type::get(context);
  case DType::BF16:
    return BFloat16Type::get(context);
  case DType::I64:
    return integer(64);
  case DType::I32:
    return integer(32);
  case DType::I16:
    return integer(16);
  case DType::I8:
    return integer(8);
  case DType::U64:
    return integer(64, /*isUnsigned=*/true);
  case DType::U32:
    return integer(32, /*isUnsigned=*/true);
  case DType::U16:
    return integer(16, /*isUnsigned=*/true);
  case DType::U8:
    return integer(8, /*isUnsigned=*/true);
  case DType::Bool:
    return integer(1);
  }
  llvm_unreachable("unknown element type");
}
