// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/rewrite/Quantize.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/support/ModulePath.h"
#include "dialects/ingot/support/Remarks.h"
#include "frontends/onnx/model/MappedData.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Opsets.h"
#include "frontends/onnx/model/PrepareModel.h"
#include "frontends/onnx/model/Tensors.h"
#include "frontends/onnx/rewrite/FoldNorms.h"
#include "frontends/onnx/weights/InputRoles.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;
using onnx::NodeProto;
using onnx::TensorProto;

namespace {

/// A layer with weights.
struct Layer {
  int node;
  /// The path, and the initializer of the weight.
  std::string path, weight;
  const QuantizationRule *rule = nullptr;
};

/// A reader of a value: the number of a node, and that of its input.
using Reader = std::pair<int, int>;

/// A value that gets a pair of QuantizeLinear and DequantizeLinear.
struct Pair {
  /// The value with whose scales it is quantized, which may be itself.
  std::string like;
  const QuantizationRule *rule = nullptr;
  bool isWeight = false;
  std::optional<int64_t> axis;
  /// The sizes of a weight.
  std::vector<int64_t> shape;
  /// Who reads it dequantized; all of its readers if none is named.
  SmallVector<Reader, 2> readers;
};

/// How many names an error lists.
constexpr size_t kListed = 4;

class Editor {
public:
  Editor(Location file, onnx::ModelProto &model, const ImportOptions &options,
         const FoldedNorms &folded);

  LogicalResult run();
  Quantization take() { return std::move(result); }

private:
  const NodeProto &node(int i) const { return graph.node(i); }
  /// Returns the node that computes a value; -1 if none does.
  int findProducer(StringRef value) const {
    auto found = producers.find(value);
    return found == producers.end() ? -1 : found->second;
  }
  ArrayRef<Reader> getReaders(StringRef value) const {
    auto found = readers.find(value);
    return found == readers.end() ? ArrayRef<Reader>()
                                  : ArrayRef(found->second);
  }
  bool isMarked(int i) const { return marked.contains(i); }
  /// Whether the node is a layer whose input is quantized.
  bool isInteger(int i) const {
    auto found = marked.find(i);
    return found != marked.end() && !found->second->isInt4;
  }
  /// Returns the sizes of a weight, an initializer or the transpose of one;
  /// nothing for other values.
  std::optional<std::vector<int64_t>> findShape(StringRef value) const;
  LogicalResult checkOpset();
  void findLayers();
  LogicalResult chooseRules();
  LogicalResult failUnmatched(const QuantizationRule &rule);
  /// Returns why ONNX Runtime has no integer kernel for the layer; empty if it
  /// has one.
  std::string refuse(const Layer &layer) const;

  /// Finds the values that integer kernels can compute.
  void findComputed();
  /// Whether the node is a clipping of what one marked layer computes, which
  /// the range of codes makes redundant.
  bool isRedundantClip(const NodeProto &clip) const;
  /// Whether all that reads the value quantizes it.
  bool isReadByLayersAlone(StringRef value) const;
  /// Adds the pairs of a value that an integer kernel computes, and of those
  /// from which it does.
  void requireComputed(StringRef value, const QuantizationRule *rule);
  void addPairs();
  void addWeight(int layer);

  std::string makeName(const Twine &wish);
  std::string addInitializer(const Twine &wish, int32_t dataType,
                             ArrayRef<int64_t> shape, size_t bytes);
  /// Returns the value with whose scales a value is quantized.
  std::string findRoot(const std::string &value);
  /// Returns the quantizer of a value, and adds its initializers.
  Quantizer &getQuantizer(const std::string &root, const Pair &pair);
  void appendPair(const std::string &value, const Pair &pair,
                  const std::string &from, const std::string &to);
  /// Appends the pairs of a value after what computes it, and says from where
  /// its readers take it.
  void appendPairs(const std::string &value);
  NodeProto &append(StringRef opType, const std::string &name,
                    ArrayRef<std::string> inputs, const std::string &output);
  /// Appends a marked product, and apart from it its bias.
  void appendProduct(int number, NodeProto product,
                     const QuantizationRule &rule);
  /// Rounds a bias to multiples of the product of the scales, as kernels have
  /// it in integers, and returns the result.
  std::string appendRounded(int number, const std::string &bias,
                            const std::string &prefix);
  void rewrite();
  void report();

