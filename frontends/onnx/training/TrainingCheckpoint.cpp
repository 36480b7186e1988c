// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/training/TrainingCheckpoint.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/model/Tensors.h"
#include "frontends/onnx/training/TrainingCheckpoint_generated.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

namespace {

constexpr StringLiteral kDamaged =
    "the checkpoint is damaged; write or copy it again";
/// The versions of the format that have the fields of the schema.
constexpr int32_t kOldestVersion = 1, kNewestVersion = 2;

class Reader {
public:
  Reader(StringRef path, Location where) : path(path), where(where) {}

  FailureOr<Checkpoint> read();

private:
  template <typename T> using Vector = flatbuffers::Vector<T>;
  template <typename T> using Tables = Vector<flatbuffers::Offset<T>>;

  LogicalResult fail(const Twine &what, const Twine &hint = kDamaged) {
    return emitUserError(where, what, hint);
  }
  /// Opens the file of the bytes that the checkpoint does not hold.
  LogicalResult openExternal();
  FailureOr<StringRef> externalBytes(const checkpoint::Tensor &tensor,
                                     size_t size);
  LogicalResult readTensor(const checkpoint::Tensor *tensor, StringRef what,
                           onnx::TensorProto &proto);
  LogicalResult readTensors(const Tables<checkpoint::Tensor> *tensors,
                            StringRef what,
                            std::vector<onnx::TensorProto> &protos);
  LogicalResult readModule(const checkpoint::ModuleState *state,
                           Checkpoint &result);
  LogicalResult readGroup(const checkpoint::OptimizerGroup *group,
                          Checkpoint &result);
  void readProperties(const checkpoint::PropertyBag *bag, Checkpoint &result);

