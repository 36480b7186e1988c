// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/ir/States.h"

#include "dialects/ingot/ir/EncodedState.h"
#include "dialects/ingot/ir/Signature.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include <cmath>

using namespace mlir;
using namespace ingot;

StateAdder::StateAdder(ModuleOp module) : module(module), symbols(module) {
  for (StateOp state : module.getOps<StateOp>())
    last = state;
}

FlatSymbolRefAttr StateAdder::add(StringRef name, Role role,
                                  RankedTensorType type, double value) {
  OpBuilder builder(module.getContext());
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(module.getBody());
  Type element = type.getElementType();
  Attribute number =
      isa<FloatType>(element)
          ? Attribute(builder.getFloatAttr(element, value))
          : builder.getIntegerAttr(element, static_cast<int64_t>(value));
  last =
      StateOp::create(builder, module.getLoc(), name, role, type,
                      cast<ElementsAttr>(DenseElementsAttr::get(type, number)));
  return FlatSymbolRefAttr::get(
      symbols.insert(last, std::next(Block::iterator(last))));
}

StateOp StateAdder::find(StringRef name) const {
  return symbols.lookup<StateOp>(name);
}

FlatSymbolRefAttr ingot::addState(ModuleOp module, StringRef name, Role role,
                                  RankedTensorType type, double value) {
  return StateAdder(module).add(name, role, type, value);
}

std::optional<double> ingot::splatValue(StateOp state) {
  auto value = dyn_cast<DenseElementsAttr>(state.getInitial());
  if (!value || !value.isSplat())
    return std::nullopt;
  if (isa<FloatType>(value.getElementType())) {
    APFloat element = value.getSplatValue<APFloat>();
    bool lossy;
    element.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                    &lossy);
    if (!element.isFinite())
      return std::nullopt;
    return element.convertToDouble();
  }
  APInt element = value.getSplatValue<APInt>();
  return value.getElementType().isUnsignedInteger() ||
                 element.getBitWidth() == 1
             ? static_cast<double>(element.getZExtValue())
             : static_cast<double>(element.getSExtValue());
}

/// Returns the numbers that the parts of a state stand for.
static std::vector<float> decodeState(StateOp state) {
  DictionaryAttr fields = getEncoding(state);
  SmallVector<FlatSymbolRefAttr> symbols = getParts(state);
  auto encoding = *parseEncoding(fields.getAs<StringAttr>("kind").getValue(),
                                 fields.getAs<IntegerAttr>("block").getInt(),
                                 symbols.size() > 2);
  std::string storage[3];
  const char *data[3] = {};
  for (auto [i, symbol] : llvm::enumerate(symbols))
    data[i] = stateBytes(findState(state->getParentOfType<ModuleOp>(), symbol),
                         storage[i])
                  .data();
  int64_t elements = state.getTensorType().getNumElements();
  quantization::Decoder decoder(encoding,
                                {reinterpret_cast<const uint8_t *>(data[0]),
                                 data[1],
                                 reinterpret_cast<const float *>(data[2])},
                                elements);
  std::vector<float> values(elements);
  if (!hasTransposedParts(state)) {
    decoder.decode(0, elements, values.data());
    return values;
  }
  int64_t rows = state.getTensorType().getDimSize(0);
  int64_t columns = state.getTensorType().getDimSize(1);
  std::vector<float> line(rows);
  for (int64_t k = 0; k < columns; ++k) {
    decoder.decode(k * rows, rows, line.data());
    for (int64_t i = 0; i < rows; ++i)
      values[i * columns + k] = line[i];
  }
  return values;
}

StringRef ingot::stateBytes(StateOp state, std::string &storage) {
  // Models come with codes of numbers in f32 alone.
  if (getEncoding(state) && state.getTensorType().getElementType().isF32()) {
    std::vector<float> values = decodeState(state);
    storage.assign(reinterpret_cast<const char *>(values.data()),
                   values.size() * sizeof(float));
    return storage;
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(state.getInitial())) {
    ArrayRef<char> data = resource.getData();
    return StringRef(data.data(), data.size());
  }
  auto value = cast<DenseElementsAttr>(state.getInitial());
  bool isBool = value.getElementType().isInteger(1);
  if (!value.isSplat() && !isBool)
    return StringRef(value.getRawData().data(), value.getRawData().size());
  storage.clear();
  if (isBool) {
    for (bool element : value.getValues<bool>())
      storage.push_back(element);
  } else {
    StringRef element(value.getRawData().data(), value.getRawData().size());
    for (int64_t i = 0, e = value.getNumElements(); i < e; ++i)
      storage += element;
  }
  return storage;
}

/// Calls `take` with each element of a floating-point state.
static void forEachFloat(StateOp state, llvm::function_ref<void(double)> take) {
  std::string storage;
  StringRef bytes = stateBytes(state, storage);
  auto type = cast<FloatType>(state.getTensorType().getElementType());
  size_t width = type.getWidth() / 8;
  size_t count = bytes.size() / width;
  for (size_t i = 0; i < count; ++i) {
    const char *element = bytes.data() + i * width;
    // Models have up to billions of these: a conversion of APFloat takes 40 ns.
    if (type.isF32()) {
      float x;
      std::memcpy(&x, element, sizeof(x));
      take(x);
      continue;
    }
    uint64_t bits = 0;
    std::memcpy(&bits, element, width);
    APFloat number(type.getFloatSemantics(), APInt(type.getWidth(), bits));
    bool lossy;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    take(number.convertToDouble());
  }
}

std::pair<double, double> ingot::momentsOf(StateOp state) {
  // Those of models without data are not finite.
  if (auto value = dyn_cast<DenseElementsAttr>(state.getInitial());
      value && value.isSplat())
    return {value.getSplatValue<APFloat>().convertToDouble(), 0.0};
  double sum = 0, squares = 0;
  size_t count = 0;
  forEachFloat(state, [&](double x) {
    sum += x;
    squares += x * x;
    ++count;
  });
  double mean = count ? sum / count : 0;
  double variance = count ? squares / count - mean * mean : 0;
  return {mean, std::sqrt(std::max(variance, 0.0))};
}

std::vector<double> ingot::normsOf(StateOp state, bool ofColumns) {
  RankedTensorType type = state.getTensorType();
  int64_t rows = type.getDimSize(0), columns = type.getNumElements() / rows;
  std::vector<double> norms(ofColumns ? columns : rows);
  int64_t i = 0;
  forEachFloat(state, [&](double x) {
    norms[ofColumns ? i % columns : i / columns] += x * x;
    ++i;
  });
  for (double &norm : norms)
    norm = std::sqrt(norm);
  return norms;
}
