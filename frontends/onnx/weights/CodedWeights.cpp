// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/weights/CodedWeights.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/support/ElementTypes.h"
#include "frontends/onnx/model/MappedData.h"
#include "frontends/onnx/model/NarrowTypes.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Tensors.h"
#include "frontends/onnx/weights/InputRoles.h"
#include "runtime/core/DType.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;
using onnx::TensorProto;

namespace {

/// The operators that hold codes.
enum class Form : uint8_t { Integers, Floats, Blocks };

/// The sizes of a matrix in rows of blocks, and the form of its codes, as a
/// node says them.
struct Layout {
  int64_t rows = 0, columns = 0, block = 0, bits = 4;
  ingot_encoding kind = INGOT_CODE_INT4;
  /// Whether the file has the transpose of the matrix in blocks.
  bool isTransposed = false;
  /// Whether codes are in two's complement.
  bool isSigned = false;
  /// Whether codes without zero points are counted from the middle of their
  /// range.
  bool hasMiddle = true;
  /// Whether codes are those of an operator of ONNX Runtime.
  bool isInNode = true;

  int64_t blocksOfRow() const { return llvm::divideCeil(columns, block); }
};

class Finder {
public:
  Finder(Location file, onnx::ModelProto &model, const ImportOptions &options)
      : file(file), model(model), options(options) {
    for (TensorProto &tensor : *model.mutable_graph()->mutable_initializer())
      initializers[tensor.name()] = &tensor;
  }

  FailureOr<CodedWeights> find();

private:
  LogicalResult fail(const onnx::NodeProto &node, const Twine &what,
                     const Twine &hint) const {
    return emitUserError(nodeLocation(file.getContext(), node),
                         Twine(node.op_type()) + ": " + what, hint);
  }
  LogicalResult malformed(const onnx::NodeProto &node,
                          const Twine &what) const {
    return fail(node, what, "the model is not valid; export it again");
  }
  TensorProto *lookup(const onnx::NodeProto &node, int input) const {
    if (input >= node.input_size())
      return nullptr;
    return initializers.lookup(node.input(input));
  }
  static bool has(const onnx::NodeProto &node, int input) {
    return input < node.input_size() && !node.input(input).empty();
  }
  LogicalResult checkIntegers(const onnx::NodeProto &node);
  LogicalResult checkFloats(const onnx::NodeProto &node);
  LogicalResult checkBlocks(const onnx::NodeProto &node);
  /// Adds a matrix of these parts, unless another node has added it.
  void add(const onnx::NodeProto &node, const Layout &layout,
           TensorProto &codes, TensorProto &scales, TensorProto *zeros);
  /// Adds a part as the file has it.
  void addPart(const CodedWeight &weight, const Layout &layout,
               TensorProto &tensor, runtime::CodesPart part, bool hasZeros);

  Location file;
  onnx::ModelProto &model;
  const ImportOptions &options;
  llvm::StringMap<TensorProto *> initializers;
  CodedWeights result;
  /// The names of matrices by those of their parts.
  llvm::StringMap<std::string> known;
};

} // namespace

static int64_t getInt(const onnx::NodeProto &node, StringRef name,
                      int64_t otherwise) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.i();
  return otherwise;
}

static bool isOf(const onnx::NodeProto &node, StringRef domain, StringRef op) {
  return canonicalDomain(node.domain()) == domain && node.op_type() == op;
}

static std::optional<Form> getForm(const onnx::NodeProto &node) {
  if (isOf(node, "com.microsoft", "MatMulNBits"))
    return Form::Integers;
  if (isOf(node, "com.microsoft", "MatMulBnb4"))
    return Form::Floats;
  if ((isOf(node, "", "DequantizeLinear") ||
       isOf(node, "com.microsoft", "DequantizeLinear")) &&
      getInt(node, "block_size", 0) > 0)
    return Form::Blocks;
  return std::nullopt;
}

static bool isFloat(const TensorProto &tensor) {
  return llvm::is_contained(
      {TensorProto::FLOAT, TensorProto::FLOAT16, TensorProto::BFLOAT16},
      tensor.data_type());
}

static int64_t countElements(const TensorProto &tensor) {
  int64_t count = 1;
  for (int64_t size : tensor.dims())
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      return -1;
  return count;
}

