// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// .npy and .npz files, good and hostile.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/TestSupport.h"

#include <cstring>
#include <zlib.h>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

template <typename T> std::vector<T> getValues(const Array &array) {
  std::vector<T> values(array.getElements());
  std::memcpy(values.data(), array.data, values.size() * sizeof(T));
  return values;
}

/// An .npy file with that dictionary, as some other program may write it.
std::string makeRaw(const std::string &dictionary, const std::string &data,
                    int major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  size_t size = dictionary.size();
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(size >> (8 * i));
  return bytes + dictionary + data;
}

TEST(Npy, RoundTrips) {
  std::string bytes = makeNpy<float>(DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6});
  Array array = readNpy(bytes, "a");
  EXPECT_EQ(array.dtype, DType::F32);
  EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(getValues<float>(array), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(readNpy(makeNpy<float>(DType::F32, {}, {1}), "a").shape.size(), 0u);
  EXPECT_EQ(readNpy(makeNpy<float>(DType::F32, {0, 4}, {}), "a").shape,
            (std::vector<int64_t>{0, 4}));
}

TEST(Npy, EveryVersion) {
  for (int major : {1, 2, 3}) {
    std::string bytes =
        makeRaw("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n",
                std::string("\x01\x00\xff\xff", 4), major);
    EXPECT_EQ(getValues<int16_t>(readNpy(bytes, "a")),
              (std::vector<int16_t>{1, -1}));
  }
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "unknown .npy version 9",
                     readNpy(makeRaw("{}", "", 9), "a"));
}

TEST(Npy, BigEndianAndFortranOrder) {
  std::string bytes =
      makeRaw("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3)}",
              std::string("\0\1\0\4\0\2\0\5\0\3\0\6", 12));
  EXPECT_EQ(getValues<int16_t>(readNpy(bytes, "a")),
            (std::vector<int16_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, RefusesWhatItCannotRead) {
  auto refuse = [](const std::string &dictionary, const std::string &part) {
    EXPECT_INGOT_ERROR(ExitCode::BadInput, part,
                       readNpy(makeRaw(dictionary, "12345678"), "a"));
  };
  refuse("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
         "element type '<c8' is not supported");
  refuse("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
         "element type '|O' is not supported");
  refuse("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
         "structured arrays");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
         "truncated");
  refuse("{'descr': '<f4', 'fortran_order': False, "
         "'shape': (4611686018427387904, 4)}",
         "damaged");
  refuse("{'descr': '<f4', 'fortran_order': False, "
         "'shape': (1099511627776, 1099511627776)}",
         "overflows");
  refuse("{'descr': '<f4', 'fortran_order': False}", "damaged");
  refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "damaged");
  refuse("", "damaged");
}

class ArrayFileTest : public testing::Test {
protected:
  /// Reads every array of a file of those bytes; errors are fine, a crash is
  /// not.
  void readAll(const std::string &bytes) {
    writeFile(path, bytes);
    getError(ExitCode::BadInput, [&] {
      ArrayFile file(path);
      for (const std::string &name : file.getNames())
        (void)file.read(name).getElements();
    });
  }

  TemporaryFolder folder;
  std::string path = folder / "file.npz";
};

TEST_F(ArrayFileTest, StoredArrays) {
  writeNpz(path, {{"x", makeNpy<float>(DType::F32, {2}, {1, 2})},
                  {"labels", makeNpy<int64_t>(DType::I64, {2}, {3, 4})}});
  ArrayFile file(path);
  EXPECT_EQ(file.getNames(), (std::vector<std::string>{"x", "labels"}));
  EXPECT_EQ(getValues<float>(file.read("x")), (std::vector<float>{1, 2}));
  EXPECT_EQ(getValues<int64_t>(file.read("labels")),
            (std::vector<int64_t>{3, 4}));
  EXPECT_FALSE(file.has("y"));
}

