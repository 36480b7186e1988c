// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/partition/Partition.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

using namespace mlir;
using namespace ingot;

static constexpr StringLiteral kPad = "pad";

/// Returns the segments of an axis; nothing for one that splits the dimension
/// as a whole, and a failure for anything else.
static FailureOr<SmallVector<int64_t>> getSegments(Attribute value) {
  SmallVector<int64_t> segments;
  if (isa<UnitAttr>(value))
    return segments;
  auto list = dyn_cast<ArrayAttr>(value);
  if (!list || list.empty())
    return failure();
  for (Attribute entry : list) {
    auto size = dyn_cast<IntegerAttr>(entry);
    if (!size || !size.getValue().isStrictlyPositive())
      return failure();
    segments.push_back(size.getInt());
  }
  return segments;
}

/// Reads one dimension; returns what is wrong with it.
static std::string read(DictionaryAttr entries, DimPartition &dim) {
  for (NamedAttribute entry : entries) {
    if (entry.getName() == kPad) {
      auto pad = dyn_cast<IntegerAttr>(entry.getValue());
      if (!pad || !pad.getValue().isStrictlyPositive())
        return "a padding of one or more elements";
      dim.pad = pad.getInt();
      continue;
    }
    std::optional<Axis> axis = symbolizeAxis(entry.getName());
    FailureOr<SmallVector<int64_t>> segments = getSegments(entry.getValue());
    if (!axis || failed(segments))
      return "axes of ranks, alone or with a list of segments";
    dim.axes.push_back(static_cast<int64_t>(*axis));
    if (!segments->empty())
      dim.segments = *segments;
  }
  llvm::sort(dim.axes);
  return {};
}

std::string Partition::check(Attribute attribute, RankedTensorType type,
                             const Mesh &mesh) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  if (!list || !llvm::all_of(list, llvm::IsaPred<DictionaryAttr>) ||
      static_cast<int64_t>(list.size()) != type.getRank())
    return "a dictionary for each dimension";
  llvm::SmallDenseSet<int64_t> seen;
  for (auto [number, entries] :
       llvm::enumerate(list.getAsRange<DictionaryAttr>())) {
    DimPartition dim;
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "in dimension " << number << ", ";
    if (std::string problem = read(entries, dim); !problem.empty()) {
      os << problem;
      return text;
    }
    for (int64_t axis : dim.axes)
      if (!seen.insert(axis).second)
        return "axes that split one dimension each";
    int64_t size = type.getDimSize(number), parts = mesh.getSize(dim.axes);
    if (parts == Mesh::kAny)
      return "axes whose number of ranks is in the mesh";
    SmallVector<int64_t> segments = dim.segments;
    if (segments.empty())
      segments.push_back(size);
    if (dim.pad != 0 && (dim.axes.empty() || dim.pad >= parts)) {
      os << "less padding than there are parts";
      return text;
    }
    if (std::accumulate(segments.begin(), segments.end(), int64_t(0)) != size) {
      os << "segments of " << size << " elements";
      return text;
    }
    segments.back() += dim.pad;
    if (llvm::any_of(segments,
                     [&](int64_t length) { return length % parts != 0; })) {
      os << "segments that " << parts << " ranks have equal parts of";
      return text;
    }
  }
  return {};
}

Partition Partition::get(Attribute attribute, RankedTensorType type,
                         const Mesh &mesh) {
  Partition partition;
  partition.type = type;
  partition.mesh = mesh;
  partition.dims.resize(type.getRank());
  if (auto list = dyn_cast_or_null<ArrayAttr>(attribute))
    for (auto [dim, entries] :
         llvm::zip_equal(partition.dims, list.getAsRange<DictionaryAttr>()))
      (void)read(entries, dim);
  for (auto [dim, size] : llvm::zip_equal(partition.dims, type.getShape())) {
    // One rank along an axis splits nothing.
    if (mesh.getSize(dim.axes) == 1)
      dim.axes.clear();
    if (dim.axes.empty() || dim.segments.empty())
      dim.segments = {size};
  }
  return partition;
}

bool Partition::isWhole() const {
  return llvm::all_of(dims,
                      [](const DimPartition &dim) { return dim.axes.empty(); });
}

RankedTensorType Partition::getLocalType() const {
  SmallVector<int64_t> shape(type.getShape());
  for (auto [dim, size] : llvm::zip_equal(dims, shape))
    size = (size + dim.pad) / getParts(dim);
  return RankedTensorType::get(shape, type.getElementType());
}

SmallVector<int64_t> Partition::getPlaces(int64_t rank) const {
  SmallVector<int64_t> places = {0};
  for (auto [number, dim] : llvm::enumerate(dims)) {
    int64_t size = type.getDimSize(static_cast<unsigned>(number));
    int64_t part = mesh.getPlace(dim.axes, rank), parts = getParts(dim);
    SmallVector<int64_t> along, next;
    int64_t first = 0;
    for (auto [i, segment] : llvm::enumerate(dim.segments)) {
      bool isLast = i + 1 == dim.segments.size();
      int64_t length = (segment + (isLast ? dim.pad : 0)) / parts;
      for (int64_t at = part * length; at < (part + 1) * length; ++at)
        along.push_back(first + at < size ? first + at : -1);
      first += segment;
    }
    for (int64_t outer : places)
      for (int64_t inner : along)
        next.push_back(outer < 0 || inner < 0 ? -1 : outer * size + inner);
    places = std::move(next);
  }
  return places;
}
