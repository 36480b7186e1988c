// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/adapters/SlotModel.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/text/ProtoFields.h"
#include "runtime/trainer/adapters/AdapterFiles.h"
#include "runtime/trainer/adapters/AdapterPart.h"
#include "runtime/trainer/state/StateValues.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <set>

using namespace ingot::runtime;

//===----------------------------------------------------------------------===//
// Messages of ONNX
//===----------------------------------------------------------------------===//

/// The numbers of fields.
namespace model {
constexpr int graph = 7;
} // namespace model
namespace graph {
constexpr int node = 1, initializer = 5, input = 11;
} // namespace graph
namespace node {
constexpr int input = 1, output = 2, name = 3, type = 4, attribute = 5,
              domain = 7;
} // namespace node
namespace attribute {
constexpr int name = 1, number = 2, integer = 3, graph = 6, integers = 8,
              graphs = 11;
} // namespace attribute

namespace {

struct Field {
  int number = 0;
  /// The value of a number; of one of four bytes these.
  uint64_t value = 0;
  /// The content of a text or a message, and the field with what is before it.
  std::string_view content, whole;
};

/// The fields of a message.
class Fields {
public:
  explicit Fields(std::string_view message) : rest(message) {}

  bool next(Field &field) {
    if (rest.empty())
      return false;
    std::string_view start = rest;
    uint64_t tag = takeVarint();
    field = {};
    field.number = static_cast<int>(tag >> 3);
    switch (tag & 7) {
    case 0:
      field.value = takeVarint();
      break;
    case 1:
      take(sizeof(uint64_t));
      break;
    case 2:
      field.content = take(takeVarint());
      break;
    case 5: {
      std::string_view bytes = take(sizeof(uint32_t));
      for (size_t i = 0; i < bytes.size(); ++i)
        field.value |= uint64_t(static_cast<uint8_t>(bytes[i])) << (8 * i);
      break;
    }
    default:
      fail();
    }
    field.whole = start.substr(0, start.size() - rest.size());
    return true;
  }

private:
  [[noreturn]] static void fail() {
    throw badInput("--export-adapter", "the model is no protobuf message",
                   "compile the model again");
  }
  uint64_t takeVarint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      auto byte = static_cast<uint8_t>(take(1).front());
      value |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80)
        return value;
    }
    fail();
  }
  std::string_view take(uint64_t size) {
    if (size > rest.size())
      fail();
    std::string_view bytes = rest.substr(0, size);
    rest.remove_prefix(size);
    return bytes;
  }

  std::string_view rest;
};

/// A node of a graph.
struct Node {
  explicit Node(std::string_view message) {
    Field field;
    for (Fields fields(message); fields.next(field);)
      switch (field.number) {
      case node::input:
        inputs.push_back(field.content);
        break;
      case node::output:
        outputs.push_back(field.content);
        break;
      case node::name:
        name = field.content;
        break;
      case node::type:
        type = field.content;
        break;
      case node::attribute:
        attributes.push_back(field.content);
        break;
      case node::domain:
        domain = field.content;
        break;
      default:
        break;
      }
  }

  /// Whether an attribute that is a number has this value, or is not there.
  bool hasOrLacks(std::string_view key, uint64_t bits) const;
  /// Whether the node transposes a matrix.
  bool isTranspose() const;
  std::string_view getInput(size_t index) const {
    return index < inputs.size() ? inputs[index] : std::string_view();
  }

  std::vector<std::string_view> inputs, outputs, attributes;
  std::string_view name, type, domain;
};

} // namespace

/// Returns the name of an attribute, and its field of this number.
static std::string_view
readAttribute(std::string_view message,
              const std::function<void(const Field &)> &take) {
  std::string_view name;
  Field field;
  for (Fields fields(message); fields.next(field);)
    if (field.number == attribute::name)
      name = field.content;
    else
      take(field);
  return name;
}

bool Node::hasOrLacks(std::string_view key, uint64_t bits) const {
  for (std::string_view message : attributes) {
    uint64_t value = 0;
    if (readAttribute(message, [&](const Field &field) {
          if (field.number == attribute::integer ||
              field.number == attribute::number)
            value = field.value;
        }) == key)
      return value == bits;
  }
  return true;
}