TEST_F(ArrayFileTest, LoneNpy) {
  writeFile(path, makeNpy<float>(DType::F32, {2}, {1, 2}));
  ArrayFile file(path);
  EXPECT_TRUE(file.isSingle());
  EXPECT_EQ(getValues<float>(file.read("anything")),
            (std::vector<float>{1, 2}));
}

TEST_F(ArrayFileTest, RefusesOtherFiles) {
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "cannot open",
                     ArrayFile(folder / "none.npz"));
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "not a regular file",
                     ArrayFile(folder / "."));
  writeFile(path, "");
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "neither an .npz nor an .npy",
                     ArrayFile{path});
  writeNpz(path, {});
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "no array", ArrayFile{path});
}

TEST_F(ArrayFileTest, NoticesDamagedData) {
  writeNpz(path, {{"x", makeNpy<float>(DType::F32, {2}, {1, 2})}});
  std::string bytes = readFile(path);
  float two = 2;
  size_t at = bytes.find(std::string(reinterpret_cast<char *>(&two), 4));
  bytes[at] ^= 1;
  writeFile(path, bytes);
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "checksum does not match",
                     ArrayFile(path).read("x"));
}

/// A small archive with a deflated entry, as savez_compressed writes it.
std::string makeDeflated() {
  std::string content =
      makeNpy<float>(DType::F32, {64}, std::vector<float>(64, 1.5f));
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string packed(compressBound(content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef *>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef *>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  auto number = [](uint64_t value, int size) {
    std::string bytes;
    for (int i = 0; i < size; ++i)
      bytes += static_cast<char>(value >> (8 * i));
    return bytes;
  };
  uint32_t crc =
      crc32(0, reinterpret_cast<const Bytef *>(content.data()), content.size());
  std::string sizes = number(crc, 4) + number(packed.size(), 4) +
                      number(content.size(), 4) + number(5, 2) + number(0, 2);
  std::string local = "PK\x03\x04" + number(20, 2) + number(0, 2) +
                      number(8, 2) + number(0, 4) + sizes + "x.npy" + packed;
  std::string central = "PK\x01\x02" + number(20, 2) + number(20, 2) +
                        number(0, 2) + number(8, 2) + number(0, 4) + sizes +
                        number(0, 2) + number(0, 2) + number(0, 2) +
                        number(0, 4) + number(0, 4) + "x.npy";
  return local + central + "PK\x05\x06" + number(0, 4) + number(1, 2) +
         number(1, 2) + number(central.size(), 4) + number(local.size(), 4) +
         number(0, 2);
}

TEST_F(ArrayFileTest, DeflatedArrays) {
  writeFile(path, makeDeflated());
  EXPECT_EQ(getValues<float>(ArrayFile(path).read("x")),
            std::vector<float>(64, 1.5f));
}

TEST_F(ArrayFileTest, SurvivesTruncationAtEveryByte) {
  writeNpz(path, {{"x", makeNpy<float>(DType::F32, {2}, {1, 2})}});
  for (const std::string &bytes : {readFile(path), makeDeflated()})
    for (size_t size = 0; size < bytes.size(); ++size)
      readAll(bytes.substr(0, size));
}

TEST_F(ArrayFileTest, SurvivesFlippedBytes) {
  writeNpz(path, {{"x", makeNpy<float>(DType::F32, {2}, {1, 2})}});
  for (const std::string &bytes : {readFile(path), makeDeflated()})
    for (size_t i = 0; i < bytes.size(); ++i)
      for (int flip : {0x01, 0x80, 0xff}) {
        std::string damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ flip);
        readAll(damaged);
      }
}

TEST_F(ArrayFileTest, SurvivesFlippedBytesInAnNpy) {
  std::string bytes = makeNpy<float>(DType::F32, {2}, {1, 2});
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      readAll(damaged);
      readAll(damaged.substr(0, i));
    }
}

} // namespace