  Location file;
  onnx::ModelProto &model;
  const ImportOptions &options;
  onnx::GraphProto &graph;
  const FoldedNorms &folded;
  llvm::StringMap<const TensorProto *> initializers;
  llvm::StringMap<int> producers;
  llvm::StringMap<SmallVector<Reader, 2>> readers;
  llvm::StringSet<> outputs, names;
  std::vector<Layer> layers;
  /// The rules of the nodes that become integer kernels with weights.
  llvm::DenseMap<int, const QuantizationRule *> marked;
  /// The values that integer kernels can compute.
  llvm::StringSet<> computed;
  llvm::MapVector<std::string, Pair, std::map<std::string, unsigned>> pairs;
  /// By values and the dimension along which scales are.
  std::map<std::string, Quantizer> quantizers;
  /// The inputs of layers, and their weights, before others take their place.
  llvm::DenseMap<int, std::pair<std::string, std::string>> operands;
  /// Additions of biases that are written as subtractions.
  llvm::DenseSet<int> subtracted;
  google::protobuf::RepeatedPtrField<NodeProto> rewritten;
  Quantization result;
};

} // namespace

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static bool isOp(const NodeProto &node, ArrayRef<StringRef> types) {
  return canonicalDomain(node.domain()).empty() &&
         llvm::is_contained(types, StringRef(node.op_type()));
}

static bool isLayer(const NodeProto &node) {
  return isOp(node, {"Conv", "MatMul", "Gemm"});
}

/// Operators that move what they read, so that it keeps its scale.
static bool movesValues(const NodeProto &node) {
  return isOp(node, {"MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze",
                     "Unsqueeze"}) &&
         node.output_size() == 1;
}

/// Operators without weights that ONNX Runtime computes with integers between
/// such pairs.
static bool isElementwise(const NodeProto &node) {
  return isOp(node, {"Add", "Mul", "Concat", "AveragePool", "GlobalAveragePool",
                     "LeakyRelu", "Sigmoid"});
}

static double getFloat(const NodeProto &node, StringRef name,
                       double otherwise) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.f();
  return otherwise;
}

static int64_t getInt(const NodeProto &node, StringRef name,
                      int64_t otherwise) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.i();
  return otherwise;
}

static bool has(const NodeProto &node, int input) {
  return input < node.input_size() && !node.input(input).empty();
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Whether all elements of a value are zero, as far as can be seen.
static bool isZero(const llvm::StringMap<const TensorProto *> &initializers,
                   const llvm::StringMap<const NodeProto *> &producers,
                   std::string value) {
  constexpr int longest = 8;
  auto hasZeros = [](const TensorProto &tensor) {
    StringRef data = tensor.raw_data();
    return tensor.data_type() == TensorProto::FLOAT && !isMapped(tensor) &&
           llvm::all_of(data, [](char byte) { return byte == 0; }) &&
           llvm::all_of(tensor.float_data(),
                        [](float number) { return number == 0; }) &&
           (!data.empty() || tensor.float_data_size() > 0);
  };
  for (int i = 0; i < longest; ++i) {
    if (const TensorProto *tensor = initializers.lookup(value))
      return hasZeros(*tensor);
    const NodeProto *node = producers.lookup(value);
    if (!node)
      return false;
    if (isOp(*node, {"Constant"}))
      return llvm::any_of(node->attribute(), [&](const auto &attribute) {
        return (attribute.name() == "value" && hasZeros(attribute.t())) ||
               (attribute.name() == "value_float" && attribute.f() == 0);
      });
    if (!isOp(*node, {"Expand", "Cast", "CastLike", "Identity", "Reshape"}))
      return false;
    value = node->input(0);
  }
  return false;
}

/// Takes biases of zeros, as exporters compute them, from convolutions: kernels
/// of integers need biases that are constants.
static void dropZeroBiases(onnx::GraphProto &graph) {
  llvm::StringMap<const TensorProto *> initializers;
  for (const TensorProto &tensor : graph.initializer())
    initializers[tensor.name()] = &tensor;
  llvm::StringMap<const NodeProto *> producers;
  for (const NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      producers[output] = &node;
  // Initializers are trained, even from zero.
  for (NodeProto &node : *graph.mutable_node())
    if (isOp(node, {"Conv"}) && has(node, 2) &&
        !initializers.contains(node.input(2)) &&
        isZero(initializers, producers, node.input(2)))
      node.mutable_input()->RemoveLast();
}

/// Returns the first rule that names a layer; null if none does.
static const QuantizationRule *findRule(const ImportOptions &options,
                                        StringRef path, StringRef weight,
                                        StringRef node) {
  auto found = llvm::find_if(options.qat, [&](const QuantizationRule &rule) {
    return rule.match(path) || rule.match(weight) || rule.match(node);
  });
  return found == options.qat.end() ? nullptr : &*found;
}

Editor::Editor(Location file, onnx::ModelProto &model,
               const ImportOptions &options, const FoldedNorms &folded)
    : file(file), model(model), options(options), graph(*model.mutable_graph()),
      folded(folded) {
  for (const TensorProto &tensor : graph.initializer()) {
    initializers[tensor.name()] = &tensor;
    names.insert(tensor.name());
  }
  for (const onnx::ValueInfoProto &input : graph.input())
    names.insert(input.name());
  for (const onnx::ValueInfoProto &output : graph.output())
    outputs.insert(output.name());
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string &output : node(i).output()) {
      producers[output] = i;
      names.insert(output);
    }
    for (int k = 0; k < node(i).input_size(); ++k)
      readers[node(i).input(k)].push_back({i, k});
    // Graphs within nodes read values by name.
    for (const onnx::AttributeProto &attribute : node(i).attribute())
      if (attribute.has_g())
        walkNodes(attribute.g(), [&](const NodeProto &inner) {
          for (const std::string &input : inner.input())
            readers[input].push_back({i, -1});
        });
  }
}