bool Node::isTranspose() const {
  std::vector<uint64_t> order;
  for (std::string_view message : attributes)
    readAttribute(message, [&](const Field &field) {
      if (field.number != attribute::integers)
        return;
      if (field.content.empty())
        order.push_back(field.value);
      for (char dim : field.content)
        order.push_back(static_cast<uint64_t>(dim));
    });
  return type == "Transpose" &&
         (order.empty() || order == std::vector<uint64_t>{1, 0});
}

/// Calls `take` with what nodes of graphs in attributes read.
static void findInnerReads(const Node &node,
                           const std::function<void(std::string_view)> &take) {
  for (std::string_view message : node.attributes)
    readAttribute(message, [&](const Field &field) {
      if (field.number != attribute::graph && field.number != attribute::graphs)
        return;
      Field part;
      for (Fields fields(field.content); fields.next(part);) {
        if (part.number != graph::node)
          continue;
        Node inner(part.content);
        for (std::string_view input : inner.inputs)
          take(input);
        findInnerReads(inner, take);
      }
    });
}

int ingot::runtime::getOnnxType(DType type) {
  switch (type) {
  case DType::F16:
    return 10;
  case DType::BF16:
    return 16;
  case DType::F64:
    return 11;
  default:
    return 1;
  }
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

SlotModel::SlotModel(const Session &session, std::string_view bytes)
    : session(session), bytes(bytes) {
  findUses();
}

/// Calls `take` with the fields of the graph.
static void forEachGraphField(std::string_view bytes,
                              const std::function<void(const Field &)> &take) {
  Field field, part;
  for (Fields fields(bytes); fields.next(field);)
    if (field.number == model::graph)
      for (Fields parts(field.content); parts.next(part);)
        take(part);
}

[[noreturn]] static void failAt(const AdapterSpec &adapter, const Node &node) {
  throw badInput("--export-adapter",
                 "the weight of '" + adapter.module +
                     "' is read by the node '" + std::string(node.name) +
                     "' (" + std::string(node.type) +
                     "), which has no place for an adapter",
                 "--export merges the adapter");
}

SlotModel::Use SlotModel::makeUse(std::string_view message,
                                  const AdapterSpec &adapter) const {
  Node node(message);
  constexpr uint64_t one = 0x3f800000; // As a float.
  Use use;
  use.adapter = &adapter;
  bool isOnnx = node.domain.empty() || node.domain == "ai.onnx";
  use.isConv = node.type == "Conv";
  use.isLookup = node.type == "Gather" && node.hasOrLacks("axis", 0);
  bool isPlain =
      node.type == "MatMul" ||
      (node.type == "Gemm" && node.hasOrLacks("transA", 0) &&
       node.hasOrLacks("alpha", one) && node.hasOrLacks("beta", one));
  if (!isOnnx || node.outputs.size() != 1 ||
      (!use.isConv && !use.isLookup && !isPlain))
    failAt(adapter, node);
  if (!use.isLookup && !adapter.magnitude.empty())
    use.bias = node.getInput(2);
  return use;
}

void SlotModel::findUses() {
  // The names of weights, whole or transposed.
  std::map<std::string, const AdapterSpec *, std::less<>> weights;
  for (const AdapterSpec &adapter : session.getManifest().adapters)
    weights[adapter.weight] = &adapter;
  std::set<const AdapterSpec *> found;
  forEachGraphField(bytes, [&](const Field &field) {
    if (field.number != graph::node)
      return;
    Node node(field.content);
    findInnerReads(node, [&](std::string_view input) {
      if (auto weight = weights.find(input); weight != weights.end())
        failAt(*weight->second, node);
    });
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      auto weight = weights.find(node.inputs[i]);
      if (weight == weights.end())
        continue;
      const AdapterSpec &adapter = *weight->second;
      if (node.type == "Shape" || node.type == "Size")
        continue;
      if (node.outputs.size() == 1 &&
          (node.isTranspose() || node.type == "Identity")) {
        weights[std::string(node.outputs.front())] = &adapter;
        continue;
      }
      Use use = makeUse(field.content, adapter);
      if (i != (use.isLookup ? 0 : 1))
        failAt(adapter, node);
      if (found.insert(&adapter).second)
        addSlots(use);
      uses[field.content.data()] = use;
    }
  });
  for (const AdapterSpec &adapter : session.getManifest().adapters)
    if (!found.contains(&adapter))
      throw badInput("--export-adapter",
                     "no node of the model reads the weight of '" +
                         adapter.module + "'",
                     "--export merges the adapter");
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

static std::vector<double> readAll(const Session &session,
                                   const std::string &name) {
  const StateSpec &spec = *session.getManifest().findState(name);
  std::vector<double> values(spec.getWholeElements());
  readValues(session, spec, 0, spec.getWholeElements(), values.data(),
             DType::F64);
  return values;
}

static std::vector<double> transpose(const std::vector<double> &matrix,
                                     int64_t rows) {
  std::vector<double> result(matrix.size());
  auto columns = static_cast<int64_t>(matrix.size()) / rows;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k)
      result[k * rows + i] = matrix[i * columns + k];
  return result;
}