/// Returns what the names of the codes and the scales begin with, as the name
/// of the matrix: `W_Q4` and `W_scales` are of `W`.
static std::string getCommonName(StringRef codes, StringRef scales) {
  size_t common = 0;
  while (common < std::min(codes.size(), scales.size()) &&
         codes[common] == scales[common])
    ++common;
  StringRef name = codes.take_front(common).rtrim("_./:");
  if (name.empty())
    return codes.str();
  return name.ends_with("weight") || codes.contains("::")
             ? name.str()
             : (name + ".weight").str();
}

/// Returns the names of the parts of a node's matrix.
static std::string getKey(const onnx::NodeProto &node, int first) {
  std::string key;
  for (int i = first; i < first + 3; ++i)
    key += (i < node.input_size() ? node.input(i) : "") + "\n";
  return key;
}

void Finder::add(const onnx::NodeProto &node, const Layout &layout,
                 TensorProto &codes, TensorProto &scales, TensorProto *zeros) {
  std::string &name = known[getKey(node, layout.isInNode ? 1 : 0)];
  if (!name.empty())
    return;
  name = getCommonName(codes.name(), scales.name());
  while (initializers.contains(name) || result.weights.contains(name))
    name += "_";
  CodedWeight &weight = result.weights[name];
  weight.name = name;
  weight.transposed = layout.isTransposed;
  weight.rows = layout.isTransposed ? layout.columns : layout.rows;
  weight.columns = layout.isTransposed ? layout.rows : layout.columns;
  quantization::Encoding encoding{layout.kind, layout.block};
  // Blocks of a flattened matrix begin anywhere, others with their row. The
  // file has each part for one matrix.
  bool isFlat = layout.kind == INGOT_CODE_NF4 || layout.kind == INGOT_CODE_FP4;
  bool isShared =
      llvm::any_of(ArrayRef<const TensorProto *>{&codes, &scales, zeros},
                   [&](const TensorProto *part) {
                     return part && result.parts.contains(part->name());
                   });
  if (encoding.isValid() && !isShared &&
      (isFlat || layout.columns % layout.block == 0)) {
    weight.encoding = encoding;
    weight.encoding->hasOffsets = zeros || !layout.hasMiddle;
  }
  addPart(weight, layout, codes, runtime::CodesPart::Codes, zeros);
  addPart(weight, layout, scales, runtime::CodesPart::Scales, zeros);
  if (zeros)
    addPart(weight, layout, *zeros, runtime::CodesPart::ZeroPoints, zeros);
}

void Finder::addPart(const CodedWeight &weight, const Layout &layout,
                     TensorProto &tensor, runtime::CodesPart part,
                     bool hasZeros) {
  // Data in other fields has a byte of codes an element.
  if (!tensor.has_raw_data() && !isFloat(tensor)) {
    std::string bytes;
    for (int32_t value : tensor.int32_data())
      bytes.push_back(static_cast<char>(value));
    tensor.clear_int32_data();
    tensor.set_raw_data(std::move(bytes));
  }
  // Codes of a merged weight are counted from the middle, which the file would
  // not say.
  bool cannotMerge = weight.encoding && weight.encoding->hasOffsets &&
                     !layout.hasMiddle && !hasZeros;
  if (!weight.encoding || cannotMerge)
    return;
  CodedInitializer &added = result.parts[tensor.name()];
  added.state = weight.name;
  if (isFloat(tensor))
    added.dtype = getDType(elementType(file.getContext(), tensor.data_type()));
  added.codes.part = part;
  added.codes.kind = static_cast<runtime::EncodingKind>(layout.kind);
  added.codes.block = layout.block;
  added.codes.transposed = weight.transposed;
  added.codes.columns = layout.isTransposed;
  added.codes.isSigned = layout.isSigned;
  added.codes.wholeRows =
      layout.isInNode && part == runtime::CodesPart::ZeroPoints;
}

//===----------------------------------------------------------------------===//
// The operators
//===----------------------------------------------------------------------===//

