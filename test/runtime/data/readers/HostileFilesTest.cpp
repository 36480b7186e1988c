// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Two hundred mutations of each kind of file: none ends the process, and each
// that is refused is named.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/File.h"
#include "runtime/core/Random.h"
#include "runtime/core/console/Console.h"
#include "runtime/data/dataset/Dataset.h"
#include "runtime/data/dataset/OpenReader.h"
#include "test/runtime/TestSupport.h"
#include "test/runtime/data/DataFiles.h"
#include "test/runtime/data/Mutations.h"

#include <filesystem>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

std::string readSeed(const std::string &name) {
  MappedFile file(std::string(INGOT_TEST_RUNTIME) +
                  "/../test/fuzz/readers/seeds/" + name);
  return std::string(file.getBytes());
}

/// The index of one of Megatron-LM's pairs, of three sequences in two
/// documents.
std::string makeIndex() {
  return std::string("MMIDIDX\0\0", 9) + makeBytes<uint64_t>({1}) + '\x08' +
         makeBytes<uint64_t>({3, 3}) + makeBytes<int32_t>({2, 3, 4}) +
         makeBytes<int64_t>({0, 4, 10}) + makeBytes<int64_t>({0, 2, 3});
}

const std::string kTokens = makeBytes<uint16_t>({1, 2, 3, 4, 5, 6, 7, 8, 9});
const std::string kLines = "{\"ids\": [4, 5], \"x\": 1.5}\n"
                           "{\"ids\": [7, 8, 9], \"x\": [2]}\n"
                           "{\"ids\": [], \"x\": {\"a\": \"\\u00e9\"}}\n";

/// A kind of file: the one that is changed, and what lies beside it.
struct Kind {
  const char *name;
  /// The name of the file, with % for the number of the mutation.
  const char *file;
  std::string bytes;
  const char *beside = nullptr;
  std::string besideBytes = {};
  /// The recipe of an input `ids` or `image`; of none, fields are read as they
  /// are.
  const char *input = nullptr, *recipe = nullptr;
};

void PrintTo(const Kind &kind, std::ostream *out) { *out << kind.name; }

class HostileFilesTest : public testing::TestWithParam<Kind> {
protected:
  std::string place(const char *name, int number) {
    std::string path = name;
    if (size_t at = path.find('%'); at != std::string::npos)
      path.replace(at, 1, std::to_string(number));
    path = folder / path;
    std::filesystem::create_directories(
        std::filesystem::path(path).parent_path());
    return path;
  }

  /// Reads what a trainer would.
  void readAll(const std::string &path) {
    const Kind &kind = GetParam();
    if (kind.recipe) {
      InputSpec input;
      input.name = kind.input;
      input.shape = {2, 8};
      input.dtype = DType::I64;
      if (input.name == "image") {
        input.shape = {2, 3, 8, 8};
        input.dtype = DType::F32;
      }
      DatasetOptions how;
      how.recipes.emplace(input.name, Recipe::parse(input.name, kind.recipe));
      Dataset data({DataFile{path}}, {input}, console, how);
      std::string arena(static_cast<size_t>(input.getBytes()), '\0');
      for (int64_t i = 0; i < std::min<int64_t>(data.getSamples(), 8); ++i) {
        int64_t samples[] = {i, 0};
        data.fill({input}, samples, 2, arena.data());
      }
      return;
    }
    ReaderOptions options;
    options.getWindow = [] { return 2; };
    auto reader = openReader(path, options);
    for (size_t f = 0; f < reader->getNames().size(); ++f) {
      reader->load(f);
      for (int64_t s = 0; s < std::min<int64_t>(reader->getSamples(), 8); ++s) {
        std::string storage;
        try {
          Value value = reader->read(f, s, storage);
          if (value.kind == Value::Kind::Elements) {
            EXPECT_EQ(static_cast<int64_t>(value.bytes.size()),
                      value.getElements() *
                          static_cast<int64_t>(getSize(value.dtype)));
          }
          sum += std::string(value.bytes).size();
        } catch (const Error &error) {
          expectNamed(error, path);
        }
      }
    }
  }

  void expectNamed(const Error &error, const std::string &path) {
    ++refused;
    EXPECT_EQ(error.getCode(), ExitCode::BadInput) << error.getWhat();
    std::string name = std::filesystem::path(path).stem().string();
    EXPECT_NE(error.getWhere().find(name), std::string::npos)
        << error.getWhere() << ": " << error.getWhat();
    EXPECT_FALSE(error.getHint().empty()) << error.getWhat();
  }

  TemporaryFolder folder;
  Console console;
  size_t sum = 0;
  int refused = 0;
};

TEST_P(HostileFilesTest, AreNamed) {
  const Kind &kind = GetParam();
  Philox random(hashName(kind.name), 0);
  for (int i = 0; i <= kMutations; ++i) {
    std::string path = place(kind.file, i);
    // The first one is what the others are made of, and has to be good.
    writeFile(path, i == 0 ? kind.bytes : mutate(kind.bytes, random));
    if (kind.beside)
      writeFile(place(kind.beside, i), kind.besideBytes);
    // Of a folder of pictures the folder is the file.
    std::string opened = path;
    if (std::string_view(kind.file).find('/') != std::string_view::npos)
      opened = std::filesystem::path(path).parent_path().parent_path();
    try {
      readAll(opened);
    } catch (const Error &error) {
      EXPECT_NE(i, 0) << error.getWhere() << ": " << error.getWhat();
      expectNamed(error, path);
    }
  }
  // Mutations of text often leave what can be read.
  EXPECT_GE(refused, kMutations / 20);
}