static std::string getSlotName(const AdapterSpec &adapter,
                               std::string_view part) {
  return adapter.module + "." + std::string(part);
}

void SlotModel::addSlots(const Use &use) {
  const Manifest &manifest = session.getManifest();
  const AdapterSpec &adapter = *use.adapter;
  DType dtype = DType::F32;
  int64_t copies = 0;
  for (const ExportPiece &piece : manifest.exportPieces)
    if (piece.state == adapter.weight) {
      dtype = piece.dtype;
      ++copies;
    }
  // Layers may read the others, under names of their own.
  if (copies > 1)
    throw badInput("--export-adapter",
                   "the model has several copies of the weight of '" +
                       adapter.module + "'",
                   "--export merges the adapter");
  auto add = [&](std::string_view part, const std::vector<int64_t> &shape,
                 std::vector<double> values) -> Slot & {
    Slot slot;
    slot.name = getSlotName(adapter, part);
    slot.dtype = dtype;
    slot.dims = slot.shape = shape;
    slot.data.resize(values.size() * getSize(dtype));
    convert(values.data(), DType::F64, slot.data.data(), dtype,
            static_cast<int64_t>(values.size()));
    return slots.emplace_back(std::move(slot));
  };
  std::vector<double> a = readAll(session, adapter.a),
                      b = readAll(session, adapter.b),
                      factors = readFactors(session, adapter);
  std::vector<int64_t> shapeA = manifest.findState(adapter.a)->getWholeShape(),
                       shapeB = manifest.findState(adapter.b)->getWholeShape();
  int64_t rank = shapeA[0], outputs = shapeB[0];
  for (int64_t i = 0; i < outputs * rank; ++i)
    b[i] *= adapter.scale * (factors.empty() ? 1 : factors[i / rank]);
  if (use.isConv) {
    add("lora_A", shapeA, std::move(a)).dims[0] = -1;
    add("lora_B", shapeB, std::move(b)).dims[1] = -1;
  } else {
    // As they are multiplied.
    add("lora_A", {shapeA[1], rank}, transpose(a, rank)).dims[1] = -1;
    add("lora_B", {rank, outputs}, transpose(b, outputs)).dims[0] = -1;
  }
  if (factors.empty())
    return;
  // Along the outputs of the product.
  std::vector<int64_t> rows(use.isConv ? shapeA.size() - 1 : 1, 1);
  rows[0] = outputs;
  Slot &slot = add("lora_factor", rows, factors);
  slot.dims[0] = -1;
  slot.defaultValue = slot.defaultSize = 1;
  if (!use.isConv)
    return;
  // The shape in which a bias is added to channels.
  std::string shape, data;
  addNumber(shape, /*dims=*/1, rows.size());
  addNumber(shape, /*data_type=*/2, /*int64=*/7);
  addField(shape, /*name=*/8, getSlotName(adapter, "lora_shape"));
  data.append(reinterpret_cast<const char *>(rows.data()),
              rows.size() * sizeof(int64_t));
  addField(shape, /*raw_data=*/9, data);
  addField(constants, graph::initializer, shape);
}

/// Returns a ValueInfoProto.
static std::string describeInput(const Slot &slot) {
  std::string shape, tensor, type, info;
  for (int64_t dim : slot.dims) {
    std::string entry;
    if (dim < 0)
      addField(entry, /*dim_param=*/2, slot.name + ".size");
    else
      addNumber(entry, /*dim_value=*/1, dim);
    addField(shape, /*dim=*/1, entry);
  }
  addNumber(tensor, /*elem_type=*/1, getOnnxType(slot.dtype));
  addField(tensor, /*shape=*/2, shape);
  addField(type, /*tensor_type=*/1, tensor);
  addField(info, /*name=*/1, slot.name);
  addField(info, /*type=*/2, type);
  return info;
}

