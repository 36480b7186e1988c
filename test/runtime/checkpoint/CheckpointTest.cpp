// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Checkpoints: what was saved comes back, and damage is noticed.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"
#include "test/runtime/TestSupport.h"

#include <algorithm>
#include <random>

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
    saveCheckpoint(directory, {info, state});
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

class RetentionTest : public CheckpointTest {
protected:
  void saveBest(int64_t step, bool isBest, int64_t newest = 2) {
    std::string value = std::to_string(step);
    SafeTensors state;
    state.tensors["v"] = {
        DType::U8, {static_cast<int64_t>(value.size())}, value};
    CheckpointInfo info;
    info.step = step;
    saveCheckpoint(directory, {info, state}, {newest, isBest});
  }
  std::vector<std::string> listSteps() {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(directory))
      if (entry.is_directory())
        names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
};

TEST_F(RetentionTest, KeepsTheBestApart) {
  saveBest(1, false);
  saveBest(2, true);
  for (int step : {3, 4, 5, 6})
    saveBest(step, false);
  EXPECT_EQ(listSteps(),
            (std::vector<std::string>{"step-2", "step-5", "step-6"}));
  load(directory + "/best");
  EXPECT_EQ(value, "2");
  load(directory + "/latest");
  EXPECT_EQ(value, "6");
  saveBest(7, true);
  EXPECT_EQ(listSteps(), (std::vector<std::string>{"step-6", "step-7"}));
  EXPECT_EQ(load(directory + "/best").step, 7);
}

TEST_F(RetentionTest, KeepsAsManyAsAreAskedFor) {
  for (int step = 1; step <= 6; ++step)
    saveBest(step, false, 4);
  EXPECT_EQ(listSteps(),
            (std::vector<std::string>{"step-3", "step-4", "step-5", "step-6"}));
  saveBest(7, false, 1);
  EXPECT_EQ(listSteps(), (std::vector<std::string>{"step-7"}));
}

/// Damage to any byte of the newest checkpoint is named, and the one before it
/// is used; damage to both leaves nothing.
TEST_F(CheckpointTest, UsesTheOneBeforeADamagedOne) {
  save(10, "ten");
  save(11, "eleven");
  std::vector<std::string> warnings;
  auto loadNewest = [&] {
    warnings.clear();
    return loadNewestCheckpoint(
               directory,
               [&](const CheckpointState &state, const std::string &) {
                 value = state.whole.tensors.at("v").data;
               },
               [&](const Error &problem) {
                 warnings.push_back(problem.getWhere());
               })
        .step;
  };
  EXPECT_EQ(loadNewest(), 11);
  EXPECT_TRUE(warnings.empty());
  for (const char *name :
       {"/step-11/checkpoint.json", "/step-11/state.safetensors"}) {
    std::string path = directory + name, whole = readFile(path);
    for (size_t i = 0; i < whole.size(); ++i)
      for (bool cuts : {true, false}) {
        std::string bytes = cuts ? whole.substr(0, i) : whole;
        if (!cuts)
          bytes[i] = static_cast<char>(bytes[i] ^ 4);
        writeFile(path, bytes);
        EXPECT_EQ(loadNewest(), 10) << name << " byte " << i;
        EXPECT_EQ(value, "ten");
        ASSERT_EQ(warnings.size(), 1u);
        EXPECT_NE(warnings[0].find(path), std::string::npos) << warnings[0];
      }
    std::filesystem::remove(path);
    EXPECT_EQ(loadNewest(), 10);
    writeFile(path, whole);
  }
  // Without a name the newest whole one is used.
  std::string latest = directory + "/latest", named = readFile(latest);
  writeFile(latest, named.substr(1));
  EXPECT_EQ(loadNewest(), 11);
  EXPECT_EQ(warnings, std::vector<std::string>{latest});
  writeFile(latest, named);
  // A checkpoint that is named itself has no other one.
  writeFile(directory + "/step-11/state.safetensors", "");
  EXPECT_INGOT_ERROR(
      ExitCode::BadInput, "checksum",
      loadCheckpoint(directory + "/step-11",
                     [](const CheckpointState &, const std::string &) {}));
  writeFile(directory + "/step-10/state.safetensors", "x");
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "step-11", loadNewest());
  EXPECT_EQ(warnings.size(), 1u);
}

