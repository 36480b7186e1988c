// SPDX-License-Identifier: Apache-2.0

// Checkpoints of ONNX Runtime training: what is read, and that no damage of the
// file does more than one error.

#include "frontends/onnx/training/TrainingCheckpoint.h"
#include "frontends/onnx/training/TrainingCheckpoint_generated.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <sys/stat.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::onnx_import;

namespace {

/// The checkpoint of a set after four steps, with the optimizer's state.
std::string resumedPath() {
  return INGOT_SOURCE_DIR "/test/end-to-end/ort/binary/checkpoint";
}

class CheckpointTest : public testing::Test {
protected:
  CheckpointTest()
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          errors += diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
        }) {}

  llvm::FailureOr<Checkpoint> read(const std::string &path) {
    errors = 0;
    return readCheckpoint(path,
                          mlir::FileLineColLoc::get(&context, path, 0, 0));
  }

  /// Reads a file with these bytes.
  llvm::FailureOr<Checkpoint> readBytes(llvm::StringRef bytes) {
    llvm::SmallString<128> path;
    int file;
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("ckpt", "", file, path));
    {
      llvm::raw_fd_ostream os(file, /*shouldClose=*/true);
      os << bytes;
    }
    llvm::scope_exit remove([&] { llvm::sys::fs::remove(path); });
    return read(path.str().str());
  }

  std::string resumedBytes() {
    auto buffer = llvm::MemoryBuffer::getFile(resumedPath());
    return (*buffer)->getBuffer().str();
  }

  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
  int errors = 0;
};

TEST_F(CheckpointTest, HoldsParametersOptimizerAndProperties) {
  llvm::FailureOr<Checkpoint> checkpoint = read(resumedPath());
  ASSERT_TRUE(succeeded(checkpoint));
  EXPECT_EQ(checkpoint->trained.size(), 6U);
  EXPECT_TRUE(checkpoint->frozen.empty());
  const onnx::TensorProto *weight = checkpoint->find("fc1.weight");
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->dims(0), 8);
  EXPECT_EQ(weight->dims(1), 5);
  EXPECT_EQ(weight->raw_data().size(), 160U);
  EXPECT_FALSE(checkpoint->find("fc4.weight"));
  ASSERT_EQ(checkpoint->groups.size(), 1U);
  EXPECT_EQ(checkpoint->groups[0].step, 4);
  EXPECT_EQ(checkpoint->groups[0].moments.size(), 6U);
  for (const auto &[name, moments] : checkpoint->groups[0].moments)
    EXPECT_EQ(moments.size(), 2U) << name;
  EXPECT_EQ(checkpoint->properties.size(), 3U);
}

TEST_F(CheckpointTest, EveryTruncationIsOneError) {
  std::string bytes = resumedBytes();
  // The last bytes align the file's size and belong to nothing.
  size_t end = bytes.size() - 3;
  for (size_t size = 0; size < end; size += size < 256 ? 1 : 7) {
    EXPECT_TRUE(failed(readBytes(llvm::StringRef(bytes).take_front(size))))
        << size;
    EXPECT_EQ(errors, 1) << size;
  }
}

/// Whatever an offset or a length becomes, what is read lies in the file.
TEST_F(CheckpointTest, NoChangedByteReachesBeyondTheFile) {
  std::string bytes = resumedBytes();
  unsigned refused = 0;
  for (size_t at = 0; at < bytes.size(); at += 3)
    for (unsigned char value : {0x00, 0x7F, 0xFF}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      llvm::FailureOr<Checkpoint> checkpoint = readBytes(changed);
      EXPECT_EQ(errors, failed(checkpoint) ? 1 : 0) << at;
      refused += failed(checkpoint);
      if (failed(checkpoint))
        continue;
      for (const onnx::TensorProto &tensor : checkpoint->trained)
        EXPECT_LE(tensor.raw_data().size(), bytes.size());
    }
  EXPECT_GT(refused, 100U);
}

/// Tables of a flatbuffer may be listed any number of times: a file of some
/// kilobytes that would take gigabytes is refused early.
class SharedPartsTest : public CheckpointTest {
protected:
  using Tensor = flatbuffers::Offset<checkpoint::Tensor>;

