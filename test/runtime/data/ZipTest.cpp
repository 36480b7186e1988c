// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/Zip.h"

#include "test/runtime/TestSupport.h"

#include <gtest/gtest.h>

using namespace ingot::runtime;

// NumPy reads an entry's checksum, of an empty one too, which no byte changes.
TEST(Zip, EmptyEntriesAndEmptyWrites) {
  test::TemporaryFolder folder;
  std::string path = folder / "empty.zip";
  ZipWriter writer(path);
  writer.begin("nothing", 0);
  writer.end();
  writer.begin("empty", 0);
  writer.write("");
  writer.write(std::string_view());
  writer.end();
  writer.begin("parts", 9);
  for (std::string_view part : {"", "12345", "", "6789", ""})
    writer.write(part);
  writer.end();
  writer.commit();
  std::string bytes = test::readFile(path);
  std::vector<ZipEntry> entries = readZipDirectory(bytes, path);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].crc, 0u);
  EXPECT_EQ(entries[1].crc, 0u);
  EXPECT_EQ(entries[2].crc, 0xcbf43926u);
  Block storage;
  EXPECT_EQ(readZipEntry(bytes, entries[0], path, storage), "");
  EXPECT_EQ(readZipEntry(bytes, entries[1], path, storage), "");
  EXPECT_EQ(readZipEntry(bytes, entries[2], path, storage), "123456789");
}
