// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/model/ModelFile.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/support/InputFile.h"
#include "frontends/onnx/model/MappedData.h"
#include "frontends/onnx/model/Repair.h"
#include "onnx/checker.h"
#include "onnx/proto_utils.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

//===----------------------------------------------------------------------===//
// External data
//===----------------------------------------------------------------------===//

namespace {

/// The location of a tensor's bytes.
struct ExternalRange {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

} // namespace

static LogicalResult parseExternal(Location file,
                                   const onnx::TensorProto &tensor,
                                   ExternalRange &range) {
  auto fail = [&](const Twine &what) {
    return emitUserError(
        file, "external data of tensor '" + Twine(tensor.name()) + "': " + what,
        "the file is damaged or hostile; export the model again");
  };
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    StringRef value = entry.value();
    if (entry.key() == "location") {
      range.location = entry.value();
    } else if (entry.key() == "offset") {
      if (value.getAsInteger(10, range.offset))
        return fail("offset '" + value + "'");
    } else if (entry.key() == "length") {
      uint64_t length;
      if (value.getAsInteger(10, length))
        return fail("length '" + value + "'");
      range.length = length;
    } else if (entry.key() != "checksum" && entry.key() != "basepath") {
      return fail("unknown key '" + Twine(entry.key()) + "'");
    }
  }
  if (range.location.empty())
    return fail("no location");
  if (range.location.find('\0') != std::string::npos)
    return fail("a location with a null character");
  return success();
}

/// Reads a tensor's bytes into the model, or `maps` them. The ONNX library
/// opens the file: it refuses absolute paths, paths out of the model's folder,
/// and links. If `leavesOut`, there need be no file.
static LogicalResult readExternal(StringRef folder, Location file,
                                  onnx::TensorProto &tensor, bool maps,
                                  bool leavesOut,
                                  std::vector<std::string> &files) {
  ExternalRange range;
  if (failed(parseExternal(file, tensor, range)))
    return failure();
  auto fail = [&](const Twine &what, const Twine &hint) {
    return emitUserError(file,
                         "external data of tensor '" + Twine(tensor.name()) +
                             "' in '" + range.location + "': " + what,
                         hint);
  };
  // The library calls a missing file not regular. Where it refuses to look, no
  // one should learn what there is.
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, range.location);
  StringRef location = range.location;
  bool isInside = !llvm::sys::path::is_absolute(location) &&
                  !llvm::is_contained(llvm::split(location, '/'), "..");
  struct stat link;
  if (isInside && lstat(path.c_str(), &link) != 0 && errno == ENOENT) {
    if (leavesOut && leaveOutData(tensor))
      return success();
    return fail("no such file",
                leavesOut ? "of constants the data has to be beside the model"
                          : "keep the data file beside the model, or compile "
                            "with --weights none");
  }
  if (!llvm::is_contained(files, path))
    files.push_back(path.str().str());
  int64_t fd = -1;
  try {
    fd = onnx::checker::open_external_data(folder.str(), range.location,
                                           tensor.name(), /*read_only=*/true);
  } catch (const std::exception &error) {
    return fail(StringRef(error.what()).split('\n').first,
                "keep the data file, not a link to it, beside the model");
  }
  llvm::scope_exit close([&] { ::close(static_cast<int>(fd)); });
  struct stat status;
  if (fd < 0 || fstat(static_cast<int>(fd), &status) != 0 ||
      !S_ISREG(status.st_mode))
    return fail("not a readable file", "keep the data file beside the model");
  auto size = static_cast<uint64_t>(status.st_size);
  if (range.offset > size ||
      (range.length && *range.length > size - range.offset))
    return fail("the range reaches beyond the file of " + Twine(size) +
                    " bytes",
                "the data file is truncated or belongs to another model");
  uint64_t length = range.length.value_or(size - range.offset);
  if (maps && mapData(tensor, static_cast<int>(fd), range.offset, length))
    return success();
  std::string bytes(length, '\0');
  for (size_t done = 0; done < bytes.size();) {
    ssize_t got =
        pread(static_cast<int>(fd), bytes.data() + done, bytes.size() - done,
              static_cast<off_t>(range.offset + done));
    if (got <= 0)
      return fail("cannot be read", "check the data file");
    done += static_cast<size_t>(got);
  }
  tensor.clear_external_data();
  tensor.set_data_location(onnx::TensorProto::DEFAULT);
  tensor.set_raw_data(std::move(bytes));
  return success();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Whether a tensor has no elements in any field.
static bool isWithoutField(const onnx::TensorProto &tensor) {
  return tensor.data_location() != onnx::TensorProto::EXTERNAL &&
         tensor.external_data().empty() && tensor.raw_data().empty() &&
         tensor.float_data().empty() && tensor.double_data().empty() &&
         tensor.int32_data().empty();
}

LogicalResult onnx_import::readModel(StringRef path, Location file,
                                     onnx::ModelProto &model,
                                     std::vector<std::string> &external,
                                     bool leavesOut) {
  // protobuf's limit.
  constexpr uint64_t maxBytes = (uint64_t(1) << 31) - 1;
  uint64_t bytes = 0;
  if (!llvm::sys::fs::file_size(path, bytes) && bytes > maxBytes)
    return emitUserError(file, "is larger than 2 GiB, the limit of the format",
                         "save the model with external data");
  auto buffer = readInputFile(path, maxBytes);
  if (!buffer)
    return emitUserError(file, llvm::toString(buffer.takeError()),
                         "name the .onnx file");
  bool parsed = false;
  try {
    parsed = onnx::ParseProtoFromBytes(&model, (*buffer)->getBufferStart(),
                                       (*buffer)->getBufferSize());
  } catch (const std::exception &) {
  }
  if (!parsed || !model.has_graph() ||
      model.graph().node_size() + model.graph().output_size() == 0)
    return emitUserError(file, "is not an ONNX model, or is truncated",
                         "export or copy the model again");
  StringRef folder = llvm::sys::path::parent_path(path);
  for (onnx::TensorProto &tensor :
       *model.mutable_graph()->mutable_initializer())
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL &&
        failed(readExternal(folder.empty() ? "." : folder, file, tensor,
                            /*maps=*/true, leavesOut, external)))
      return failure();
  if (leavesOut)
    for (onnx::TensorProto &tensor :
         *model.mutable_graph()->mutable_initializer())
      if (isWithoutField(tensor))
        (void)leaveOutData(tensor);
  for (onnx::NodeProto &node : *model.mutable_graph()->mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_t() &&
          attribute.t().data_location() == onnx::TensorProto::EXTERNAL &&
          failed(readExternal(folder.empty() ? "." : folder, file,
                              *attribute.mutable_t(), /*maps=*/false,
                              /*leavesOut=*/false, external)))
        return failure();
  return repairModel(file, model);
}
