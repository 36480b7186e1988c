// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/support/Remarks.h"
#include "frontends/onnx/model/MappedData.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Opsets.h"
#include "frontends/onnx/model/Tensors.h"
#include "frontends/onnx/weights/Copies.h"
#include "frontends/onnx/weights/Parameters.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// A floating-point tensor of the file that may be a copy of another, or have
/// copies.
struct Weight {
  std::string name;
  Type element;
  Shape dims;
  /// In the file's tensor.
  StringRef bytes;
  /// Whether the name was made up by an exporter.
  bool isGenerated;

  size_t width() const { return element.getIntOrFloatBitWidth() / 8; }
  size_t count() const { return bytes.size() / width(); }
};

/// How a copy follows from its source: a conversion to its type, then a
/// permutation of the dimensions that are not 1, then its shape.
struct Derivation {
  bool isConverted = false;
  Shape permutation;

  bool isPermuted() const { return !llvm::is_sorted(permutation); }
};

} // namespace

/// Fewer elements, or fewer different ones, are often equal without being
/// copies: biases, masks, small tables.
static constexpr size_t kFewElements = 16, kFewValues = 8;

/// Returns whether an exporter made the name up: `onnx::MatMul_7`,
/// `/head/Transpose_output_0`, `val_12`, `const_fold_opt__7`, `123`.
static bool isGeneratedName(StringRef name) {
  if (name.contains("::") || name.starts_with("/") ||
      name.contains("const_fold") || name.ends_with("_transposed"))
    return true;
  StringRef stem = name.rtrim("0123456789");
  if (stem.empty())
    return true;
  return stem.size() < name.size() &&
         llvm::is_contained({"val_", "t_", "tensor_", "const_", "constant_",
                             "Constant_", "transpose_", "Transpose_",
                             "initializer_", "permute_"},
                            stem);
}

static uint64_t loadElement(const char *at, size_t width) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, width);
  return bits;
}

/// Returns whether the elements tell the tensor from others.
static bool isDistinctive(const Weight &weight) {
  if (weight.count() < kFewElements)
    return false;
  llvm::SmallSet<uint64_t, kFewValues> values;
  for (size_t i = 0; i < weight.count() && values.size() < kFewValues; ++i)
    values.insert(
        loadElement(weight.bytes.data() + i * weight.width(), weight.width()));
  return values.size() == kFewValues;
}

/// Returns a number that depends on the elements, but not on their order.
static uint64_t hashElements(StringRef bytes, size_t width) {
  uint64_t sum = 0;
  for (size_t at = 0; at < bytes.size(); at += width) {
    uint64_t mixed = loadElement(bytes.data() + at, width);
    mixed = (mixed ^ (mixed >> 31)) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
    sum += mixed ^ (mixed >> 32);
  }
  return sum;
}

/// Returns the elements rounded to a narrower type.
static std::string convert(const Weight &weight, Type element) {
  const auto &from = cast<FloatType>(weight.element).getFloatSemantics();
  const auto &to = cast<FloatType>(element).getFloatSemantics();
  size_t width = element.getIntOrFloatBitWidth() / 8;
  std::string bytes(weight.count() * width, '\0');
  for (size_t i = 0; i < weight.count(); ++i) {
    APInt bits(
        weight.width() * 8,
        loadElement(weight.bytes.data() + i * weight.width(), weight.width()));
    APFloat value(from, bits);
    bool isInexact = false;
    value.convert(to, APFloat::rmNearestTiesToEven, &isInexact);
    uint64_t rounded = value.bitcastToAPInt().getZExtValue();
    std::memcpy(bytes.data() + i * width, &rounded, width);
  }
  return bytes;
}

static Shape withoutOnes(ArrayRef<int64_t> dims) {
  return Shape(llvm::make_filter_range(dims, [](int64_t d) { return d != 1; }));
}

/// Returns whether `copy`, of the permuted dimensions, holds the elements of
/// `source`.
static bool holdsPermuted(StringRef source, ArrayRef<int64_t> dims,
                          ArrayRef<int64_t> permutation, StringRef copy,
                          size_t width) {
  Shape strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;)
    strides[d - 1] = strides[d] * dims[d];
  Shape index(dims.size(), 0);
  size_t from = 0;
  for (size_t at = 0; at < copy.size(); at += width) {
    if (std::memcmp(copy.data() + at, source.data() + from * width, width) != 0)
      return false;
    for (size_t d = dims.size(); d-- > 0;) {
      int64_t old = permutation[d];
      from += strides[old];
      if (++index[d] < dims[old])
        break;
      from -= strides[old] * dims[old];
      index[d] = 0;
    }
  }
  return true;
}