std::optional<std::vector<int64_t>> Editor::findShape(StringRef value) const {
  if (auto whole = folded.weights.find(value); whole != folded.weights.end())
    value = whole->second;
  if (const TensorProto *tensor = initializers.lookup(value)) {
    if (tensor->data_type() != TensorProto::FLOAT)
      return std::nullopt;
    return std::vector<int64_t>(tensor->dims().begin(), tensor->dims().end());
  }
  int producer = findProducer(value);
  if (producer < 0 || !isOp(node(producer), {"Transpose"}))
    return std::nullopt;
  const TensorProto *tensor = initializers.lookup(node(producer).input(0));
  if (!tensor || tensor->dims_size() != 2 ||
      tensor->data_type() != TensorProto::FLOAT)
    return std::nullopt;
  for (const onnx::AttributeProto &attribute : node(producer).attribute())
    if (attribute.name() == "perm" && attribute.ints(0) != 1)
      return std::vector<int64_t>{tensor->dims(0), tensor->dims(1)};
  return std::vector<int64_t>{tensor->dims(1), tensor->dims(0)};
}

LogicalResult Editor::checkOpset() {
  // Of scales along an axis, and of integers of 4 bits in blocks.
  constexpr int alongAxis = 13, inBlocks = 21;
  bool isInt4 = llvm::any_of(
      options.qat, [](const QuantizationRule &rule) { return rule.isInt4; });
  int needed = isInt4 ? inBlocks : alongAxis, opset = opsetVersion(model, "");
  if (opset >= needed)
    return success();
  return emitOptionError(
      file.getContext(), "qat",
      Twine(isInt4 ? "int4" : "int8") + " needs operator set " + Twine(needed) +
          ", and the model has " + Twine(opset),
      "export the model with opset_version=" + Twine(needed) +
          ", or convert it with onnx.version_converter.convert_version");
}

void Editor::findLayers() {
  for (int i = 0; i < graph.node_size(); ++i) {
    const NodeProto &product = node(i);
    if (!isLayer(product) || !has(product, 1))
      continue;
    Location where = nodeLocation(file.getContext(), product);
    std::string weight = product.input(1);
    if (auto whole = folded.weights.find(weight); whole != folded.weights.end())
      weight = whole->second;
    else if (int producer = findProducer(weight);
             producer >= 0 && isOp(node(producer), {"Transpose"}))
      weight = node(producer).input(0);
    if (!initializers.contains(weight)) {
      remark::missed(where, remarkOptions("quantize", "QuantizedNode"))
          << remark::reason("both of its operands are computed: it stays in "
                            "float");
      continue;
    }
    layers.push_back(
        {i,
         findLayerPath(where, weight,
                       has(product, 2) ? product.input(2) : std::string()),
         weight});
  }
}