  std::string path;
  Location where;
  std::unique_ptr<llvm::MemoryBuffer> external;
};

std::string text(const flatbuffers::String *string) {
  return string ? string->str() : std::string();
}

LogicalResult Reader::openExternal() {
  std::string name = path + ".data";
  auto buffer = llvm::MemoryBuffer::getFile(name, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail("its parameters are in '" + name +
                    "', which cannot be read: " + buffer.getError().message(),
                "keep the data file beside the checkpoint");
  external = std::move(*buffer);
  return success();
}

FailureOr<StringRef> Reader::externalBytes(const checkpoint::Tensor &tensor,
                                           size_t size) {
  auto offset = static_cast<uint64_t>(tensor.external_data_offset());
  StringRef bytes = external ? external->getBuffer() : StringRef();
  if (!external || offset > bytes.size() || size > bytes.size() - offset)
    return fail("tensor '" + text(tensor.name()) +
                    "' reaches beyond the data file of " +
                    std::to_string(bytes.size()) + " bytes",
                "the data file is truncated or belongs to another checkpoint");
  return bytes.substr(offset, size);
}

/// Reads a tensor whose bytes must fit its type and dimensions.
LogicalResult Reader::readTensor(const checkpoint::Tensor *tensor,
                                 StringRef what, onnx::TensorProto &proto) {
  std::string name = tensor ? text(tensor->name()) : "";
  if (name.empty())
    return fail(what + " has no name");
  proto.set_name(name);
  proto.set_data_type(tensor->data_type());
  Type element = elementType(where.getContext(), tensor->data_type());
  if (!element)
    return fail(what + " '" + name + "' has the element type " +
                    dataTypeName(tensor->data_type()) +
                    ", which is not supported",
                "train with FLOAT, DOUBLE, FLOAT16 or BFLOAT16 parameters");
  uint64_t size = (element.getIntOrFloatBitWidth() + 7) / 8;
  if (tensor->dims())
    for (int64_t dim : *tensor->dims()) {
      // As for models, so that products are far from overflowing.
      if (dim < 0 || (dim && size > (uint64_t(1) << 46) / dim))
        return fail(what + " '" + name + "' has a size of " + Twine(dim));
      size *= dim;
      proto.add_dims(dim);
    }
  StringRef bytes;
  if (tensor->external_data_offset() >= 0) {
    FailureOr<StringRef> found = externalBytes(*tensor, size);
    if (failed(found))
      return failure();
    bytes = *found;
  } else if (const Vector<uint8_t> *raw = tensor->raw_data()) {
    bytes = StringRef(reinterpret_cast<const char *>(raw->data()), raw->size());
  }
  if (bytes.size() != size)
    return fail(what + " '" + name + "' holds " + Twine(bytes.size()) +
                " bytes where its dimensions need " + Twine(size));
  proto.set_raw_data(bytes.data(), bytes.size());
  return success();
}

LogicalResult Reader::readTensors(const Tables<checkpoint::Tensor> *tensors,
                                  StringRef what,
                                  std::vector<onnx::TensorProto> &protos) {
  if (!tensors)
    return success();
  for (const checkpoint::Tensor *tensor : *tensors)
    if (failed(readTensor(tensor, what, protos.emplace_back())))
      return failure();
  return success();
}

LogicalResult Reader::readModule(const checkpoint::ModuleState *state,
                                 Checkpoint &result) {
  if (!state)
    return fail("holds no parameters",
                "write the checkpoint with its module state: "
                "CheckpointState.save_checkpoint");
  if (state->is_nominal_state())
    return fail("is a nominal checkpoint, which has names and no values",
                "give the full checkpoint that was made with it");
  if (state->has_external_data() && failed(openExternal()))
    return failure();
  if (failed(readTensors(state->requires_grad_params(), "parameter",
                         result.trained)) ||
      failed(readTensors(state->frozen_params(), "frozen parameter",
                         result.frozen)))
    return failure();
  llvm::StringSet<> names;
  for (const auto *list : {&result.trained, &result.frozen})
    for (const onnx::TensorProto &tensor : *list)
      if (!names.insert(tensor.name()).second)
        return fail("holds the parameter '" + tensor.name() + "' twice");
  return success();
}

LogicalResult Reader::readGroup(const checkpoint::OptimizerGroup *group,
                                Checkpoint &result) {
  CheckpointGroup &read = result.groups.emplace_back();
  read.name = text(group->group_name());
  read.step = group->step();
  read.initialLearningRate = group->initial_learning_rate();
  if (read.step < 0)
    return fail("optimizer group '" + read.name + "' has taken " +
                Twine(read.step) + " steps");
  if (!group->optimizer_states())
    return success();
  for (const checkpoint::ParameterOptimizerState *state :
       *group->optimizer_states()) {
    auto &entry = read.moments.emplace_back();
    entry.first = text(state->param_name());
    if (failed(readTensors(state->momentums(),
                           "moment of '" + entry.first + "'", entry.second)))
      return failure();
  }
  return success();
}

void Reader::readProperties(const checkpoint::PropertyBag *bag,
                            Checkpoint &result) {
  auto add = [&](const auto *list, auto &&print) {
    if (list)
      for (const auto *property : *list)
        result.properties.emplace_back(text(property->name()),
                                       print(*property));
  };
  if (!bag)
    return;
  auto number = [](const auto &property) {
    return std::to_string(property.value());
  };
  add(bag->ints(), number);
  add(bag->floats(), number);
  add(bag->strings(),
      [](const auto &property) { return text(property.value()); });
}

FailureOr<Checkpoint> Reader::read() {
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return fail("cannot be opened: " + error.message(), "check the path");
  if (llvm::sys::fs::is_directory(status))
    return fail("is a folder",
                "name the checkpoint file that ONNX Runtime training 1.16 or "
                "later writes");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail("cannot be read: " + buffer.getError().message(),
                "check the file");
  const auto *bytes =
      reinterpret_cast<const uint8_t *>((*buffer)->getBufferStart());
  size_t size = (*buffer)->getBufferSize();
  if (size >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return fail("is larger than 2 GiB, the limit of the format",
                "save the parameters as external data");
  // The identifier is behind the offset of the root.
  if (size < 8 || !checkpoint::CheckpointBufferHasIdentifier(bytes))
    return fail("is not a checkpoint of ONNX Runtime training, or is truncated",
                "give the file 'checkpoint' that is beside the training model");
  // One table for each parameter, at most.
  flatbuffers::Verifier verifier(bytes, size, /*_max_depth=*/16,
                                 /*_max_tables=*/1 << 24);
  if (!checkpoint::VerifyCheckpointBuffer(verifier))
    return fail("is truncated or damaged",
                "write or copy the checkpoint again");
  const checkpoint::Checkpoint *root = checkpoint::GetCheckpoint(bytes);
  if (root->version() < kOldestVersion || root->version() > kNewestVersion)
    return fail("has version " + Twine(root->version()) + " of the format",
                "versions " + Twine(kOldestVersion) + " to " +
                    Twine(kNewestVersion) +
                    " are read: write it with ONNX Runtime training 1.16 to "
                    "1.19");
  Checkpoint result;
  if (failed(readModule(root->module_state(), result)))
    return failure();
  if (root->optimizer_groups())
    for (const checkpoint::OptimizerGroup *group : *root->optimizer_groups())
      if (failed(readGroup(group, result)))
        return failure();
  readProperties(root->property_bag(), result);
  return result;
}

} // namespace

const onnx::TensorProto *Checkpoint::find(StringRef name) const {
  for (const auto *list : {&trained, &frozen})
    for (const onnx::TensorProto &tensor : *list)
      if (tensor.name() == name)
        return &tensor;
  return nullptr;
}

FailureOr<Checkpoint> onnx_import::readCheckpoint(StringRef path,
                                                  Location where) {
  return Reader(path, where).read();
}
