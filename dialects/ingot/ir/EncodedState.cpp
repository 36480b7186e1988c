// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/ir/EncodedState.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;

std::optional<quantization::Encoding>
ingot::parseEncoding(StringRef kind, int64_t block, bool hasNested) {
  static_assert(INGOT_CODE_NF4 == 0 && INGOT_CODE_FP4 == 1 &&
                INGOT_CODE_INT4 == 2 && INGOT_CODE_INT8 == 3);
  if (llvm::is_contained(kDynamicKinds, kind)) {
    auto dynamic =
        quantization::Encoding::ofDynamic(kind == kDynamicKinds[0], block);
    if (hasNested || !dynamic.isValid())
      return std::nullopt;
    return dynamic;
  }
  const auto *known = llvm::find(kEncodingKinds, kind);
  auto encoding = quantization::Encoding::of(
      static_cast<ingot_encoding>(known - std::begin(kEncodingKinds)), block,
      hasNested);
  if (known == std::end(kEncodingKinds) || !encoding.isValid())
    return std::nullopt;
  return encoding;
}

StringRef ingot::getKindName(const quantization::Encoding &encoding) {
  using Dynamic = quantization::Encoding::Dynamic;
  if (encoding.isDynamic())
    return kDynamicKinds[encoding.dynamic == Dynamic::Signed ? 0 : 1];
  return kEncodingKinds[encoding.kind];
}

int64_t ingot::getStateBlock(StateOp state) {
  auto block = state->getAttrOfType<IntegerAttr>(kBlockAttr);
  return block ? block.getInt() : 1;
}

DictionaryAttr ingot::getEncoding(StateOp state) {
  return state->getAttrOfType<DictionaryAttr>(kEncodingAttr);
}

SmallVector<FlatSymbolRefAttr> ingot::getParts(StateOp state) {
  SmallVector<FlatSymbolRefAttr> parts;
  if (DictionaryAttr encoding = getEncoding(state))
    for (auto part :
         encoding.getAs<ArrayAttr>("parts").getAsRange<FlatSymbolRefAttr>())
      parts.push_back(part);
  return parts;
}

bool ingot::hasTransposedParts(StateOp state) {
  DictionaryAttr encoding = getEncoding(state);
  return encoding && encoding.contains("transposed");
}

std::string ingot::getPartName(StringRef state, size_t part) {
  constexpr StringRef suffixes[] = {"/codes", ".absmax", ".nested_absmax"};
  return (state + suffixes[part]).str();
}

void ingot::setEncoding(StateOp state, const quantization::Encoding &encoding,
                        ArrayRef<Attribute> parts, bool transposed) {
  Builder b(state.getContext());
  SmallVector<NamedAttribute> fields = {
      b.getNamedAttr("kind", b.getStringAttr(getKindName(encoding))),
      b.getNamedAttr("block", b.getI64IntegerAttr(encoding.block)),
      b.getNamedAttr("parts", b.getArrayAttr(parts))};
  if (transposed)
    fields.push_back(b.getNamedAttr("transposed", b.getUnitAttr()));
  // What others have the value of has none of its own.
  state.setInitialAttr(cast<ElementsAttr>(DenseElementsAttr::get(
      state.getTensorType(),
      b.getZeroAttr(state.getTensorType().getElementType()))));
  state->setAttr(kEncodingAttr, b.getDictionaryAttr(fields));
}