std::string Editor::refuse(const Layer &layer) const {
  const NodeProto &product = node(layer.node);
  auto shape = findShape(product.input(1));
  if (!shape)
    return "its weight is not in fp32";
  if (llvm::is_contained(*shape, 0))
    return "its weight is empty";
  bool isInt4 = layer.rule->isInt4;
  if (isOp(product, {"Conv"}))
    return isInt4 ? "convolutions have no integers of 4 bits" : "";
  if (shape->size() != 2)
    return "its weight is no matrix";
  if (isOp(product, {"Gemm"}) &&
      (getInt(product, "transA", 0) || getFloat(product, "alpha", 1) != 1 ||
       getFloat(product, "beta", 1) != 1))
    return "it has factors, or transposes what it reads";
  return "";
}

LogicalResult Editor::failUnmatched(const QuantizationRule &rule) {
  SmallVector<StringRef> paths;
  for (const Layer &layer : layers)
    paths.push_back(layer.path);
  constexpr size_t compared = 100;
  StringRef start = StringRef(rule.layers.getText()).take_front(compared);
  llvm::stable_sort(paths, [&](StringRef a, StringRef b) {
    return a.edit_distance(start) < b.edit_distance(start);
  });
  std::string list;
  for (StringRef path : ArrayRef(paths).take_front(kListed))
    list += (list.empty() ? "'" : ", '") + path.str() + "'";
  if (paths.size() > kListed)
    list += " and " + std::to_string(paths.size() - kListed) + " more";
  return emitOptionError(
      file.getContext(), "qat",
      rule.layers.empty()
          ? "the model has no layer that could be quantized"
          : "'" + rule.layers.getText() + "' matches no layer of the model",
      paths.empty() ? "layers are MatMul, Gemm and Conv with a weight"
                    : "it has " + Twine(list));
}

