// SPDX-License-Identifier: Apache-2.0

// Checkpoints of ONNX Runtime training: what is read, and that no damage of the
// file does more than one error.

#include "frontends/onnx/training/TrainingCheckpoint.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

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

} // namespace
