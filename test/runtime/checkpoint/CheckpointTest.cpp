// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checkpoints: what was saved comes back, and damage is noticed.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"
#include "test/runtime/TestSupport.h"

#include <algorithm>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

class CheckpointTest : public testing::Test {
protected:
  void save(int64_t step, const std::string &value) {
    SafeTensors state;
    state.tensors["v"] = {
        DType::U8, {static_cast<int64_t>(value.size())}, value};
    CheckpointInfo info;
    info.step = step;
    info.seed = 7;
    info.samples = 100;
    info.shuffle = false;
    saveCheckpoint(directory, info, state);
  }

  CheckpointInfo load(const std::string &from) {
    return loadCheckpoint(
        from, [&](const CheckpointState &state, const std::string &) {
          value = state.whole.tensors.at("v").data;
        });
  }

  TemporaryFolder folder;
  std::string directory = folder / "checkpoints";
  std::string value;
};

TEST_F(CheckpointTest, RoundTrips) {
  save(5, "five");
  CheckpointInfo info = load(directory);
  EXPECT_EQ(value, "five");
  EXPECT_EQ(info.step, 5);
  EXPECT_EQ(info.seed, 7);
  EXPECT_EQ(info.samples, 100);
  EXPECT_FALSE(info.shuffle);
}

TEST_F(CheckpointTest, LatestWinsAndTwoAreKept) {
  for (int step = 8; step <= 12; ++step)
    save(step, std::to_string(step));
  load(directory);
  EXPECT_EQ(value, "12");
  load(directory + "/step-11");
  EXPECT_EQ(value, "11");
  EXPECT_FALSE(std::filesystem::exists(directory + "/step-10"));
}

TEST_F(CheckpointTest, SavesTheSameStepAgain) {
  save(3, "old");
  save(3, "new");
  load(directory);
  EXPECT_EQ(value, "new");
}

TEST_F(CheckpointTest, AnUnfinishedOneDoesNotCount) {
  save(1, "one");
  std::filesystem::create_directory(directory + "/step-2.tmp-1");
  writeFile(directory + "/step-2.tmp-1/state.safetensors", "half");
  load(directory);
  EXPECT_EQ(value, "one");
  save(3, "three");
  EXPECT_FALSE(std::filesystem::exists(directory + "/step-2.tmp-1"));
}

TEST_F(CheckpointTest, NoticesDamage) {
  save(1, "one");
  std::string path = directory + "/step-1/state.safetensors";
  std::string bytes = readFile(path);
  bytes.back() ^= 1;
  writeFile(path, bytes);
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "checksum", load(directory));
  writeFile(directory + "/step-1/checkpoint.json", "{\"format\": 1}");
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "'step' is missing", load(directory));
  writeFile(directory + "/latest", "../../etc");
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "does not name a checkpoint",
                     load(directory));
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "holds no checkpoint",
                     load(folder / "nothing"));
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "cannot be read: File name too long",
                     load(folder / std::string(300, 'x')));
}

/// Every file of a checkpoint, with bits turned in each byte and cut at each
/// length, is refused by name. The step before it is there too, for damage to
/// find.
TEST_F(CheckpointTest, NoticesEveryFlipAndTruncation) {
  save(10, "ten");
  save(11, "eleven");
  for (const char *name :
       {"/latest", "/step-11/checkpoint.json", "/step-11/state.safetensors"}) {
    std::string path = directory + name, whole = readFile(path);
    ASSERT_FALSE(whole.empty());
    auto expectRefused = [&](const std::string &bytes) {
      writeFile(path, bytes);
      std::string error =
          getError(ExitCode::BadInput, [&] { load(directory); });
      EXPECT_NE(error.find(path), std::string::npos) << error;
    };
    for (size_t i = 0; i < whole.size(); ++i) {
      expectRefused(whole.substr(0, i));
      for (int bit : {0, 5, 7}) {
        std::string bytes = whole;
        bytes[i] = static_cast<char>(bytes[i] ^ 1 << bit);
        expectRefused(bytes);
      }
    }
    writeFile(path, whole);
  }
  EXPECT_EQ(load(directory).step, 11);
}

TEST_F(CheckpointTest, LeavesNoHalfRemovedFolders) {
  for (int step : {1, 2, 3, 3, 4})
    save(step, "value");
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(directory))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"latest", "step-3", "step-4"}));
}

} // namespace
