// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/training/TrainingCheckpoint.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/support/InputFile.h"
#include "frontends/onnx/model/Tensors.h"
#include "frontends/onnx/training/TrainingCheckpoint_generated.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"
#include <limits>

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
  /// Counts bytes that are copied from the file. Tables of a flatbuffer may
  /// share what they refer to, so that a few kilobytes could mean any number.
  LogicalResult spend(uint64_t bytes);
  FailureOr<StringRef> externalBytes(const checkpoint::Tensor &tensor,
                                     size_t size);
  LogicalResult readTensor(const checkpoint::Tensor *tensor, StringRef what,
                           onnx::TensorProto &proto);
  LogicalResult readTensors(const Tables<checkpoint::Tensor> *tensors,
                            StringRef what,
                            std::vector<onnx::TensorProto> &protos);
  /// Reads parameters, none of which may have the name of an earlier one.
  LogicalResult readParameters(const Tables<checkpoint::Tensor> *tensors,
                               StringRef what,
                               std::vector<onnx::TensorProto> &protos);
  LogicalResult readModule(const checkpoint::ModuleState *state,
                           Checkpoint &result);
  LogicalResult readGroup(const checkpoint::OptimizerGroup *group,
                          Checkpoint &result);
  LogicalResult readProperties(const checkpoint::PropertyBag *bag,
                               Checkpoint &result);

  std::string path;
  Location where;
  std::unique_ptr<llvm::MemoryBuffer> external;
  llvm::StringSet<> names;
  /// The bytes of the files, and the number of them that may still be copied.
  uint64_t fileBytes = 0, budget = 0;
};

/// More often than that, no writer lets parts of a file share others: names.
constexpr uint64_t kMaxSharing = 16;

std::string text(const flatbuffers::String *string) {
  return string ? string->str() : std::string();
}

LogicalResult Reader::openExternal() {
  std::string name = path + ".data";
  auto buffer = readInputFile(name, std::numeric_limits<uint64_t>::max());
  if (!buffer)
    return fail("its parameters are in '" + name + "', which " +
                    llvm::toString(buffer.takeError()),
                "keep the data file beside the checkpoint");
  external = std::move(*buffer);
  fileBytes += external->getBufferSize();
  budget += kMaxSharing * external->getBufferSize();
  return success();
}

LogicalResult Reader::spend(uint64_t bytes) {
  if (bytes > budget)
    return fail("holds far more than its " + Twine(fileBytes) +
                " bytes: it lists the same parts again and again");
  budget -= bytes;
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
  if (failed(spend(name.size() + (tensor->dims()
                                      ? sizeof(int64_t) * tensor->dims()->size()
                                      : sizeof(int64_t)))))
    return failure();
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
  if (failed(spend(size)))
    return failure();
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

LogicalResult Reader::readParameters(const Tables<checkpoint::Tensor> *tensors,
                                     StringRef what,
                                     std::vector<onnx::TensorProto> &protos) {
  if (!tensors)
    return success();
  for (const checkpoint::Tensor *tensor : *tensors) {
    if (failed(readTensor(tensor, what, protos.emplace_back())))
      return failure();
    if (!names.insert(protos.back().name()).second)
      return fail("holds the parameter '" + protos.back().name() + "' twice");
  }
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
  if (failed(readParameters(state->requires_grad_params(), "parameter",
                            result.trained)))
    return failure();
  return readParameters(state->frozen_params(), "frozen parameter",
                        result.frozen);
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
    if (failed(spend(entry.first.size() + sizeof(int64_t))) ||
        failed(readTensors(state->momentums(),
                           "moment of '" + entry.first + "'", entry.second)))
      return failure();
  }
  return success();
}

LogicalResult Reader::readProperties(const checkpoint::PropertyBag *bag,
                                     Checkpoint &result) {
  auto add = [&](const auto *list, auto &&print) -> LogicalResult {
    if (!list)
      return success();
    for (const auto *property : *list) {
      auto &entry = result.properties.emplace_back(text(property->name()),
                                                   print(*property));
      if (failed(spend(entry.first.size() + entry.second.size())))
        return failure();
    }
    return success();
  };
  if (!bag)
    return success();
  auto number = [](const auto &property) {
    return std::to_string(property.value());
  };
  if (failed(add(bag->ints(), number)) || failed(add(bag->floats(), number)))
    return failure();
  return add(bag->strings(),
             [](const auto &property) { return text(property.value()); });
}

FailureOr<Checkpoint> Reader::read() {
  auto buffer = readInputFile(path, std::numeric_limits<uint64_t>::max());
  if (!buffer)
    return fail(llvm::toString(buffer.takeError()),
                "name the checkpoint file that ONNX Runtime training 1.16 or "
                "later writes");
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
  fileBytes = size;
  budget = kMaxSharing * size;
  Checkpoint result;
  if (failed(readModule(root->module_state(), result)))
    return failure();
  if (root->optimizer_groups())
    for (const checkpoint::OptimizerGroup *group : *root->optimizer_groups())
      if (failed(readGroup(group, result)))
        return failure();
  if (failed(readProperties(root->property_bag(), result)))
    return failure();
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