/// Returns what a node says of its codes, which has to be checked.
static Layout getLayout(const onnx::NodeProto &node, Form form,
                        const TensorProto &codes) {
  Layout layout;
  layout.block = getInt(node, "block_size", 0);
  switch (form) {
  case Form::Integers:
    layout.rows = getInt(node, "N", 0);
    layout.columns = getInt(node, "K", 0);
    layout.bits = getInt(node, "bits", 4);
    break;
  case Form::Floats: {
    bool isTransposed = getInt(node, "transB", 1);
    layout.rows = getInt(node, isTransposed ? "N" : "K", 0);
    layout.columns = getInt(node, isTransposed ? "K" : "N", 0);
    layout.kind =
        getInt(node, "quant_type", 1) == 1 ? INGOT_CODE_NF4 : INGOT_CODE_FP4;
    return layout;
  }
  case Form::Blocks: {
    int64_t axis = getInt(node, "axis", 1);
    layout.isTransposed = axis == 0 || axis == -2;
    layout.rows = codes.dims(layout.isTransposed ? 1 : 0);
    layout.columns = codes.dims(layout.isTransposed ? 0 : 1);
    layout.bits = codes.data_type() == TensorProto::INT4 ||
                          codes.data_type() == TensorProto::UINT4
                      ? 4
                      : 8;
    layout.isSigned = codes.data_type() == TensorProto::INT4 ||
                      codes.data_type() == TensorProto::INT8;
    // Those that begin at 0 have an offset without a zero point, too.
    layout.hasMiddle = layout.isSigned;
    layout.isInNode = false;
    break;
  }
  }
  layout.kind = layout.bits == 4 ? INGOT_CODE_INT4 : INGOT_CODE_INT8;
  return layout;
}

LogicalResult Finder::checkIntegers(const onnx::NodeProto &node) {
  TensorProto *codes = lookup(node, 1), *scales = lookup(node, 2);
  if (!codes || !scales || (has(node, 3) && !lookup(node, 3)))
    return fail(node, "its weight is computed",
                "use a model whose weights are initializers");
  if (has(node, 4))
    return fail(node, "columns in groups (g_idx) are not supported",
                "quantize the model without reordering columns (act_order)");
  Layout layout = getLayout(node, Form::Integers, *codes);
  constexpr int64_t most = int64_t(1) << 40, largestBlock = int64_t(1) << 16;
  if (layout.bits != 4 && layout.bits != 8)
    return fail(node,
                "weights of " + Twine(layout.bits) + " bits are not supported",
                "quantize the model to 4 or 8 bits");
  if (layout.rows <= 0 || layout.columns <= 0 ||
      layout.rows > most / layout.columns)
    return malformed(node, "K and N are " + Twine(layout.columns) + " and " +
                               Twine(layout.rows));
  if (layout.block < 16 || layout.block > largestBlock ||
      !llvm::isPowerOf2_64(layout.block))
    return malformed(node, "block_size is " + Twine(layout.block) +
                               ", not a power of two from 16 on");
  int64_t blocks = layout.rows * layout.blocksOfRow();
  int64_t rowBytes = llvm::divideCeil(layout.blocksOfRow() * layout.bits, 8);
  TensorProto *zeros = lookup(node, 3);
  if (codes->data_type() != TensorProto::UINT8 ||
      countElements(*codes) != blocks * layout.block * layout.bits / 8)
    return malformed(node, "'" + codes->name() +
                               "' does not have the codes of " +
                               Twine(layout.rows) + " x " +
                               Twine(layout.columns) + " numbers in UINT8");
  if (!isFloat(*scales) || countElements(*scales) != blocks)
    return malformed(node, "'" + scales->name() + "' does not have " +
                               Twine(blocks) + " scales");
  if (zeros && countElements(*zeros) !=
                   (isFloat(*zeros) ? blocks : layout.rows * rowBytes))
    return malformed(node, "'" + zeros->name() + "' does not have " +
                               Twine(blocks) + " zero points");
  if (zeros && !isFloat(*zeros) && zeros->data_type() != TensorProto::UINT8)
    return malformed(node,
                     "zero points are " + dataTypeName(zeros->data_type()));
  add(node, layout, *codes, *scales, zeros);
  return success();
}