/// Returns how the copy follows from the source; nothing if it does not.
static std::optional<Derivation> derive(const Weight &source,
                                        const Weight &copy) {
  Derivation result;
  std::string converted;
  StringRef bytes = source.bytes;
  if (source.element != copy.element) {
    if (source.width() <= copy.width())
      return std::nullopt;
    result.isConverted = true;
    converted = convert(source, copy.element);
    bytes = converted;
  }
  Shape dims = withoutOnes(source.dims), wanted = withoutOnes(copy.dims);
  result.permutation =
      llvm::to_vector_of<int64_t, 6>(llvm::seq<int64_t>(0, dims.size()));
  if (bytes == copy.bytes)
    return result;
  constexpr size_t kMostDims = 4;
  if (dims.size() != wanted.size() || dims.size() > kMostDims)
    return std::nullopt;
  while (std::next_permutation(result.permutation.begin(),
                               result.permutation.end())) {
    bool fits = llvm::all_of(llvm::seq<size_t>(0, dims.size()), [&](size_t d) {
      return dims[result.permutation[d]] == wanted[d];
    });
    if (fits && holdsPermuted(bytes, dims, result.permutation, copy.bytes,
                              copy.width()))
      return result;
  }
  return std::nullopt;
}

namespace {

/// Adds the nodes that compute copies, in front of the graph's.
class CopyWriter {
public:
  explicit CopyWriter(onnx::GraphProto &graph) : graph(graph) {
    for (const onnx::NodeProto &node : graph.node())
      for (const std::string &name : node.output())
        names.insert(name);
    for (const onnx::TensorProto &tensor : graph.initializer())
      names.insert(tensor.name());
    for (const onnx::ValueInfoProto &input : graph.input())
      names.insert(input.name());
  }

  void compute(const Weight &copy, const Weight &source,
               const Derivation &derivation) {
    SmallVector<std::function<void(StringRef, StringRef)>> steps;
    Shape dims = source.dims;
    auto reshapeTo = [&](Shape shape) {
      if (dims == shape)
        return;
      dims = shape;
      steps.push_back([this, shape](StringRef from, StringRef to) {
        std::string sizes = fresh((to + "_shape").str());
        onnx::TensorProto &tensor = *graph.add_initializer();
        tensor.set_name(sizes);
        tensor.set_data_type(onnx::TensorProto::INT64);
        tensor.add_dims(static_cast<int64_t>(shape.size()));
        for (int64_t size : shape)
          tensor.add_int64_data(size);
        add("Reshape", from, to).add_input(sizes);
      });
    };
    if (derivation.isConverted)
      steps.push_back([&](StringRef from, StringRef to) {
        setInt(add("Cast", from, to), "to", dataTypeOf(copy.element));
      });
    if (derivation.isPermuted()) {
      reshapeTo(withoutOnes(dims));
      for (auto [d, old] : llvm::enumerate(derivation.permutation))
        dims[d] = withoutOnes(source.dims)[old];
      steps.push_back([&](StringRef from, StringRef to) {
        onnx::AttributeProto &perm =
            *add("Transpose", from, to).add_attribute();
        perm.set_name("perm");
        perm.set_type(onnx::AttributeProto::INTS);
        for (int64_t old : derivation.permutation)
          perm.add_ints(old);
      });
    }
    reshapeTo(copy.dims);
    if (steps.empty())
      steps.push_back([&](StringRef from, StringRef to) {
        (void)add("Identity", from, to);
      });
    std::string from = source.name;
    for (auto [i, step] : llvm::enumerate(steps)) {
      std::string to = i + 1 == steps.size()
                           ? copy.name
                           : fresh(copy.name + "_" + std::to_string(i));
      step(from, to);
      from = to;
    }
  }

  void finish() {
    auto *nodes = graph.mutable_node();
    std::rotate(nodes->pointer_begin(), nodes->pointer_end() - added,
                nodes->pointer_end());
  }

private:
  std::string fresh(const std::string &wanted) {
    std::string name = wanted;
    for (int i = 1; !names.insert(name).second; ++i)
      name = wanted + "_" + std::to_string(i);
    return name;
  }

  onnx::NodeProto &add(StringRef op, StringRef from, StringRef to) {
    ++added;
    onnx::NodeProto &node = *graph.add_node();
    node.set_op_type(op.str());
    node.add_input(from.str());
    node.add_output(to.str());
    return node;
  }

  static void setInt(onnx::NodeProto &node, const char *name, int64_t value) {
    onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }

  onnx::GraphProto &graph;
  llvm::StringSet<> names;
  int added = 0;
};

} // namespace

/// Returns the floating-point tensors of the file that could be copies.
static std::vector<Weight> listWeights(MLIRContext *context,
                                       const onnx::GraphProto &graph) {
  std::vector<Weight> weights;
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    Type element = elementType(context, tensor.data_type());
    if (!element || !isa<FloatType>(element) || !tensor.has_raw_data())
      continue;
    Weight weight{tensor.name(), element,
                  Shape(tensor.dims().begin(), tensor.dims().end()),
                  rawBytes(tensor), isGeneratedName(tensor.name())};
    int64_t elements = 1;
    for (int64_t size : weight.dims)
      elements *= size;
    // What contradicts its sizes is reported when it is imported.
    if (weight.bytes.size() == elements * weight.width() &&
        isDistinctive(weight))
      weights.push_back(std::move(weight));
  }
  return weights;
}

