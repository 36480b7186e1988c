// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Files that are truncated while they are read: the run goes on to say so.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/LostFiles.h"
#include "runtime/core/File.h"
#include "runtime/core/console/Console.h"
#include "runtime/data/dataset/Dataset.h"
#include "runtime/data/loading/BatchQueue.h"
#include "test/runtime/TestSupport.h"

#include <filesystem>
#include <numeric>
#include <unistd.h>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

constexpr int64_t kSamples = 64, kValues = 1024;

class LostFilesTest : public testing::Test {
protected:
  LostFilesTest() {
    x.name = "x";
    x.shape = {1, kValues};
    inputs = {x};
    write("a.npy", 1);
    write("b.npy", 2);
  }

  void write(const std::string &name, float value) {
    writeFile(folder / name,
              makeNpy(DType::F32, {kSamples, kValues},
                      std::vector<float>(kSamples * kValues, value)));
  }
  void truncate(const std::string &name, int64_t samples) {
    ASSERT_EQ(::truncate((folder / name).c_str(), samples * kValues * 4), 0);
  }
  std::unique_ptr<Dataset> open(const std::vector<std::string> &names,
                                int64_t skipBad = 0) {
    std::vector<DataFile> files;
    for (const std::string &name : names)
      files.push_back({folder / name});
    DatasetOptions how;
    how.skipBad = skipBad;
    return std::make_unique<Dataset>(files, inputs, console, how);
  }
  float read(const Dataset &data, int64_t sample) {
    std::vector<float> row(kValues);
    data.fill(inputs, &sample, 1, reinterpret_cast<char *>(row.data()));
    EXPECT_EQ(row.front(), row.back());
    return row.front();
  }

  TemporaryFolder folder;
  Console console;
  InputSpec x;
  std::vector<InputSpec> inputs;
};

TEST_F(LostFilesTest, PagesThatAreGoneAreZeros) {
  MappedFile file(folder / "a.npy");
  truncate("a.npy", 8);
  EXPECT_EQ(file.getBytes().back(), 0);
  EXPECT_TRUE(haveLostFiles());
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "truncated while it was read",
                     checkMappedFile(folder / "a.npy"));
  checkMappedFile(folder / "b.npy");
}

TEST_F(LostFilesTest, AnotherFileOfTheNameIsNoLoss) {
  MappedFile file(folder / "a.npy");
  std::filesystem::remove(folder / "a.npy");
  writeFile(folder / "a.npy", "short");
  checkMappedFile(folder / "a.npy");
}

TEST_F(LostFilesTest, SamplesOfATruncatedFileAreRefused) {
  auto data = open({"a.npy"});
  EXPECT_EQ(read(*data, 60), 1);
  truncate("a.npy", 8);
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "a.npy: the file was truncated",
                     read(*data, 60));
  // The page has been replaced, and does not raise a signal again.
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "a.npy: the file was truncated",
                     read(*data, 60));
}

TEST_F(LostFilesTest, TheWholeFileIsOneThatIsBad) {
  auto data = open({"a.npy", "b.npy"}, 1);
  truncate("a.npy", 8);
  for (int64_t sample : {60, 61, 40, 63})
    EXPECT_EQ(read(*data, sample), 2) << sample;
  truncate("b.npy", 8);
  EXPECT_NE(getError(ExitCode::BadInput, [&] { read(*data, kSamples + 60); })
                .find("b.npy: the file was truncated"),
            std::string::npos);
}

TEST_F(LostFilesTest, WorkersSurvive) {
  auto data = open({"a.npy"});
  truncate("a.npy", 8);
  BatchQueue queue(
      [&](int64_t batch) -> std::optional<BatchPlan> {
        return BatchPlan{data.get(), &inputs, {63 - batch}, 0};
      },
      kValues * 4, {0, false, 2});
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "truncated", queue.next());
}

} // namespace