LogicalResult Finder::checkFloats(const onnx::NodeProto &node) {
  TensorProto *codes = lookup(node, 1), *scales = lookup(node, 2);
  if (!codes || !scales)
    return fail(node, "its weight is computed",
                "use a model whose weights are initializers");
  Layout layout = getLayout(node, Form::Floats, *codes);
  int64_t type = getInt(node, "quant_type", 1);
  constexpr int64_t most = int64_t(1) << 40;
  if (type != 0 && type != 1)
    return malformed(node, "quant_type is " + Twine(type));
  if (layout.rows <= 0 || layout.columns <= 0 ||
      layout.rows > most / layout.columns)
    return malformed(node, "K and N are " + Twine(getInt(node, "K", 0)) +
                               " and " + Twine(getInt(node, "N", 0)));
  if (layout.block < 16 || layout.block > quantization::Encoding::kMostBlock ||
      !llvm::isPowerOf2_64(layout.block))
    return malformed(node, "block_size is " + Twine(layout.block) +
                               ", not a power of two from 16 on");
  int64_t elements = layout.rows * layout.columns;
  int64_t blocks = llvm::divideCeil(elements, layout.block);
  if (codes->data_type() != TensorProto::UINT8 ||
      countElements(*codes) != llvm::divideCeil(elements, 2))
    return malformed(node, "'" + codes->name() +
                               "' does not have the codes of " +
                               Twine(elements) + " numbers in UINT8");
  if (!isFloat(*scales) || countElements(*scales) != blocks)
    return malformed(node, "'" + scales->name() + "' does not have " +
                               Twine(blocks) + " scales");
  add(node, layout, *codes, *scales, nullptr);
  return success();
}

/// Whether the element type is one of integers of 4 or 8 bits.
static bool isCode(int32_t type) {
  return llvm::is_contained({TensorProto::INT4, TensorProto::UINT4,
                             TensorProto::INT8, TensorProto::UINT8},
                            type);
}

LogicalResult Finder::checkBlocks(const onnx::NodeProto &node) {
  TensorProto *codes = lookup(node, 0), *scales = lookup(node, 1);
  TensorProto *zeros = lookup(node, 2);
  // Others are imported node by node.
  if (!codes || !scales || (has(node, 2) && !zeros) ||
      codes->dims_size() != 2 || !isCode(codes->data_type()) ||
      !isFloat(*scales) ||
      (!options.trainable.empty() && options.trainable.match(scales->name())))
    return success();
  int64_t axis = getInt(node, "axis", 1);
  if (axis < -2 || axis > 1)
    return success();
  Layout layout = getLayout(node, Form::Blocks, *codes);
  int64_t blocks = layout.blocksOfRow();
  auto fits = [&](const TensorProto &part) {
    return part.dims_size() == 2 &&
           part.dims(layout.isTransposed ? 1 : 0) == layout.rows &&
           part.dims(layout.isTransposed ? 0 : 1) == blocks;
  };
  if (countElements(*codes) <= 0 || !fits(*scales) ||
      (zeros && (!fits(*zeros) || zeros->data_type() != codes->data_type())))
    return success();
  if (layout.columns % layout.block != 0)
    return success();
  add(node, layout, *codes, *scales, zeros);
  return success();
}

FailureOr<CodedWeights> Finder::find() {
  for (const onnx::NodeProto &node : model.graph().node()) {
    std::optional<Form> form = getForm(node);
    if (!form)
      continue;
    LogicalResult found = *form == Form::Integers ? checkIntegers(node)
                          : *form == Form::Floats ? checkFloats(node)
                                                  : checkBlocks(node);
    if (failed(found))
      return failure();
  }
  result.byParts = std::move(known);
  return std::move(result);
}

