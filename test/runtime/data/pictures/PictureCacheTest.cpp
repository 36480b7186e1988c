// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Decoded pictures that are kept on disk.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/pictures/PictureCache.h"
#include "runtime/core/Random.h"
#include "runtime/data/recipes/Recipe.h"
#include "test/runtime/TestSupport.h"
#include "test/runtime/data/Mutations.h"
#include "test/runtime/data/pictures/Jpeg.h"

#include <filesystem>
#include <thread>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

std::string makeJpeg(int64_t width, int64_t height, uint64_t seed) {
  Philox random(seed, 0);
  std::vector<uint8_t> pixels(static_cast<size_t>(width * height * 3));
  for (uint8_t &byte : pixels)
    byte = static_cast<uint8_t>(random.next());
  return encodeJpeg(std::move(pixels), width, height, /*quality=*/75);
}

int64_t countPictures(const std::string &folder) {
  int64_t count = 0;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(folder))
    count += entry.is_regular_file();
  return count;
}

class PictureCacheTest : public testing::Test {
protected:
  /// Returns the result of the recipe, with the cache or without.
  std::string make(const std::string &steps, const std::string &picture,
                   int64_t sample, PictureCache *cache,
                   bool isTraining = true) {
    Recipe recipe = Recipe::parse("x", steps);
    InputSpec input;
    input.name = "x";
    input.shape = {1, 3, 24, 24};
    recipe.check(input);
    Value value;
    value.kind = Value::Kind::Bytes;
    value.bytes = picture;
    Workspace workspace;
    workspace.cache = cache;
    SampleContext context;
    context.isTraining = isTraining;
    context.sample = sample;
    std::string made(static_cast<size_t>(input.getBytes()), '\0');
    recipe.apply(value, input, made.data(), context, workspace, "a.jpg");
    return made;
  }

  TemporaryFolder folder;
};

TEST_F(PictureCacheTest, BytesAreTheSameWithACache) {
  PictureCache cache(folder / "cache", 1 << 30);
  struct Case {
    const char *steps;
    bool isTraining, isKept;
  };
  for (auto [steps, isTraining, isKept] :
       {Case{"decode,resize:32,crop:24,flip", true, true},
        Case{"decode,crop:24,flip", true, true},
        Case{"decode,pad:3,crop:24", true, true},
        Case{"decode,random-resized-crop:24,flip", true, false},
        Case{"decode,random-resized-crop:24,flip", false, true},
        Case{"decode,resize:40x32,center-crop:24", false, true}}) {
    int64_t before = countPictures(folder / "cache");
    for (int64_t i = 0; i < 12; ++i) {
      std::string picture =
          makeJpeg(60 + static_cast<int64_t>(i) * 7,
                   50 + static_cast<int64_t>(i) * 11, static_cast<uint64_t>(i));
      std::string want = make(steps, picture, i, nullptr, isTraining);
      EXPECT_EQ(make(steps, picture, i, &cache, isTraining), want)
          << steps << " " << i;
      EXPECT_EQ(make(steps, picture, i, &cache, isTraining), want)
          << steps << " " << i << " again";
    }
    EXPECT_EQ(countPictures(folder / "cache") - before, isKept ? 12 : 0)
        << steps;
  }
}

TEST_F(PictureCacheTest, DamagedPicturesAreMadeAgain) {
  PictureCache cache(folder / "cache", 1 << 30);
  std::string steps = "decode,resize:32,crop:24", jpeg = makeJpeg(60, 50, 1);
  std::string want = make(steps, jpeg, 1, &cache);
  std::string file;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(folder / "cache"))
    if (entry.is_regular_file())
      file = entry.path();
  std::string whole = readFile(file);
  for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 200) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    writeFile(file, damaged);
    EXPECT_EQ(make(steps, jpeg, 1, &cache), want) << at;
    writeFile(file, whole.substr(0, at));
    EXPECT_EQ(make(steps, jpeg, 1, &cache), want) << "cut at " << at;
    EXPECT_EQ(readFile(file), whole) << at;
  }
  Philox random(6, 0);
  for (int i = 0; i < kMutations; ++i) {
    std::filesystem::remove(file);
    writeFile(file, mutate(whole, random));
    PictureCache opened(folder / "cache", 1 << 30);
    EXPECT_EQ(make(steps, jpeg, 1, &opened), want) << "mutation " << i;
    EXPECT_EQ(readFile(file), whole) << "mutation " << i;
  }
}

TEST_F(PictureCacheTest, AFullCacheTakesNoMore) {
  // A picture is 38 x 32 pixels of 4 bytes.
  PictureCache cache(folder / "cache", 3 * 5000);
  for (uint64_t i = 0; i < 6; ++i)
    make("decode,resize:32,crop:24", makeJpeg(60, 50, i), 1, &cache);
  EXPECT_EQ(countPictures(folder / "cache"), 3);
  auto note = cache.takeNote();
  ASSERT_TRUE(note);
  EXPECT_NE(note->find("is full"), std::string::npos);
  EXPECT_FALSE(cache.takeNote());
  // Another run counts what is there.
  PictureCache other(folder / "cache", 3 * 5000);
  make("decode,resize:32,crop:24", makeJpeg(60, 50, 9), 1, &other);
  EXPECT_EQ(countPictures(folder / "cache"), 3);
}

TEST_F(PictureCacheTest, TwoTrainersShareAFolder) {
  PictureCache first(folder / "cache", 1 << 30),
      second(folder / "cache", 1 << 30);
  std::vector<std::string> pictures, want;
  for (uint64_t i = 0; i < 8; ++i) {
    pictures.push_back(makeJpeg(60, 50, i));
    want.push_back(make("decode,resize:32,crop:24", pictures[i], 1, nullptr));
  }
  std::vector<std::thread> threads;
  for (PictureCache *cache : {&first, &second, &first, &second})
    threads.emplace_back([&, cache] {
      for (int round = 0; round < 20; ++round)
        for (size_t i = 0; i < pictures.size(); ++i)
          EXPECT_EQ(make("decode,resize:32,crop:24", pictures[i], 1, cache),
                    want[i]);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(countPictures(folder / "cache"), 8);
}

} // namespace
