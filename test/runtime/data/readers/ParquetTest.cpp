// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tables in Parquet, as PyArrow writes them: each encoding, kind of page and
// codec. test/fuzz/readers/make_seeds.py makes the files.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/File.h"
#include "runtime/core/console/Console.h"
#include "runtime/data/dataset/Dataset.h"
#include "runtime/data/dataset/OpenReader.h"
#include "runtime/data/readers/Readers.h"
#include "test/runtime/TestSupport.h"
#include "test/runtime/data/DataFiles.h"

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

using Numbers = std::vector<double>;

std::string getSeedPath(const std::string &name) {
  return std::string(INGOT_TEST_RUNTIME) +
         "/../test/fuzz/readers/seeds/parquet/" + name;
}

Value readValue(const Reader &reader, const std::string &field, int64_t row,
                std::string &storage) {
  return reader.read(reader.findField(field).value(), row, storage);
}

Numbers read(const Reader &reader, const std::string &field, int64_t row) {
  std::string storage;
  Value value = readValue(reader, field, row, storage);
  EXPECT_EQ(value.kind, Value::Kind::Elements);
  Numbers numbers(static_cast<size_t>(value.getElements()));
  convert(value.bytes.data(), value.dtype, numbers.data(), DType::F64,
          value.getElements());
  return numbers;
}

std::string readBytes(const Reader &reader, const std::string &field,
                      int64_t row) {
  std::string storage;
  Value value = readValue(reader, field, row, storage);
  EXPECT_EQ(value.kind, Value::Kind::Bytes);
  return std::string(value.bytes);
}

class ParquetTest : public testing::TestWithParam<const char *> {};

TEST_P(ParquetTest, HasTheValues) {
  auto reader = openReader(getSeedPath(GetParam()), {});
  EXPECT_EQ(reader->getKind(), "Parquet");
  EXPECT_EQ(reader->getNames().size(), 18u);
  ASSERT_EQ(reader->getSamples(), 12);
  std::string storage;
  for (int64_t i = 0; i < 12; ++i) {
    SCOPED_TRACE(i);
    double x = static_cast<double>(i);
    EXPECT_EQ(read(*reader, "byte", i), Numbers{x * 20});
    EXPECT_EQ(read(*reader, "short", i), Numbers{x * 3000 - 9000});
    EXPECT_EQ(read(*reader, "int", i), Numbers{x * 1000003});
    EXPECT_EQ(read(*reader, "long", i), Numbers{x * 1e15 - 3e15});
    EXPECT_EQ(read(*reader, "half", i), Numbers{x / 4});
    EXPECT_EQ(read(*reader, "float", i), Numbers{x / 8});
    EXPECT_EQ(read(*reader, "double", i), Numbers{x / 3});
    EXPECT_EQ(read(*reader, "flag", i), Numbers{i % 3 == 0 ? 1. : 0.});
    EXPECT_EQ(readBytes(*reader, "text", i), "text " + std::to_string(i % 4));
    Numbers ids;
    for (int64_t k = 0; k < i % 4; ++k)
      ids.push_back(10 * x + static_cast<double>(k));
    EXPECT_EQ(read(*reader, "ids", i), ids);
    EXPECT_EQ(read(*reader, "pairs", i), (Numbers{x, 0, x, 1, x, 2}));
    EXPECT_EQ(readValue(*reader, "pairs", i, storage).shape,
              (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(read(*reader, "fixed", i), (Numbers{x, x + 0.5}));
    EXPECT_EQ(readBytes(*reader, "image", i), "picture " + std::to_string(i));
    EXPECT_EQ(read(*reader, "label", i), Numbers{static_cast<double>(i % 3)});
    if (i % 4 != 1)
      EXPECT_EQ(read(*reader, "some", i), Numbers{x});
    if (i % 4 != 2)
      EXPECT_EQ(readBytes(*reader, "words", i), std::to_string(i));
    if (i != 3 && i != 4)
      EXPECT_EQ(read(*reader, "holes", i), (Numbers{x, x}));
  }
  // Columns of one shape are arrays, which are checked as a whole.
  const Array *array = reader->load(*reader->findField("pairs"));
  ASSERT_TRUE(array);
  EXPECT_EQ(array->shape, (std::vector<int64_t>{12, 3, 2}));
  EXPECT_EQ(array->dtype, DType::I64);
  EXPECT_EQ(readValue(*reader, "byte", 0, storage).dtype, DType::U8);
  for (const char *name : {"ids", "some", "text", "day", "holes"})
    EXPECT_FALSE(reader->load(*reader->findField(name))) << name;
}

TEST_P(ParquetTest, NullsAndOtherTypesAreErrors) {
  std::string path = getSeedPath(GetParam());
  auto reader = openReader(path, {});
  auto expect = [&](const char *field, int64_t row, const char *what) {
    SCOPED_TRACE(field);
    EXPECT_INGOT_ERROR(ExitCode::BadInput, what, read(*reader, field, row));
  };
  expect("some", 1, "the value is null");
  expect("words", 2, "the value is null");
  expect("holes", 3, "the value is null");
  expect("holes", 4, "the value is null");
  expect("day", 0, "columns of this type are not supported");
  expect("*", 0, "the column holds no numbers");
}

INSTANTIATE_TEST_SUITE_P(Files, ParquetTest,
                         testing::Values("plain", "plain-snappy", "dictionary",
                                         "dictionary-zstd", "packed",
                                         "packed-gzip", "packed-lz4"));

TEST(ParquetReaderTest, ChecksumsAndTruncation) {
  TemporaryFolder folder;
  MappedFile file(getSeedPath("dictionary"));
  std::string bytes(file.getBytes());
  // A page of "text" is damaged without changing its form.
  std::string broken = bytes;
  broken[broken.find("text 2") + 5] = '7';
  writeFile(folder / "a.parquet", broken);
  EXPECT_INGOT_ERROR(
      ExitCode::BadInput, "a.parquet: text: the checksum of a page",
      readBytes(*openReader(folder / "a.parquet", {}), "text", 0));
  writeFile(folder / "b.parquet", bytes.substr(0, bytes.size() - 1));
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "b.parquet: the file is truncated",
                     openReader(folder / "b.parquet", {}));
  bytes.replace(bytes.size() - 4, 4, "PARE");
  writeFile(folder / "c.parquet", bytes);
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "c.parquet: the file is encrypted",
                     openReader(folder / "c.parquet", {}));
}

TEST(ParquetReaderTest, LabelsAndIndicesAreChecked) {
  Console console;
  InputSpec input;
  input.name = "label";
  input.shape = {2};
  input.dtype = DType::I64;
  input.kind = InputKind::Labels;
  input.classes = 3;
  Dataset good({getSeedPath("plain")}, {input}, console);
  EXPECT_EQ(good.getSamples(), 12);
  input.classes = 2;
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "plain: label",
                     Dataset({getSeedPath("plain")}, {input}, console));
}

} // namespace