FailureOr<CodedWeights>
onnx_import::findCodedWeights(Location file, onnx::ModelProto &model,
                              const ImportOptions &options) {
  return Finder(file, model, options).find();
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// Returns the numbers of a tensor of floats in f32, as bytes.
static FailureOr<std::string> readFloats(Location file,
                                         const TensorProto &tensor) {
  FailureOr<std::string> bytes = tensorBytes(file, tensor);
  if (failed(bytes))
    return failure();
  auto type = getDType(elementType(file.getContext(), tensor.data_type()));
  if (type == runtime::DType::F32)
    return bytes;
  int64_t count = countElements(tensor);
  std::string numbers(count * sizeof(float), '\0');
  runtime::convert(bytes->data(), type, numbers.data(), runtime::DType::F32,
                   count);
  return numbers;
}

/// Returns integers of 4 or 8 bits, one a byte. Those of operators have several
/// in a byte, and those of each row begin with a byte.
static FailureOr<std::string> readIntegers(Location file,
                                           const TensorProto &tensor,
                                           int64_t bits, int64_t rows,
                                           int64_t columns) {
  FailureOr<std::string> bytes = tensorBytes(file, tensor);
  if (failed(bytes) || bits == 8 || narrowType(tensor.data_type()))
    return bytes;
  std::string integers;
  int64_t rowBytes = llvm::divideCeil(columns, 2);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k)
      integers.push_back(static_cast<char>(
          static_cast<uint8_t>((*bytes)[i * rowBytes + k / 2]) >>
              (k % 2 == 0 ? 0 : 4) &
          15));
  return integers;
}

/// Returns elements of a width in rows from those in columns.
static std::string transposeElements(StringRef from, int64_t rows,
                                     int64_t columns, size_t width) {
  std::string to(from.size(), '\0');
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k)
      std::memcpy(to.data() + (i * columns + k) * width,
                  from.data() + (k * rows + i) * width, width);
  return to;
}

namespace {

/// Takes the parts of a matrix of integers.
class IntegerReader {
public:
  IntegerReader(Location file, CodedWeight &weight, Layout layout)
      : file(file), weight(weight), layout(layout) {}

  LogicalResult read(const TensorProto &codes, const TensorProto &scales,
                     const TensorProto *zeros);

private:
  LogicalResult readOffsets(const TensorProto *zeros);
  /// Returns the integer that an element of the file stands for.
  float getNumber(char element) const {
    return layout.isSigned ? static_cast<float>(static_cast<int8_t>(element))
                           : static_cast<float>(static_cast<uint8_t>(element));
  }
  void decode(StringRef integers);

  Location file;
  CodedWeight &weight;
  const Layout layout;
};

} // namespace

/// Reads what is added to integers, which are counted from the middle of their
/// range.
LogicalResult IntegerReader::readOffsets(const TensorProto *zeros) {
  int64_t blocks = layout.rows * layout.blocksOfRow();
  const float middle = layout.bits == 4 ? 8 : 128;
  std::vector<float> offsets(blocks);
  if (!zeros && layout.hasMiddle)
    return success();
  if (!zeros) {
    std::fill(offsets.begin(), offsets.end(), middle);
  } else if (isFloat(*zeros)) {
    FailureOr<std::string> numbers = readFloats(file, *zeros);
    if (failed(numbers))
      return failure();
    std::memcpy(offsets.data(), numbers->data(), numbers->size());
    for (float &offset : offsets)
      offset = middle - offset;
  } else {
    FailureOr<std::string> integers = readIntegers(
        file, *zeros, layout.bits, layout.rows, layout.blocksOfRow());
    if (failed(integers))
      return failure();
    for (auto [offset, integer] : llvm::zip_equal(offsets, *integers))
      offset =
          layout.isSigned ? -getNumber(integer) : middle - getNumber(integer);
  }
  weight.offsets.assign(reinterpret_cast<const char *>(offsets.data()),
                        offsets.size() * sizeof(float));
  if (layout.isTransposed)
    weight.offsets = transposeElements(weight.offsets, layout.rows,
                                       layout.blocksOfRow(), sizeof(float));
  return success();
}

/// Replaces the codes by the numbers that they stand for.
void IntegerReader::decode(StringRef integers) {
  const int64_t padded = layout.blocksOfRow() * layout.block;
  const float middle = layout.bits == 4 ? 8 : 128;
  const auto *scales = reinterpret_cast<const float *>(weight.scales.data());
  const auto *offsets = reinterpret_cast<const float *>(weight.offsets.data());
  std::vector<float> numbers;
  numbers.reserve(layout.rows * layout.columns);
  for (int64_t i = 0; i < layout.rows; ++i)
    for (int64_t k = 0; k < layout.columns; ++k) {
      int64_t block = i * layout.blocksOfRow() + k / layout.block;
      float offset = weight.offsets.empty() ? 0 : offsets[block];
      numbers.push_back(
          (getNumber(integers[i * padded + k]) - middle + offset) *
          scales[block]);
    }
  weight.codes.assign(reinterpret_cast<const char *>(numbers.data()),
                      numbers.size() * sizeof(float));
}