/// With states that do not change and shards, in files of some size: a bit
/// turned, a byte missing, or the rest missing, anywhere in any file, is named,
/// and the one before it is used.
TEST_F(CheckpointTest, UsesTheOneBeforeDamageToAnyFile) {
  std::mt19937 random(5);
  std::string constant(20000, 'c'), shard(30000, 's');
  for (std::string *bytes : {&constant, &shard})
    for (char &byte : *bytes)
      byte = static_cast<char>(random());
  std::optional<uint32_t> crc;
  auto view = [](const std::string &bytes) {
    return TensorView{DType::U8, {static_cast<int64_t>(bytes.size())}, bytes};
  };
  for (int64_t step = 1; step <= 4; ++step) {
    std::string trained(10000, static_cast<char>('0' + step));
    CheckpointContent content;
    content.info.step = step;
    content.state.tensors["v"] = view(trained);
    content.constants.tensors["c"] = view(constant);
    content.constantsCrc = crc;
    NewCheckpoint checkpoint(directory, step);
    checkpoint.write(content);
    SafeTensors shards;
    shards.tensors["s"] = view(shard);
    std::vector<uint32_t> crcs;
    for (int64_t rank : {0, 1})
      crcs.push_back(saveShards(checkpoint.getFolder(), rank, shards));
    checkpoint.commit(content.info, {}, crcs);
    crc = checkpoint.getConstantsCrc();
  }
  std::vector<std::string> warnings;
  bool isWhole = false;
  auto loadNewest = [&] {
    warnings.clear();
    return loadNewestCheckpoint(
               directory,
               [&](const CheckpointState &state, const std::string &) {
                 isWhole = state.whole.tensors.at("c").data == constant &&
                           state.shards.size() == 2 &&
                           state.shards[1].tensors.at("s").data == shard;
               },
               [&](const Error &problem) {
                 warnings.push_back(problem.getWhere());
               })
        .step;
  };
  EXPECT_EQ(loadNewest(), 4);
  EXPECT_TRUE(isWhole);
  for (const char *name :
       {"constants.safetensors", "shard-0.safetensors", "shard-1.safetensors",
        "state.safetensors", "checkpoint.json"}) {
    std::string path = directory + "/step-4/" + name, whole = readFile(path);
    for (int i = 0; i < 60; ++i) {
      size_t at = random() % whole.size();
      std::string bytes = whole;
      if (i % 3 == 0)
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
      else if (i % 3 == 1)
        bytes.erase(at, 1);
      else
        bytes.resize(at);
      writeFile(path, bytes);
      isWhole = false;
      EXPECT_EQ(loadNewest(), 3) << name << " byte " << at << " way " << i % 3;
      EXPECT_TRUE(isWhole);
      ASSERT_EQ(warnings.size(), 1u);
      EXPECT_NE(warnings[0].find(path), std::string::npos) << warnings[0];
    }
    writeFile(path, whole);
  }
  EXPECT_EQ(loadNewest(), 4);
}

TEST_F(CheckpointTest, WhatIsNotCommittedIsRemoved) {
  save(1, "one");
  std::string temporary;
  {
    NewCheckpoint checkpoint(directory, 2);
    temporary = checkpoint.getFolder();
    saveShards(temporary, 0, {});
    EXPECT_TRUE(std::filesystem::exists(temporary));
  }
  EXPECT_FALSE(std::filesystem::exists(temporary));
  EXPECT_EQ(load(directory).step, 1);
}

/// The states may be written again after a failure, and the name be given again
/// where the names of the newest one could not be written.
TEST_F(CheckpointTest, GoesOnAfterAFailure) {
  std::string trained = "two", constant(5000, 'c');
  CheckpointContent content;
  content.info.step = 2;
  content.state.tensors["v"] = {DType::U8, {3}, trained};
  content.constants.tensors["c"] = {DType::U8, {5000}, constant};
  NewCheckpoint checkpoint(directory, 2);
  checkpoint.write(content);
  checkpoint.write(content);
  std::filesystem::create_directories(directory + "/latest/in-the-way");
  EXPECT_THROW(checkpoint.commit(content.info), Error);
  std::filesystem::remove_all(directory + "/latest");
  checkpoint.commit(content.info);
  EXPECT_EQ(load(directory).step, 2);
  EXPECT_EQ(value, "two");
}

/// The first save writes states that do not change twice; later ones link them.
TEST_F(CheckpointTest, LinksWhatDoesNotChange) {
  std::string constant(5000, 'c');
  std::optional<uint32_t> crc;
  auto saveTwoParts = [&](int64_t step) {
    std::string trained = std::to_string(step);
    CheckpointContent content;
    content.info.step = step;
    content.state.tensors["v"] = {
        DType::U8, {static_cast<int64_t>(trained.size())}, trained};
    content.constants.tensors["c"] = {
        DType::U8, {static_cast<int64_t>(constant.size())}, constant};
    content.constantsCrc = crc;
    crc = saveCheckpoint(directory, content);
  };
  auto getFile = [&](int64_t step) {
    return directory + "/step-" + std::to_string(step) +
           "/constants.safetensors";
  };
  saveTwoParts(1);
  EXPECT_EQ(std::filesystem::hard_link_count(getFile(1)), 1u);
  // Linked from the second save on, to another file than the one before has.
  saveTwoParts(2);
  EXPECT_FALSE(std::filesystem::equivalent(getFile(1), getFile(2)));
  EXPECT_TRUE(std::filesystem::equivalent(
      getFile(2), directory + "/step-1/constants-spare.safetensors"));
  for (int step = 3; step <= 5; ++step)
    saveTwoParts(step);
  EXPECT_FALSE(std::filesystem::equivalent(getFile(4), getFile(5)));
  EXPECT_EQ(std::filesystem::hard_link_count(getFile(5)), 1u);
  saveTwoParts(6);
  std::string read;
  auto loadBoth = [&] {
    loadNewestCheckpoint(
        directory,
        [&](const CheckpointState &state, const std::string &) {
          value = state.whole.tensors.at("v").data;
          read = state.whole.tensors.at("c").data;
        },
        [](const Error &) {});
  };
  loadBoth();
  EXPECT_EQ(value, "6");
  EXPECT_EQ(read, constant);
  // Damage to the file of the newest one is no damage to the one before it.
  std::string damaged = readFile(getFile(6));
  damaged[4000] ^= 1;
  writeFile(getFile(6), damaged);
  loadBoth();
  EXPECT_EQ(value, "5");
  EXPECT_EQ(read, constant);
  // Other values are written, not linked.
  constant.assign(5000, 'd');
  crc.reset();
  saveTwoParts(7);
  loadBoth();
  EXPECT_EQ(value, "7");
  EXPECT_EQ(read, constant);
}

} // namespace