/// Returns a TensorProto.
static std::string describeDefault(const Slot &slot) {
  std::string tensor;
  int64_t elements = 1;
  for (int64_t dim : slot.dims) {
    int64_t size = dim < 0 ? slot.defaultSize : dim;
    addNumber(tensor, /*dims=*/1, size);
    elements *= size;
  }
  addNumber(tensor, /*data_type=*/2, getOnnxType(slot.dtype));
  std::vector<double> values(elements, slot.defaultValue);
  std::string data(elements * getSize(slot.dtype), '\0');
  convert(values.data(), DType::F64, data.data(), slot.dtype, elements);
  addField(tensor, /*name=*/8, slot.name);
  addField(tensor, /*raw_data=*/9, data);
  return tensor;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string SlotModel::replace(std::string_view message, const Use &use) const {
  Node node(message);
  std::string nodes, base, output(node.outputs.front()),
      input(node.inputs[use.isLookup ? 1 : 0]);
  Field field;
  size_t inputs = 0;
  for (Fields fields(message); fields.next(field);)
    if (field.number == node::output)
      addField(base, node::output, output + "/base");
    else if (field.number != node::input || ++inputs < 3 || use.bias.empty())
      base += field.whole;
  addField(nodes, graph::node, base);
  auto add = [&](std::string_view type, const std::string &left,
                 const std::string &right, const std::string &to,
                 const std::vector<std::string_view> &attributes = {}) {
    std::string added;
    addField(added, node::input, left);
    addField(added, node::input, right);
    addField(added, node::output, to);
    addField(added, node::name, to + "/adapter");
    addField(added, node::type, type);
    for (std::string_view setting : attributes)
      addField(added, node::attribute, setting);
    addField(nodes, graph::node, added);
    return to;
  };
  auto slot = [&](std::string_view part) {
    return getSlotName(*use.adapter, part);
  };
  std::string low =
      use.isLookup ? add("Gather", slot("lora_A"), input, output + "/low")
      : use.isConv
          ? add("Conv", input, slot("lora_A"), output + "/low", node.attributes)
          : add("MatMul", input, slot("lora_A"), output + "/low");
  std::string high = add(use.isConv ? "Conv" : "MatMul", low, slot("lora_B"),
                         output + "/high");
  bool hasFactors = !use.adapter->magnitude.empty();
  std::string own = output + "/base";
  if (hasFactors)
    own = add("Mul", own, slot("lora_factor"), output + "/scaled");
  if (use.bias.empty()) {
    add("Add", own, high, output);
    return nodes;
  }
  std::string sum = add("Add", own, high, output + "/sum"), bias = use.bias;
  if (use.isConv)
    bias = add("Reshape", bias, slot("lora_shape"), output + "/bias");
  add("Add", sum, bias, output);
  return nodes;
}

void SlotModel::write(const std::string &path) const {
  AtomicFile file(path);
  auto writeGraph = [&](const std::vector<std::string_view> &parts) {
    size_t total = 0;
    for (std::string_view part : parts)
      total += part.size();
    std::string head;
    addVarint(head, model::graph << 3 | 2);
    addVarint(head, total);
    file.write(head);
    for (std::string_view part : parts)
      file.write(part);
  };
  Field field, part;
  for (Fields fields(bytes); fields.next(field);) {
    if (field.number != model::graph) {
      file.write(field.whole);
      continue;
    }
    std::vector<std::string_view> kept;
    std::deque<std::string> replaced;
    for (Fields parts(field.content); parts.next(part);)
      if (auto use = uses.find(part.content.data());
          part.number == graph::node && use != uses.end())
        kept.push_back(
            replaced.emplace_back(replace(part.content, use->second)));
      else
        kept.push_back(part.whole);
    writeGraph(kept);
  }
  std::string added = constants;
  for (const Slot &slot : slots) {
    addField(added, graph::input, describeInput(slot));
    addField(added, graph::initializer, describeDefault(slot));
  }
  writeGraph({added});
  file.commit();
}

void ingot::runtime::addSlots(const Session &session, const std::string &path) {
  MappedFile base(path);
  SlotModel model(session, base.getBytes());
  model.write(path);
  writeAdapterFormat(getSlotValuesPath(path), model.getSlots());
}
