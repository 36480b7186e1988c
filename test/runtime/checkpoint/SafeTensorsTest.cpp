// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// safetensors files, good and hostile.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/SafeTensors.h"
#include "test/runtime/TestSupport.h"

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

std::string makeFile(const std::string &header, const std::string &data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += static_cast<char>(static_cast<uint64_t>(header.size()) >> (8 * i));
  return bytes + header + data;
}

void expectRefused(const std::string &header, const std::string &data,
                   const std::string &part) {
  EXPECT_INGOT_ERROR(ExitCode::BadInput, part,
                     readSafeTensors(makeFile(header, data), "f"));
}

TEST(SafeTensors, RoundTrips) {
  TemporaryFolder folder;
  SafeTensors content;
  content.metadata["k"] = "v";
  content.tensors["a"] = {DType::U8, {3}, "abc"};
  content.tensors["b"] = {DType::F32, {2, 1}, "12345678"};
  content.tensors["c"] = {DType::I64, {}, "12345678"};
  content.tensors["empty"] = {DType::F32, {0}, ""};
  std::string path = folder / "f.safetensors";
  AtomicFile file(path);
  writeSafeTensors(file, content);
  file.commit();
  MappedFile mapped(path);
  SafeTensors back = readSafeTensors(mapped.getBytes(), path);
  EXPECT_EQ(back.metadata, content.metadata);
  ASSERT_EQ(back.tensors.size(), content.tensors.size());
  for (const auto &[name, tensor] : content.tensors) {
    EXPECT_EQ(back.tensors[name].dtype, tensor.dtype);
    EXPECT_EQ(back.tensors[name].shape, tensor.shape);
    EXPECT_EQ(back.tensors[name].data, tensor.data);
  }
  // Data is aligned to its elements.
  EXPECT_EQ(reinterpret_cast<uintptr_t>(back.tensors["c"].data.data()) % 8, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(back.tensors["b"].data.data()) % 4, 0u);
}

// Data that is mapped begins at a page, in the order that is asked for.
TEST(SafeTensors, PlacesTensorsFirst) {
  TemporaryFolder folder;
  SafeTensors content;
  content.tensors["a"] = {DType::I64, {}, "12345678"};
  content.tensors["b"] = {DType::F32, {2}, "abcdefgh"};
  content.tensors["c"] = {DType::U8, {8}, "ABCDEFGH"};
  std::string path = folder / "f.safetensors";
  AtomicFile file(path);
  writeSafeTensors(file, content, {{"c", "b"}, 4096});
  file.commit();
  MappedFile mapped(path);
  SafeTensors back = readSafeTensors(mapped.getBytes(), path);
  ASSERT_EQ(back.tensors.size(), 3u);
  const char *start = back.tensors["c"].data.data();
  EXPECT_EQ((start - mapped.getBytes().data()) % 4096, 0);
  EXPECT_EQ(back.tensors["b"].data.data(), start + 8);
  EXPECT_EQ(back.tensors["a"].data.data(), start + 16);
  for (const auto &[name, tensor] : content.tensors)
    EXPECT_EQ(back.tensors[name].data, tensor.data);
}

TEST(SafeTensors, RefusesWhatTheFormatForbids) {
  std::string four = R"("dtype": "F32", "shape": [1])";
  expectRefused("[]", "", "not a JSON object");
  expectRefused("{", "", "not a JSON object");
  expectRefused("{\"a\": {" + four + ", \"data_offsets\": [0, 8]}}", "12345678",
                "does not match the shape");
  expectRefused("{\"a\": {" + four + ", \"data_offsets\": [0, 4]}}", "123",
                "outside the file");
  expectRefused("{\"a\": {" + four + ", \"data_offsets\": [4, 0]}}", "12345678",
                "outside the file");
  expectRefused("{\"a\": {" + four + ", \"data_offsets\": [4, 8]}}", "12345678",
                "hole");
  expectRefused("{\"a\": {" + four + ", \"data_offsets\": [0, 4]}}", "12345678",
                "no tensor has");
  expectRefused("{\"a\": {" + four + ", \"data_offsets\": [0, 4]}, \"b\": {" +
                    four + ", \"data_offsets\": [0, 4]}}",
                "1234", "overlap");
  expectRefused("{\"a\": {" + four + ", \"data_offsets\": [-4, 0]}}", "",
                "malformed");
  expectRefused(R"({"a": {"dtype": "F32", "shape": [4611686018427387904, 4],
                    "data_offsets": [0, 0]}})",
                "", "overflows");
  expectRefused(R"({"a": {"dtype": "F4", "shape": [1],
                    "data_offsets": [0, 0]}})",
                "", "element type 'F4' is not supported");
}

TEST(SafeTensors, RefusesAHugeHeader) {
  std::string bytes("\x01\xe1\xf5\x05\x00\x00\x00\x00{}", 10);
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "larger than 100,000,000",
                     readSafeTensors(bytes, "f"));
}

TEST(SafeTensors, SurvivesTruncationAndFlippedBytes) {
  std::string bytes = makeFile(
      R"({"a": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]},
          "b": {"dtype": "U8", "shape": [1], "data_offsets": [8, 9]}})",
      "123456789");
  for (size_t i = 0; i < bytes.size(); ++i) {
    getError(ExitCode::BadInput,
             [&] { readSafeTensors(bytes.substr(0, i), "f"); });
    for (int flip : {0x01, 0x04, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      getError(ExitCode::BadInput, [&] { readSafeTensors(damaged, "f"); });
    }
  }
}

} // namespace