std::string makeArchive() {
  return makeTar({{"a/0.cls", "7\n"},
                  {"a/0.json", R"({"ids": [4, 5], "t": "u"})"},
                  {"a/0.x.npy", makeNpy<float>(DType::F32, {2}, {1, 2})},
                  {"a/0.png", readSeed("picture/png")},
                  {"a/1.cls", "8"},
                  {"a/1.json", R"({"ids": [6], "t": ""})"},
                  {"a/1.x.npy", makeNpy<float>(DType::F32, {2}, {3, 4})},
                  {"a/1.png", readSeed("picture/png")}});
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, HostileFilesTest,
    testing::Values(
        Kind{"npz", "%.npz", readSeed("npz/stored")},
        Kind{"deflated npz", "%.npz", readSeed("npz/deflated")},
        Kind{"npy", "%.npy", readSeed("npy/floats")},
        Kind{"tokens", "%.bin", makeTokenHeader(20240520, 1, 9) + kTokens},
        Kind{"wide tokens", "%.bin",
             makeTokenHeader(20240801, 7, 3) + makeBytes<uint32_t>({1, 2, 3})},
        Kind{"documents split", "%.bin",
             makeTokenHeader(20240520, 1, 9) + kTokens, nullptr, "", "ids",
             "pack,split:4"},
        Kind{"index", "%.idx", makeIndex(), "%.bin", kTokens},
        Kind{"indexed tokens", "%.bin", kTokens, "%.idx", makeIndex()},
        Kind{"indexed documents", "%.idx", makeIndex(), "%.bin", kTokens, "ids",
             "pack"},
        Kind{"tar", "%.tar", makeArchive()},
        Kind{"packed tar", "%.tar", makeArchive(), nullptr, "", "ids", "pack"},
        Kind{"compressed tar", "%.tar.zst", compress(makeArchive())},
        Kind{"arrow stream", "%.arrow", readSeed("arrow/stream")},
        Kind{"arrow file", "%.arrow", readSeed("arrow/file")},
        Kind{"arrow kinds", "%.arrow", readSeed("arrow/kinds")},
        Kind{"Parquet", "%.parquet", readSeed("parquet/plain-snappy")},
        Kind{"packed Parquet", "%.parquet", readSeed("parquet/packed-gzip")},
        Kind{"lines", "%.jsonl", kLines},
        Kind{"packed lines", "%.jsonl", "{\"ids\": [4, 5]}\n{\"ids\": [7]}\n",
             nullptr, "", "ids", "pack"},
        Kind{"JPEG", "%/class/a.jpg", readSeed("picture/jpeg"), nullptr, "",
             "image", "decode,random-resized-crop:8"},
        Kind{"progressive JPEG", "%/class/a.jpg",
             readSeed("picture/progressive"), nullptr, "", "image",
             "decode,resize:8x8"},
        Kind{"deep PNG", "%/class/a.png", readSeed("picture/png-color-16"),
             nullptr, "", "image", "decode,resize:8x8"},
        Kind{"animated WebP", "%/class/a.webp",
             readSeed("picture/webp-animated"), nullptr, "", "image",
             "decode,resize:8x8"},
        Kind{"GIF", "%/class/a.gif", readSeed("picture/gif"), nullptr, "",
             "image", "decode,resize:8x8"},
        Kind{"plain PPM", "%/class/a.ppm", readSeed("picture/ppm-plain"),
             nullptr, "", "image", "decode,resize:8x8"},
        Kind{"BMP of fields", "%/class/a.bmp", readSeed("picture/bmp-565"),
             nullptr, "", "image", "decode,resize:8x8"},
        Kind{"BMP of runs", "%/class/a.bmp", readSeed("picture/bmp-runs-8"),
             nullptr, "", "image", "decode,resize:8x8"},
        Kind{"BMP of OS/2", "%/class/a.bmp", readSeed("picture/bmp-os2"),
             nullptr, "", "image", "decode,resize:8x8"},
        Kind{"PNG", "%/class/a.png", readSeed("picture/png"), nullptr, "",
             "image", "decode,resize:8x8"}));

class HostileIndexTest : public testing::Test {
protected:
  TemporaryFolder folder;
};

/// An index beside an archive is a help and no more: a damaged one changes
/// nothing that is read.
TEST_F(HostileIndexTest, DamagedIndicesOfArchivesChangeNothing) {
  std::string path = folder / "a.tar";
  writeFile(path, makeArchive());
  std::vector<std::string> want;
  auto readAll = [&] {
    auto reader = openReader(path, {});
    std::vector<std::string> all;
    std::string storage;
    for (int64_t s = 0; s < reader->getSamples(); ++s)
      for (size_t f = 0; f < reader->getNames().size(); ++f)
        all.emplace_back(reader->read(f, s, storage).bytes);
    return all;
  };
  want = readAll();
  ASSERT_GE(want.size(), 8u);
  {
    MappedFile archive(path);
    writeIndex(readTar(archive.getBytes(), path), path);
  }
  MappedFile file(getIndexPath(path));
  std::string index(file.getBytes());
  EXPECT_EQ(readAll(), want);
  Philox random(5, 0);
  for (int i = 0; i < kMutations; ++i) {
    std::filesystem::remove(getIndexPath(path));
    writeFile(getIndexPath(path), mutate(index, random));
    EXPECT_EQ(readAll(), want) << i;
  }
}

} // namespace
