// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Each kind of file as samples with fields.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/readers/Readers.h"
#include "runtime/data/dataset/OpenReader.h"
#include "test/runtime/TestSupport.h"
#include "test/runtime/data/DataFiles.h"

#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

class ReadersTest : public testing::Test {
protected:
  std::unique_ptr<Reader> open(const std::string &name,
                               const std::string &bytes,
                               ReaderOptions options = {}) {
    writeFile(folder / name, bytes);
    return openReader(folder / name, options);
  }

  /// The elements of a field of a sample, as numbers.
  std::vector<double> read(const Reader &reader, const std::string &field,
                           int64_t sample) {
    Value value = reader.read(*reader.findField(field), sample, storage);
    EXPECT_EQ(value.kind, Value::Kind::Elements);
    std::vector<double> numbers(static_cast<size_t>(value.getElements()));
    convert(value.bytes.data(), value.dtype, numbers.data(), DType::F64,
            value.getElements());
    return numbers;
  }
  std::string readBytes(const Reader &reader, const std::string &field,
                        int64_t sample) {
    Value value = reader.read(*reader.findField(field), sample, storage);
    EXPECT_EQ(value.kind, Value::Kind::Bytes);
    return std::string(value.bytes);
  }

  TemporaryFolder folder;
  std::string storage;
};

using Numbers = std::vector<double>;

TEST_F(ReadersTest, Tar) {
  auto reader = open(
      "a.tar", makeTar({{"a/0.cls", "7\n"},
                        {"a/0.txt", "hello"},
                        {"a/0.x.npy", makeNpy<float>(DType::F32, {2}, {1, 2})},
                        {"a/1.txt", "you"},
                        {"a/1.cls", "8"}}));
  EXPECT_EQ(reader->getKind(), "tar");
  EXPECT_EQ(reader->getSamples(), 2);
  EXPECT_EQ(read(*reader, "cls", 0), Numbers{7});
  EXPECT_EQ(read(*reader, "cls", 1), Numbers{8});
  EXPECT_EQ(readBytes(*reader, "txt", 1), "you");
  EXPECT_EQ(read(*reader, "x", 0), (Numbers{1, 2}));
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "a.tar: a/1: the sample has no .x.npy",
                     read(*reader, "x", 1));
}

TEST_F(ReadersTest, TarWithJson) {
  auto reader =
      open("a.tar", makeTar({{"0.json", R"({"y": [1, 2], "t": "u"})"},
                             {"1.json", R"({"y": [3, 4], "t": "v"})"}}));
  EXPECT_EQ(read(*reader, "y", 1), (Numbers{3, 4}));
  EXPECT_EQ(readBytes(*reader, "t", 0), "u");
}

TEST_F(ReadersTest, TarWithLongNames) {
  std::string name(300, 'n');
  auto reader = open("a.tar", makeTar({{"././@LongLink", name + ".cls", 'L'},
                                       {"short.cls", "1"},
                                       {"pax", "21 path=renamed.cls2\n", 'x'},
                                       {"b.cls", "2"}}));
  EXPECT_EQ(reader->getSamples(), 2);
  EXPECT_EQ(reader->describe(0, 0), folder / "a.tar: " + name + ".cls");
}

TEST_F(ReadersTest, TarNeverFollowsLinks) {
  writeFile(folder / "secret", "7");
  auto reader = open("a.tar", makeTar({{"0.cls", "1"},
                                       {"1.cls", "", '2', folder / "secret"},
                                       {"2.cls", "", '1', folder / "secret"},
                                       {"../../3.cls", "3"}}));
  EXPECT_EQ(reader->getSamples(), 2);
  EXPECT_EQ(read(*reader, "cls", 1), Numbers{3});
}

TEST_F(ReadersTest, DamagedTars) {
  std::string good = makeTar({{"0.cls", "1"}, {"1.cls", "2"}});
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "the archive is truncated",
                     open("a.tar", good.substr(0, 1600)));
  std::string flipped = good;
  flipped[1024 + 5] ^= 1;
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "header is damaged (byte 1024)",
                     open("b.tar", flipped));
}

TEST_F(ReadersTest, TarIndexIsUsedOnlyForItsArchive) {
  std::string path = folder / "a.tar";
  auto reader = open("a.tar", makeTar({{"0.cls", "1"}}));
  TarIndex index = readTar(readFile(path), path), again;
  writeIndex(index, path);
  EXPECT_TRUE(readIndex(path, readFile(path).size(), again));
  EXPECT_EQ(again.names, "0.cls");
  // Any flipped byte makes it somebody else's.
  std::string bytes = readFile(path + ".index");
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] ^= 0x10;
    writeFile(path + ".index", changed);
    EXPECT_FALSE(readIndex(path, readFile(path).size(), again)) << i;
  }
  writeFile(path + ".index", bytes);
  writeFile(path, makeTar({{"0.cls", "1"}, {"1.cls", "2"}}));
  EXPECT_EQ(openReader(path, {})->getSamples(), 2);
}