LogicalResult Editor::chooseRules() {
  llvm::DenseSet<const QuantizationRule *> matched, used;
  llvm::DenseMap<const QuantizationRule *, std::pair<std::string, std::string>>
      refusals;
  for (Layer &layer : layers) {
    const NodeProto &product = node(layer.node);
    Location where = nodeLocation(file.getContext(), product);
    for (const QuantizationRule &rule : options.qat)
      if (rule.match(layer.path) || rule.match(layer.weight) ||
          rule.match(product.name()))
        matched.insert(&rule);
    layer.rule = findRule(options, layer.path, layer.weight, product.name());
    std::string reason = layer.rule ? refuse(layer) : "no --qat names it";
    if (reason.empty()) {
      marked[layer.node] = layer.rule;
      used.insert(layer.rule);
      remark::passed(where, remarkOptions("quantize", "QuantizedNode"))
          << remark::metric("layer", layer.path)
          << remark::metric("rule", layer.rule->text);
      continue;
    }
    if (layer.rule)
      refusals.try_emplace(layer.rule, layer.path, reason);
    remark::missed(where, remarkOptions("quantize", "QuantizedNode"))
        << remark::metric("layer", layer.path)
        << remark::reason("{0}: it stays in float", reason);
  }
  for (const QuantizationRule &rule : options.qat) {
    if (!matched.contains(&rule))
      return failUnmatched(rule);
    if (used.contains(&rule))
      continue;
    auto refusal = refusals.find(&rule);
    if (refusal == refusals.end())
      return emitOptionError(file.getContext(), "qat",
                             "'" + rule.text + "' takes no layer that is left",
                             "rules before it have all that it matches");
    return emitOptionError(
        file.getContext(), "qat",
        "'" + rule.text + "' takes no layer: of '" + refusal->second.first +
            "', " + refusal->second.second,
        "quantize other layers; --remarks says why each stays in float");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What is quantized
//===----------------------------------------------------------------------===//

bool Editor::isRedundantClip(const NodeProto &clip) const {
  const std::string &from = clip.input(0);
  if (!isOp(clip, {"Relu", "Clip"}) || outputs.contains(from) ||
      getReaders(from).size() != 1)
    return false;
  int producer = findProducer(from);
  if (producer < 0)
    return false;
  if (isOp(clip, {"Relu"}))
    return true;
  // A scale that is trained may leave the range of the clipping.
  const QuantizationRule *rule = marked.lookup(producer);
  if (!rule || rule->learned || !has(clip, 1) || !has(clip, 2))
    return false;
  const TensorProto *low = initializers.lookup(clip.input(1));
  FailureOr<std::string> bytes =
      low ? tensorBytes(file, *low) : FailureOr<std::string>(failure());
  return succeeded(bytes) &&
         llvm::all_of(*bytes, [](char byte) { return byte == 0; });
}

bool Editor::isReadByLayersAlone(StringRef value) const {
  return !outputs.contains(value) && !getReaders(value).empty() &&
         llvm::all_of(getReaders(value), [&](const Reader &reader) {
           return reader.second == 0 && isInteger(reader.first);
         });
}

void Editor::findComputed() {
  /// Values that are inside of kernels: a clipping follows.
  llvm::StringSet<> inner;
  for (int i = 0; i < graph.node_size(); ++i) {
    const NodeProto &op = node(i);
    if (op.output_size() == 0 || op.input_size() == 0)
      continue;
    const std::string &out = op.output(0);
    auto isComputed = [&](const std::string &input) {
      return computed.contains(input);
    };
    bool isKernel = isOp(op, {"Conv"}) && isInteger(i);
    // Results of other layers are in float, unless nothing else reads them.
    if (isOp(op, {"Gemm"}) && isInteger(i)) {
      ArrayRef<Reader> read = getReaders(out);
      bool isClipped = read.size() == 1 && read[0].second == 0 &&
                       isRedundantClip(node(read[0].first));
      isKernel = isReadByLayersAlone(
          isClipped ? StringRef(node(read[0].first).output(0)) : out);
    }
    isKernel |= isElementwise(op) && llvm::all_of(op.input(), isComputed);
    if (isKernel) {
      ArrayRef<Reader> read = getReaders(out);
      if (read.size() == 1 && read[0].second == 0 &&
          isRedundantClip(node(read[0].first)))
        inner.insert(out);
      else
        computed.insert(out);
    } else if ((isOp(op, {"Relu", "Clip"}) && inner.contains(op.input(0))) ||
               (movesValues(op) && isComputed(op.input(0)))) {
      computed.insert(out);
    }
  }
}

void Editor::requireComputed(StringRef value, const QuantizationRule *rule) {
  SmallVector<std::string> work = {value.str()};
  while (!work.empty()) {
    std::string next = work.pop_back_val();
    Pair pair;
    pair.like = next;
    pair.rule = rule;
    if (!pairs.insert({next, pair}).second)
      continue;
    const NodeProto *op = &node(findProducer(next));
    if (movesValues(*op)) {
      pairs[next].like = op->input(0);
      work.push_back(op->input(0));
      continue;
    }
    if (isOp(*op, {"Relu", "Clip"}))
      op = &node(findProducer(op->input(0)));
    if (isElementwise(*op))
      work.append(op->input().begin(), op->input().end());
  }
}

void Editor::addWeight(int layer) {
  const NodeProto &product = node(layer);
  const QuantizationRule &rule = *marked.lookup(layer);
  std::string weight = product.input(1);
  Pair pair;
  pair.rule = &rule;
  pair.isWeight = true;
  pair.shape = *findShape(weight);
  bool isTransposed = isOp(product, {"Gemm"}) && getInt(product, "transB", 0);
  int64_t outputs = isOp(product, {"Conv"}) || isTransposed ? 0 : 1;
  // A product in 4 bits is a MatMul.
  if (rule.isInt4) {
    pair.axis = 0;
    if (isTransposed) {
      weight += "/transposed";
      std::swap(pair.shape[0], pair.shape[1]);
    }
  } else if (rule.perChannel) {
    pair.axis = outputs;
  }
  pair.like = weight;
  operands[layer] = {product.input(0), weight};
  pair.readers.push_back({layer, 1});
  auto [found, isNew] = pairs.insert({weight, pair});
  // Layers that share a weight share its scales.
  if (!isNew)
    found->second.readers.push_back({layer, 1});
}

void Editor::addPairs() {
  for (int i = 0; i < graph.node_size(); ++i) {
    if (!isMarked(i))
      continue;
    addWeight(i);
    if (!isInteger(i))
      continue;
    const QuantizationRule *rule = marked.lookup(i);
    const std::string &input = node(i).input(0);
    if (computed.contains(input)) {
      requireComputed(input, rule);
    } else {
      Pair pair;
      pair.like = input;
      pair.rule = rule;
      pairs.insert({input, pair}).first->second.readers.push_back({i, 0});
    }
    // The kernel of a convolution has a quantized result.
    std::string out = node(i).output(0);
    if (isOp(node(i), {"Conv"})) {
      if (!computed.contains(out))
        out = node(getReaders(out)[0].first).output(0);
      requireComputed(out, rule);
    }
  }
}

//===----------------------------------------------------------------------===//
// The edit
//===----------------------------------------------------------------------===//

std::string Editor::makeName(const Twine &wish) {
  std::string name = wish.str();
  for (int i = 2; !names.insert(name).second; ++i)
    name = (wish + "_" + Twine(i)).str();
  return name;
}

std::string Editor::addInitializer(const Twine &wish, int32_t dataType,
                                   ArrayRef<int64_t> shape, size_t bytes) {
  TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(makeName(wish));
  tensor.set_data_type(dataType);
  for (int64_t size : shape)
    tensor.add_dims(size);
  tensor.set_raw_data(std::string(bytes, '\0'));
  return tensor.name();
}

std::string Editor::findRoot(const std::string &value) {
  // Chains of values that are moved end where they are computed.
  std::string root = value;
  for (const Pair *next = &pairs[root]; next->like != root; next = &pairs[root])
    root = next->like;
  return root;
}

Quantizer &Editor::getQuantizer(const std::string &root, const Pair &pair) {
  auto [found, isNew] = quantizers.try_emplace(root);
  Quantizer &quantizer = found->second;
  if (!isNew)
    return quantizer;
  const QuantizationRule &rule = *pair.rule;
  quantizer.isLearned = rule.learned;
  quantizer.isAffine = !pair.isWeight;
  std::vector<int64_t> shape;
  int32_t dataType = TensorProto::UINT8;
  if (pair.isWeight) {
    dataType = rule.isInt4 ? TensorProto::INT4 : TensorProto::INT8;
    constexpr int most = 127, mostReduced = 63, mostOfInt4 = 7;
    quantizer.greatest = rule.isInt4         ? mostOfInt4
                         : rule.reducesRange ? mostReduced
                                             : most;
    quantizer.least = -quantizer.greatest;
    quantizer.axis = pair.axis;
    if (rule.isInt4) {
      quantizer.block = rule.block;
      shape = pair.shape;
      shape[0] = (shape[0] + rule.block - 1) / rule.block;
    } else if (pair.axis) {
      shape = {pair.shape[*pair.axis]};
    }
  }
  size_t count = llvm::product_of(shape, size_t(1));
  quantizer.scale = addInitializer(root + "_scale", TensorProto::FLOAT, shape,
                                   count * sizeof(float));
  quantizer.zeroPoint =
      addInitializer(root + "_zero_point", dataType, shape,
                     rule.isInt4 && pair.isWeight ? (count + 1) / 2 : count);
  if (quantizer.isAffine) {
    CodedInitializer whole;
    whole.state = quantizer.zeroPoint;
    whole.dtype = runtime::DType::U8;
    whole.isWhole = true;
    result.zeroPoints[quantizer.zeroPoint] = whole;
  }
  return quantizer;
}

NodeProto &Editor::append(StringRef opType, const std::string &name,
                          ArrayRef<std::string> inputs,
                          const std::string &output) {
  NodeProto &added = *rewritten.Add();
  added.set_op_type(opType.str());
  added.set_name(name);
  for (const std::string &input : inputs)
    added.add_input(input);
  added.add_output(output);
  return added;
}

void Editor::appendPair(const std::string &value, const Pair &pair,
                        const std::string &from, const std::string &to) {
  std::string root = findRoot(value);
  Quantizer &quantizer = getQuantizer(root, pair);
  std::string codes = makeName(value + "_quantized");
  if (quantizer.codes.empty() && root == value)
    quantizer.codes = codes;
  for (auto [opType, input, output] :
       {std::tuple<StringRef, std::string, std::string>("QuantizeLinear", from,
                                                        codes),
        {"DequantizeLinear", codes, to}}) {
    NodeProto &added = append(
        opType, output, {input, quantizer.scale, quantizer.zeroPoint}, output);
    auto addAttribute = [&](const char *name, int64_t number) {
      onnx::AttributeProto &attribute = *added.add_attribute();
      attribute.set_name(name);
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(number);
    };
    if (quantizer.axis)
      addAttribute("axis", *quantizer.axis);
    if (quantizer.block > 1)
      addAttribute("block_size", quantizer.block);
  }
}

void Editor::appendPairs(const std::string &value) {
  auto found = pairs.find(value);
  if (found == pairs.end())
    return;
  const Pair &pair = found->second;
  // What all readers take has the name of the value.
  if (pair.readers.empty()) {
    std::string exact = makeName(value + "_exact");
    // The last node computes it.
    for (std::string &output : *rewritten.rbegin()->mutable_output())
      if (output == value)
        output = exact;
    appendPair(value, pair, exact, value);
    return;
  }
  std::string decoded = makeName(value + "_dequantized");
  appendPair(value, pair, value, decoded);
  for (const Reader &reader : pair.readers)
    graph.mutable_node(reader.first)->set_input(reader.second, decoded);
}

std::string Editor::appendRounded(int number, const std::string &bias,
                                  const std::string &prefix) {
  auto getScale = [&](const std::string &value) {
    return quantizers[findRoot(value)].scale;
  };
  const auto &[input, weight] = operands[number];
  // By this unit, a power of two, nothing is rounded while scales are not
  // known.
  constexpr float unit = 0x1p-60F;
  std::string least =
      addInitializer(prefix + "_least", TensorProto::FLOAT, {}, sizeof unit);
  graph.mutable_initializer()->rbegin()->set_raw_data(
      std::string(reinterpret_cast<const char *>(&unit), sizeof unit));
  result.constants.push_back(least);
  auto compute = [&](StringRef opType, ArrayRef<std::string> inputs,
                     StringRef name) {
    std::string output = makeName(prefix + name);
    append(opType, output, inputs, output);
    return output;
  };
  std::string scale =
      compute("Mul", {getScale(input), getScale(weight)}, "_scales");
  scale = compute("Max", {scale, least}, "_units");
  std::string codes = compute("Div", {bias, scale}, "_codes");
  codes = compute("Round", {codes}, "_rounded");
  result.rounded.insert(codes);
  return compute("Mul", {codes, scale}, "_exact");
}

void Editor::appendProduct(int number, NodeProto product,
                           const QuantizationRule &rule) {
  std::string out = product.output(0),
              bias = has(product, 2) ? product.input(2) : "";
  bool isGemm = isOp(product, {"Gemm"});
  // In a kernel with a quantized result, which may be that of a clipping, the
  // bias is a part of the kernel.
  auto isQuantized = [&](const std::string &value) {
    return computed.contains(value) && pairs.count(value);
  };
  ArrayRef<Reader> read = getReaders(out);
  bool isInKernel =
      isQuantized(out) || (read.size() == 1 && read[0].second == 0 &&
                           isRedundantClip(node(read[0].first)) &&
                           isQuantized(node(read[0].first).output(0)));
  // In these forms ONNX Runtime does not merge the bias with the product before
  // it looks for quantized operands.
  if (isGemm && rule.isInt4) {
    product.set_op_type("MatMul");
    product.clear_attribute();
  }
  if (isGemm && !bias.empty() && (rule.isInt4 || !isInKernel)) {
    std::string exact = makeName(out + "_product");
    product.mutable_input()->RemoveLast();
    product.set_output(0, exact);
    *rewritten.Add() = std::move(product);
    std::string negative = makeName(out + "_minus_bias");
    append("Neg", negative, {bias}, negative);
    append("Sub", makeName(out + "_add_bias"), {exact, negative}, out);
    return;
  }
  if (!bias.empty() && !rule.isInt4)
    product.set_input(2, appendRounded(number, bias, out + "_bias"));
  *rewritten.Add() = std::move(product);
}

void Editor::rewrite() {
  // Biases of matmuls.
  for (auto [i, rule] : marked) {
    if (!isOp(node(i), {"MatMul"}))
      continue;
    for (const Reader &reader : getReaders(node(i).output(0))) {
      if (reader.second < 0 || !isOp(node(reader.first), {"Add"}))
        continue;
      const TensorProto *bias =
          initializers.lookup(node(reader.first).input(1 - reader.second));
      if (bias && bias->dims_size() == 1)
        subtracted.insert(reader.first);
    }
  }
  std::vector<std::string> first;
  for (const auto &[value, pair] : pairs)
    if (findProducer(value) < 0 && !StringRef(value).ends_with("/transposed"))
      first.push_back(value);
  for (const std::string &value : first)
    appendPairs(value);
  for (int i = 0; i < graph.node_size(); ++i) {
    const QuantizationRule *rule = marked.lookup(i);
    std::vector<std::string> values(node(i).output().begin(),
                                    node(i).output().end());
    if (rule && rule->isInt4 && isOp(node(i), {"Gemm"}) &&
        getInt(node(i), "transB", 0)) {
      // The first of the layers that share a weight transposes it.
      std::string weight = node(i).input(1), across = weight + "/transposed";
      if (names.insert(across).second) {
        NodeProto &transpose = append("Transpose", across, {weight}, across);
        onnx::AttributeProto &perm = *transpose.add_attribute();
        perm.set_name("perm");
        perm.set_type(onnx::AttributeProto::INTS);
        perm.add_ints(1);
        perm.add_ints(0);
        appendPairs(across);
      }
    }
    if (rule) {
      appendProduct(i, node(i), *rule);
    } else if (subtracted.contains(i)) {
      NodeProto add = node(i);
      bool isSecond = initializers.contains(add.input(1));
      std::string bias = add.input(isSecond ? 1 : 0),
                  other = add.input(isSecond ? 0 : 1),
                  negative = makeName(add.output(0) + "_minus_bias");
      append("Neg", negative, {bias}, negative);
      add.set_op_type("Sub");
      add.set_input(0, other);
      add.set_input(1, negative);
      *rewritten.Add() = std::move(add);
    } else {
      *rewritten.Add() = node(i);
    }
    // Of several results, none is computed by an integer kernel.
    for (const std::string &value : values)
      appendPairs(value);
  }
  graph.mutable_node()->Swap(&rewritten);
  for (auto &[value, quantizer] : quantizers)
    result.quantizers[quantizer.scale] = quantizer;
}

void Editor::report() {
  std::map<std::string, unsigned> left;
  for (int i = 0; i < graph.node_size(); ++i)
    if (node(i).output_size() > 0 && !isLayer(node(i)) &&
        !computed.contains(node(i).output(0)) && !movesValues(node(i)) &&
        !isOp(node(i), {"Relu", "Clip", "Identity", "Shape", "Cast", "Gather"}))
      ++left[node(i).op_type()];
  std::string text;
  for (const auto &[opType, count] : left)
    text += (text.empty() ? "" : ", ") + opType + " (" + std::to_string(count) +
            ")";
  if (text.empty())
    return;
  remark::missed(file, remarkOptions("quantize", "FloatNodes"))
      << remark::metric("nodes", text)
      << remark::reason("ONNX Runtime has no integer kernel for the operator, "
                        "or what it reads or computes is not quantized");
}

LogicalResult Editor::run() {
  findLayers();
  if (failed(checkOpset()) || failed(chooseRules()))
    return failure();
  findComputed();
  addPairs();
  report();
  rewrite();
  return success();
}

FailureOr<Quantization>
onnx_import::quantizeModel(Location file, onnx::ModelProto &model,
                           const ImportOptions &options) {
  if (options.qat.empty())
    return Quantization();
  if (model.functions_size() > 0 && failed(inlineFunctions(file, model)))
    return failure();
  dropZeroBiases(*model.mutable_graph());
  FoldedNorms folded =
      foldNorms(*model.mutable_graph(), [&](const NodeProto &conv) {
        Location where = nodeLocation(file.getContext(), conv);
        const QuantizationRule *rule =
            findRule(options, findLayerPath(where, conv.input(1)),
                     conv.input(1), conv.name());
        return rule && rule->foldsNorms;
      });
  Editor editor(file, model, options, folded);
  if (failed(editor.run()))
    return failure();
  Quantization result = editor.take();
  result.statistics = std::move(folded.statistics);
  return result;
}