LogicalResult IntegerReader::read(const TensorProto &codes,
                                  const TensorProto &scales,
                                  const TensorProto *zeros) {
  int64_t blocks = layout.blocksOfRow();
  FailureOr<std::string> numbers = readFloats(file, scales);
  if (failed(numbers) || failed(readOffsets(zeros)))
    return failure();
  weight.scales = std::move(*numbers);
  if (layout.isTransposed)
    weight.scales =
        transposeElements(weight.scales, layout.rows, blocks, sizeof(float));
  // Codes in rows from the middle of their range are those of the encoding.
  if (weight.encoding && layout.isInNode && layout.bits == 4) {
    FailureOr<std::string> bytes = tensorBytes(file, codes);
    if (failed(bytes))
      return failure();
    weight.codes = std::move(*bytes);
    return success();
  }
  int64_t padded = layout.isInNode ? blocks * layout.block : layout.columns;
  FailureOr<std::string> integers =
      readIntegers(file, codes, layout.bits, layout.rows, padded);
  if (failed(integers))
    return failure();
  if (layout.isTransposed)
    *integers = transposeElements(*integers, layout.rows, layout.columns, 1);
  if (!weight.encoding) {
    decode(*integers);
    return success();
  }
  if (layout.bits == 8) {
    if (!layout.isSigned)
      for (char &integer : *integers)
        integer = static_cast<char>(integer ^ 128);
    weight.codes = std::move(*integers);
    return success();
  }
  for (auto [i, integer] : llvm::enumerate(*integers)) {
    auto code =
        static_cast<uint8_t>((layout.isSigned ? integer + 8 : integer) & 15);
    if (i % 2 == 0)
      weight.codes.push_back(static_cast<char>(code));
    else
      weight.codes.back() = static_cast<char>(weight.codes.back() | code << 4);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

namespace {

/// Replaces nodes of a graph.
class Rewriter {
public:
  explicit Rewriter(onnx::GraphProto &graph) : graph(graph) {
    nodes.Swap(graph.mutable_node());
  }

  /// Adds a node with the name and the metadata of `like`.
  onnx::NodeProto &add(const onnx::NodeProto &like, StringRef op,
                       ArrayRef<std::string> inputs, StringRef output) {
    onnx::NodeProto &node = *graph.add_node();
    node.set_name(like.name());
    *node.mutable_metadata_props() = like.metadata_props();
    node.set_op_type(op.str());
    for (const std::string &input : inputs)
      node.add_input(input);
    node.add_output(output.str());
    return node;
  }
  void addCast(const onnx::NodeProto &like, const std::string &from,
               StringRef to, int32_t type) {
    onnx::NodeProto &node = add(like, "Cast", {from}, to);
    onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name("to");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(type);
  }
  /// Adds y = x W' + bias, computed in f32.
  void addMatmul(const onnx::NodeProto &like, const std::string &weight,
                 bool isTransposed, int32_t type, StringRef bias);

  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;

private:
  onnx::GraphProto &graph;
};

} // namespace

void Rewriter::addMatmul(const onnx::NodeProto &like, const std::string &weight,
                         bool isTransposed, int32_t type, StringRef bias) {
  const std::string &output = like.output(0);
  std::string x = like.input(0), matrix = weight, last = output;
  bool isCast = type != TensorProto::FLOAT;
  if (isCast) {
    addCast(like, x, output + "/x", TensorProto::FLOAT);
    x = output + "/x";
    last = output + "/f32";
  }
  if (isTransposed) {
    matrix = output + "/transposed";
    onnx::NodeProto &node = add(like, "Transpose", {weight}, matrix);
    onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name("perm");
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.add_ints(1);
    attribute.add_ints(0);
  }
  std::string product = bias.empty() ? last : output + "/product";
  add(like, "MatMul", {x, matrix}, product);
  if (!bias.empty()) {
    std::string addend = bias.str();
    if (isCast) {
      addend = output + "/bias";
      addCast(like, bias.str(), addend, TensorProto::FLOAT);
    }
    add(like, "Add", {product, addend}, last);
  }
  if (isCast)
    addCast(like, last, output, type);
}

/// Removes initializers of these names that no node reads.
static void removeUnused(onnx::GraphProto &graph,
                         const llvm::StringSet<> &names) {
  llvm::StringSet<> used;
  walkNodes(graph, [&](const onnx::NodeProto &node) {
    used.insert(node.input().begin(), node.input().end());
  });
  for (const onnx::ValueInfoProto &output : graph.output())
    used.insert(output.name());
  auto isUnused = [&](StringRef name) {
    return names.contains(name) && !used.contains(name);
  };
  auto *inputs = graph.mutable_input();
  inputs->erase(std::remove_if(inputs->begin(), inputs->end(),
                               [&](const onnx::ValueInfoProto &input) {
                                 return isUnused(input.name());
                               }),
                inputs->end());
  auto *tensors = graph.mutable_initializer();
  tensors->erase(std::remove_if(tensors->begin(), tensors->end(),
                                [&](const TensorProto &tensor) {
                                  return isUnused(tensor.name());
                                }),
                 tensors->end());
}

LogicalResult onnx_import::takeCodedWeights(Location file,
                                            onnx::ModelProto &model,
                                            CodedWeights &coded) {
  if (coded.weights.empty())
    return success();
  onnx::GraphProto &graph = *model.mutable_graph();
  llvm::StringMap<TensorProto *> initializers;
  for (TensorProto &tensor : *graph.mutable_initializer())
    initializers[tensor.name()] = &tensor;
  llvm::StringSet<> taken;
  Rewriter rewriter(graph);
  for (const onnx::NodeProto &node : rewriter.nodes) {
    std::optional<Form> form = getForm(node);
    int first = form == Form::Blocks ? 0 : 1;
    auto name =
        form ? coded.byParts.find(getKey(node, first)) : coded.byParts.end();
    if (name == coded.byParts.end()) {
      *graph.add_node() = node;
      continue;
    }
    CodedWeight &weight = coded.weights[name->second];
    auto lookup = [&](int i) {
      return i < node.input_size() ? initializers.lookup(node.input(i))
                                   : nullptr;
    };
    TensorProto *codes = lookup(first), *scales = lookup(first + 1),
                *zeros = *form == Form::Floats ? nullptr : lookup(first + 2);
    if (weight.codes.empty()) {
      if (*form == Form::Floats) {
        FailureOr<std::string> numbers = readFloats(file, *scales);
        FailureOr<std::string> bytes = tensorBytes(file, *codes);
        if (failed(numbers) || failed(bytes))
          return failure();
        weight.codes = std::move(*bytes);
        weight.scales = std::move(*numbers);
        if (!weight.encoding)
          return emitUserError(
              file, "'" + codes->name() + "' is a part of two weights",
              "give each weight codes of its own");
      } else if (failed(
                     IntegerReader(file, weight, getLayout(node, *form, *codes))
                         .read(*codes, *scales, zeros))) {
        return failure();
      }
      for (TensorProto *part : {codes, scales, zeros})
        if (part)
          taken.insert(part->name());
    }
    // The nodes of the graph refer to it by its name.
    int32_t type = scales->data_type();
    if (*form == Form::Blocks) {
      int64_t output = getInt(node, "output_dtype", 0);
      rewriter.addCast(node, weight.name, node.output(0),
                       output ? static_cast<int32_t>(output) : type);
      continue;
    }
    bool isTransposed =
        *form == Form::Integers || getInt(node, "transB", 1) != 0;
    rewriter.addMatmul(node, weight.name, isTransposed, type,
                       *form == Form::Integers && node.input_size() > 5
                           ? StringRef(node.input(5))
                           : StringRef());
  }
  removeUnused(graph, taken);
  for (auto &[name, weight] : coded.weights) {
    TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(name.str());
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.add_dims(weight.rows);
    tensor.add_dims(weight.columns);
    leaveOutData(tensor);
  }
  return success();
}
