// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Writes ops of the dialect as nodes of an ONNX graph: what the importers of
// frontends/onnx/ops do, in the other direction.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_EXPORT_OPWRITER_H
#define INGOT_FRONTENDS_ONNX_EXPORT_OPWRITER_H

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Dialect.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <variant>

namespace ingot::onnx_export {

using Ints = llvm::ArrayRef<int64_t>;

/// The version of the operator set that nodes are of.
inline constexpr int kOpset = 21;

/// An attribute of a node.
struct NodeAttr {
  const char *name;
  std::variant<int64_t, llvm::SmallVector<int64_t>, std::string> value;

  NodeAttr(const char *name, int64_t value) : name(name), value(value) {}
  NodeAttr(const char *name, Ints values)
      : name(name), value(llvm::SmallVector<int64_t>(values)) {}
  NodeAttr(const char *name, std::string text)
      : name(name), value(std::move(text)) {}
};

/// Appends nodes to a graph. The values of the module are known by name; those
/// that are made here have the graph's name in theirs, because graphs of one
/// model share their names.
class OpWriter {
public:
  explicit OpWriter(onnx::GraphProto &graph) : graph(graph) {}

  /// Writes the op, with the names of its ONNX nodes; fails, with an error at
  /// it, if ONNX has no operator for it.
  llvm::LogicalResult write(mlir::Operation *op);

  /// Returns the name of a value that has been written, and sets it.
  std::string get(mlir::Value value) const { return names.lookup(value); }
  void set(mlir::Value value, std::string name) {
    names[value] = std::move(name);
  }

  /// Adds a node with one result, and returns its name.
  std::string node(llvm::StringRef op, std::vector<std::string> inputs,
                   std::initializer_list<NodeAttr> attributes = {}) {
    return nodes(op, std::move(inputs), 1, attributes).front();
  }
  std::vector<std::string> nodes(llvm::StringRef op,
                                 std::vector<std::string> inputs,
                                 unsigned results,
                                 std::initializer_list<NodeAttr> attributes);

  /// Return the name of a constant: integers in a row, a scalar, and elements
  /// of any type.
  std::string ints(Ints values);
  std::string scalar(mlir::Type element, double value);
  std::string constant(mlir::DenseElementsAttr value);
  /// Returns the name of a tensor with every element `value`.
  std::string filled(mlir::RankedTensorType type, double value);

  /// Return the name of a value in another shape, with its dimensions in
  /// another order, and repeated along dimensions of size 1.
  std::string reshaped(std::string value, Ints shape) {
    return node("Reshape", {std::move(value), ints(shape)}, {{"allowzero", 1}});
  }
  std::string permuted(std::string value, Ints permutation) {
    return node("Transpose", {std::move(value)}, {{"perm", permutation}});
  }
  std::string expanded(std::string value, Ints shape) {
    return node("Expand", {std::move(value), ints(shape)});
  }
  std::string sliced(std::string value, Ints starts, Ints limits, Ints steps);

private:
  onnx::GraphProto &graph;
  llvm::DenseMap<mlir::Value, std::string> names;
  /// Constants by their type and bytes.
  std::map<std::pair<std::string, std::string>, std::string> constants;
  std::string location;
  unsigned count = 0;
};

/// Writes one op. Fails, without an error, where ONNX lacks the op's form.
using WriteOp = llvm::LogicalResult (*)(OpWriter &, mlir::Operation *);

/// The functions by the names of ops.
class WriterRegistry {
public:
  static const WriterRegistry &get();
  WriteOp lookup(mlir::Operation *op) const {
    return table.lookup(op->getName().getStringRef());
  }
  template <typename OpT> void add(WriteOp write) {
    table[OpT::getOperationName()] = write;
  }

private:
  llvm::StringMap<WriteOp> table;
};

void registerElementwiseWriters(WriterRegistry &registry);
void registerShapeWriters(WriterRegistry &registry);
void registerWindowWriters(WriterRegistry &registry);

/// Returns ONNX's data type of an element type; UNDEFINED where there is none.
onnx::TensorProto_DataType dataType(mlir::Type element);

/// Sets name and type of a model's input or output.
void describe(onnx::ValueInfoProto &info, llvm::StringRef name,
              mlir::Type type);

} // namespace ingot::onnx_export

#endif // INGOT_FRONTENDS_ONNX_EXPORT_OPWRITER_H