/// Returns groups of tensors whose elements may be the same, in whatever order:
/// the numbers of tensors in `weights`.
static SmallVector<SmallVector<size_t>> groupEqual(ArrayRef<Weight> weights) {
  // A tensor can be a conversion of a wider one: it is looked for among the
  // rounded elements of those that have as many.
  llvm::DenseMap<size_t, llvm::SmallSetVector<Type, 2>> types;
  for (const Weight &weight : weights)
    types[weight.count()].insert(weight.element);
  llvm::MapVector<std::pair<size_t, uint64_t>, SmallVector<size_t>> groups;
  for (auto [i, weight] : llvm::enumerate(weights)) {
    for (Type type : types[weight.count()]) {
      if (type != weight.element &&
          type.getIntOrFloatBitWidth() / 8 >= weight.width())
        continue;
      std::string rounded;
      StringRef bytes = weight.bytes;
      if (type != weight.element) {
        rounded = convert(weight, type);
        bytes = rounded;
      }
      size_t width = type.getIntOrFloatBitWidth() / 8;
      uint64_t key = llvm::hash_combine(hashElements(bytes, width),
                                        type.getAsOpaquePointer());
      groups[{weight.count(), key}].push_back(i);
    }
    releaseMapped(weight.bytes);
  }
  SmallVector<SmallVector<size_t>> result;
  for (auto &[key, members] : groups)
    if (members.size() > 1)
      result.push_back(members);
  return result;
}

static std::string describe(const Weight &copy, const Weight &source,
                            const Derivation &derivation) {
  return copy.name + " is " + source.name +
         (derivation.isPermuted()    ? " transposed"
          : derivation.isConverted   ? " converted"
          : copy.dims != source.dims ? " reshaped"
                                     : "");
}

static std::string summarize(ArrayRef<std::string> texts) {
  return texts.front() +
         (texts.size() > 1
              ? " and " + std::to_string(texts.size() - 1) + " more"
              : "");
}

void onnx_import::tieCopies(Location file, onnx::ModelProto &model) {
  onnx::GraphProto &graph = *model.mutable_graph();
  if (opsetVersion(model, "") == 0)
    return;
  std::vector<Weight> weights = listWeights(file.getContext(), graph);
  SmallVector<SmallVector<size_t>> groups = groupEqual(weights);
  if (groups.empty())
    return;
  ExporterMetadata metadata = readMetadata(graph);
  CopyWriter writer(graph);
  llvm::StringSet<> replaced;
  SmallVector<std::string> tied, apart;
  for (const SmallVector<size_t> &group : groups) {
    // Copies are of what has a name of the model, and the widest of these.
    SmallVector<size_t> order(group);
    llvm::sort(order, [&](size_t a, size_t b) {
      return std::make_tuple(weights[a].isGenerated, weights[b].width(), a) <
             std::make_tuple(weights[b].isGenerated, weights[a].width(), b);
    });
    const Weight &source = weights[order.front()];
    // The exporter says which initializers are parameters, tied ones once.
    if (metadata.exists && !metadata.parameterNames.contains(source.name))
      continue;
    for (size_t member : ArrayRef(order).drop_front()) {
      const Weight &copy = weights[member];
      std::optional<Derivation> derivation = derive(source, copy);
      if (!derivation || replaced.contains(copy.name))
        continue;
      if (!source.isGenerated && copy.isGenerated) {
        writer.compute(copy, source, *derivation);
        replaced.insert(copy.name);
        tied.push_back(describe(copy, source, *derivation));
      } else if (!metadata.exists &&
                 (derivation->isPermuted() || copy.dims == source.dims)) {
        // Of another shape, they are equal because of how they were drawn.
        apart.push_back(describe(copy, source, *derivation));
      }
    }
  }
  writer.finish();
  auto *initializers = graph.mutable_initializer();
  initializers->erase(std::remove_if(initializers->begin(), initializers->end(),
                                     [&](const onnx::TensorProto &tensor) {
                                       return replaced.contains(tensor.name());
                                     }),
                      initializers->end());
  // Before IR version 4, initializers had to be inputs too.
  auto *inputs = graph.mutable_input();
  inputs->erase(std::remove_if(inputs->begin(), inputs->end(),
                               [&](const onnx::ValueInfoProto &input) {
                                 return replaced.contains(input.name());
                               }),
                inputs->end());
  if (!tied.empty()) {
    remark::passed(file, remarkOptions("import-onnx", "TiedCopies"))
        << remark::metric("names", llvm::join(tied, ", "));
    file.getContext()->getDiagEngine().emit(file, DiagnosticSeverity::Note)
        << summarize(tied)
        << ": the exporter made a copy, and they are trained as one weight "
           "(--untie trains them apart)";
  }
  if (!apart.empty())
    emitUserWarning(
        file,
        summarize(apart) + ": the file has equal initializers, which are "
                           "trained apart",
        "if they are one weight in the model, export it with dynamo=True, "
        "optimize=False, or with do_constant_folding=False; if they merely "
        "start equal, nothing is wrong");
}