  Tensor makeTensor(const char *name, int64_t size) {
    std::vector<uint8_t> bytes(4 * size);
    std::vector<int64_t> dims = {size};
    return checkpoint::CreateTensorDirect(builder, name, nullptr, &dims,
                                          /*data_type=*/1, &bytes);
  }

  /// Reads what the builder holds, with this checkpoint as root.
  llvm::FailureOr<Checkpoint>
  finish(const std::vector<Tensor> &trained,
         const std::vector<flatbuffers::Offset<checkpoint::OptimizerGroup>>
             &groups = {},
         flatbuffers::Offset<checkpoint::PropertyBag> properties = {}) {
    auto state = checkpoint::CreateModuleStateDirect(builder, &trained);
    builder.Finish(checkpoint::CreateCheckpointDirect(builder, 1, state,
                                                      &groups, properties),
                   checkpoint::CheckpointIdentifier());
    return readBytes(
        llvm::StringRef(reinterpret_cast<char *>(builder.GetBufferPointer()),
                        builder.GetSize()));
  }

  flatbuffers::FlatBufferBuilder builder;
};

TEST_F(SharedPartsTest, Parameters) {
  EXPECT_TRUE(succeeded(finish({makeTensor("p", 10000)})));
  builder.Clear();
  std::vector<Tensor> same(100000, makeTensor("p", 10000));
  EXPECT_TRUE(failed(finish(same)));
  EXPECT_EQ(errors, 1);
}

TEST_F(SharedPartsTest, Moments) {
  std::vector<Tensor> same(100000, makeTensor("m", 10000));
  auto moments = checkpoint::CreateParameterOptimizerStateDirect(
      builder, std::string(10000, 'n').c_str(), &same);
  std::vector states(1000, moments);
  auto group =
      checkpoint::CreateOptimizerGroupDirect(builder, "g", 1, 0.1F, &states);
  EXPECT_TRUE(failed(finish({makeTensor("p", 1)}, {group})));
  EXPECT_EQ(errors, 1);
}

TEST_F(SharedPartsTest, Properties) {
  auto property = checkpoint::CreateStringPropertyDirect(
      builder, "key", std::string(100000, 'v').c_str());
  std::vector same(100000, property);
  auto bag =
      checkpoint::CreatePropertyBagDirect(builder, nullptr, nullptr, &same);
  EXPECT_TRUE(failed(finish({makeTensor("p", 1)}, {}, bag)));
  EXPECT_EQ(errors, 1);
}

/// Neither a pipe that nobody writes to nor an endless device is waited for.
TEST_F(SharedPartsTest, SpecialFiles) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("ckpt", folder));
  llvm::scope_exit remove([&] { llvm::sys::fs::remove_directories(folder); });
  std::string fifo = (folder + "/fifo").str(), data = (folder + "/x").str();
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string &path : {fifo, std::string("/dev/zero")}) {
    EXPECT_TRUE(failed(read(path)));
    EXPECT_EQ(errors, 1) << path;
  }
  std::vector<int64_t> dims = {4};
  std::vector tensors = {checkpoint::CreateTensorDirect(
      builder, "p", nullptr, &dims, 1, nullptr, nullptr, 0)};
  auto state = checkpoint::CreateModuleStateDirect(builder, &tensors, nullptr,
                                                   false, true);
  builder.Finish(checkpoint::CreateCheckpoint(builder, 1, state),
                 checkpoint::CheckpointIdentifier());
  {
    std::error_code error;
    llvm::raw_fd_ostream os(data, error);
    os.write(reinterpret_cast<char *>(builder.GetBufferPointer()),
             builder.GetSize());
  }
  for (const std::string &target : {fifo, std::string("/dev/zero")}) {
    ASSERT_EQ(symlink(target.c_str(), (data + ".data").c_str()), 0);
    EXPECT_TRUE(failed(read(data)));
    EXPECT_EQ(errors, 1) << target;
    ::unlink((data + ".data").c_str());
  }
}

} // namespace
