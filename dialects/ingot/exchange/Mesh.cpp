// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/exchange/Mesh.h"

#include "mlir/IR/BuiltinOps.h"
#include "runtime/abi/Abi.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;

static constexpr std::array<StringLiteral, kNumAxes> kAxisNames = {
    "pipeline", "data", "inner", "context", "tensor"};

StringRef ingot::stringifyAxis(Axis axis) {
  return kAxisNames[static_cast<size_t>(axis)];
}

std::optional<Axis> ingot::symbolizeAxis(StringRef name) {
  const auto *found = llvm::find(kAxisNames, name);
  if (found == kAxisNames.end())
    return std::nullopt;
  return static_cast<Axis>(found - kAxisNames.begin());
}

std::string ingot::checkMesh(Attribute attribute) {
  auto mesh = dyn_cast<DictionaryAttr>(attribute);
  if (!mesh)
    return "a dictionary of axes";
  for (NamedAttribute entry : mesh) {
    if (!symbolizeAxis(entry.getName()))
      return "of the axes " + llvm::join(kAxisNames, ", ");
    auto size = dyn_cast<IntegerAttr>(entry.getValue());
    if (!size || !size.getValue().isStrictlyPositive())
      return "one or more ranks along each axis";
  }
  return {};
}

Mesh Mesh::of(Operation *op) {
  Mesh mesh;
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto given =
      module ? module->getAttrOfType<DictionaryAttr>(kMeshAttr) : nullptr;
  if (!given)
    return mesh;
  for (NamedAttribute entry : given)
    if (auto size = dyn_cast<IntegerAttr>(entry.getValue()))
      if (std::optional<Axis> axis = symbolizeAxis(entry.getName()))
        mesh.sizes[static_cast<size_t>(*axis)] = size.getInt();
  return mesh;
}

int64_t Mesh::getSize(ArrayRef<int64_t> axes) const {
  int64_t size = 1;
  for (int64_t axis : axes) {
    if (sizes[axis] == kAny)
      return kAny;
    size *= sizes[axis];
  }
  return size;
}

int64_t Mesh::getPlace(ArrayRef<int64_t> axes, int64_t rank) const {
  int64_t place = 0;
  for (int64_t axis : axes) {
    int64_t stride = 1;
    for (size_t inner = axis + 1; inner < kNumAxes; ++inner)
      stride *= sizes[inner] == kAny ? 1 : sizes[inner];
    place = place * sizes[axis] + rank / stride % sizes[axis];
  }
  return place;
}

SmallVector<int64_t, 2> Mesh::getSampleAxes() const {
  SmallVector<int64_t, 2> axes = {static_cast<int64_t>(Axis::Data)};
  if (getSize(Axis::Inner) > 1)
    axes.push_back(static_cast<int64_t>(Axis::Inner));
  return axes;
}

std::array<int64_t, kNumAxes> Mesh::getCoordinates(int64_t rank,
                                                   int64_t ranks) const {
  std::array<int64_t, kNumAxes> coordinates = {};
  for (int64_t size : sizes)
    if (size != kAny)
      ranks /= size;
  for (size_t axis = kNumAxes; axis-- > 0;) {
    int64_t size =
        sizes[axis] == kAny ? std::max<int64_t>(ranks, 1) : sizes[axis];
    coordinates[axis] = rank % size;
    rank /= size;
  }
  return coordinates;
}

int32_t ingot::getAxisBits(ArrayRef<int64_t> axes) {
  static_assert(1 << static_cast<int>(Axis::Pipeline) == INGOT_PIPELINE &&
                1 << static_cast<int>(Axis::Data) == INGOT_DATA &&
                1 << static_cast<int>(Axis::Inner) == INGOT_INNER &&
                1 << static_cast<int>(Axis::Context) == INGOT_CONTEXT &&
                1 << static_cast<int>(Axis::Tensor) == INGOT_TENSOR);
  int32_t bits = 0;
  for (int64_t axis : axes)
    bits |= 1 << axis;
  return bits;
}

RankedTensorType ingot::getCoordinatesType(MLIRContext *context) {
  return RankedTensorType::get({static_cast<int64_t>(kNumAxes)},
                               IntegerType::get(context, 64));
}

ParseResult ingot::parseAxes(OpAsmParser &parser, DenseI64ArrayAttr &axes) {
  SmallVector<int64_t> numbers;
  auto parseEntry = [&]() -> ParseResult {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return failure();
    std::optional<Axis> axis = symbolizeAxis(name);
    if (!axis)
      return parser.emitError(loc)
             << "'" << name
             << "' is not an axis of ranks: " << llvm::join(kAxisNames, ", ");
    numbers.push_back(static_cast<int64_t>(*axis));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseEntry))
    return failure();
  axes = parser.getBuilder().getDenseI64ArrayAttr(numbers);
  return success();
}

void ingot::printAxes(OpAsmPrinter &printer, Operation *,
                      DenseI64ArrayAttr axes) {
  printer << "[";
  llvm::interleaveComma(axes.asArrayRef(), printer, [&](int64_t axis) {
    printer << stringifyAxis(static_cast<Axis>(axis));
  });
  printer << "]";
}