TEST_F(ReadersTest, JsonLines) {
  auto reader = open("a.jsonl", "{\"x\": [[1, 2], [3, 4]], \"labels\": 3}\n\n"
                                "{\"labels\": 4, \"x\": [[5, 6], [7, 8.5]]}");
  EXPECT_EQ(reader->getSamples(), 2);
  EXPECT_EQ(read(*reader, "x", 1), (Numbers{5, 6, 7, 8.5}));
  EXPECT_EQ(read(*reader, "labels", 0), Numbers{3});
  EXPECT_EQ(reader->read(*reader->findField("x"), 0, storage).shape,
            (std::vector<int64_t>{2, 2}));
}

TEST_F(ReadersTest, DamagedJsonLines) {
  auto reader = open("a.jsonl", "{\"x\": 1}\n{\"x\": [1, [2]]}\n{\"y\": 1}\n"
                                "{\"x\": \n{\"x\": [[1], [1, 2]]}\n");
  for (auto [sample, part] : {std::pair(1, "several lengths"),
                              {2, "has no 'x'"},
                              {3, "not an object in JSON"},
                              {4, "several lengths"}})
    EXPECT_INGOT_ERROR(ExitCode::BadInput, part, read(*reader, "x", sample));
}

TEST_F(ReadersTest, TokenLayouts) {
  ReaderOptions options;
  options.getWindow = [] { return 2; };
  std::string wide = makeTokenHeader(20240801, 7, 5) +
                     makeBytes<uint32_t>({1, 2, 3, 100000, 5});
  auto reader = open("wide.bin", wide, options);
  EXPECT_EQ(reader->getSamples(), 2);
  EXPECT_EQ(read(*reader, "tokens", 1), (Numbers{3, 100000}));
  EXPECT_EQ(read(*reader, "next", 1), (Numbers{100000, 5}));
  options.tokens = DType::I32;
  reader = open("plain.bin", makeBytes<int32_t>({9, 8, 7}), options);
  EXPECT_EQ(read(*reader, "next", 0), (Numbers{8, 7}));
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "cannot be divided into tokens",
                     open("odd.bin", "12345", options));
}

TEST_F(ReadersTest, MegatronPairs) {
  std::string index("MMIDIDX\0\0", 9);
  index += makeBytes<uint64_t>({1}) + '\x08' + makeBytes<uint64_t>({2, 3}) +
           makeBytes<int32_t>({2, 3}) + makeBytes<int64_t>({0, 4}) +
           makeBytes<int64_t>({0, 1, 2});
  writeFile(folder / "m.idx", index);
  ReaderOptions options;
  options.getWindow = [] { return 4; };
  auto reader = open("m.bin", makeBytes<uint16_t>({1, 2, 3, 4, 5}), options);
  EXPECT_EQ(read(*reader, "next", 0), (Numbers{2, 3, 4, 5}));
  EXPECT_EQ(openReader(folder / "m.idx", options)->getSamples(), 1);
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "the index says 5 tokens",
                     open("m.bin", makeBytes<uint16_t>({1, 2}), options));
}

TEST_F(ReadersTest, Folder) {
  for (const char *name : {"cat", "ant"})
    std::filesystem::create_directory(folder / name);
  writeFile(folder / "cat/1.jpg", "c1");
  writeFile(folder / "ant/2.jpg", "a2");
  writeFile(folder / "ant/1.jpg", "a1");
  writeFile(folder / "ant/.hidden", "");
  auto reader = openReader(folder / "", {});
  EXPECT_EQ(reader->getSamples(), 3);
  EXPECT_EQ(readBytes(*reader, "image", 1), "a2");
  EXPECT_EQ(read(*reader, "labels", 2), Numbers{1});
  std::filesystem::remove(folder / "cat/1.jpg");
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "cat/1.jpg: cannot read",
                     readBytes(*reader, "image", 2));
}

TEST_F(ReadersTest, CompressedShards) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "{\"x\": " + std::to_string(i) + "}\n";
  std::string packed = compress(text);
  auto reader = open("a.jsonl.zst", packed);
  EXPECT_EQ(reader->getSamples(), 1000);
  EXPECT_EQ(read(*reader, "x", 999), Numbers{999});
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "cannot decompress",
                     open("b.zst", packed.substr(0, packed.size() / 2)));
  // A bomb: a GiB of zeros in a few KiB.
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "times as large as the file",
                     open("c.zst", compress(std::string(256 << 20, '\0'))));
}

} // namespace
