// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Event files, byte by byte; TensorBoard itself reads them in the end-to-end
// tests.
//===----------------------------------------------------------------------===//

#include "runtime/observe/tensorboard/EventFile.h"
#include "runtime/core/File.h"
#include "runtime/trainer/hooks/ParameterInspector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <unistd.h>

using namespace ingot::runtime;

namespace {

TEST(EventFile, ChecksumIsThatOfTheStandard) {
  // RFC 3720, B.4: CRC-32C of 32 zeros, and of 0 to 31.
  auto unmask = [](uint32_t masked) {
    uint32_t rotated = masked - 0xA282EAD8u;
    return rotated >> 17 | rotated << 15;
  };
  EXPECT_EQ(unmask(getMaskedCrc(std::string(32, '\0'))), 0x8A9136AAu);
  std::string bytes;
  for (char i = 0; i < 32; ++i)
    bytes += i;
  EXPECT_EQ(unmask(getMaskedCrc(bytes)), 0x46DD794Eu);
}

TEST(EventFile, RecordsAreFramed) {
  auto folder = std::filesystem::temp_directory_path() /
                ("ingot-events-" + std::to_string(getpid()));
  {
    EventFile file(folder.string());
    Summary summary;
    summary.addScalar("train/loss", 0.5);
    file.write(300, summary);
    EventFile other(folder.string());
  }
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    paths.push_back(entry.path().string());
  ASSERT_EQ(paths.size(), 2u) << "two runs share a file";
  std::sort(paths.begin(), paths.end());
  std::string bytes(MappedFile(paths[0]).getBytes());
  std::filesystem::remove_all(folder);
  std::vector<std::string> events;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t size = 0;
    uint32_t crc = 0;
    std::memcpy(&size, &bytes[at], sizeof(size));
    std::memcpy(&crc, &bytes[at + 8], sizeof(crc));
    EXPECT_EQ(crc, getMaskedCrc({&bytes[at], 8}));
    events.push_back(bytes.substr(at + 12, size));
    std::memcpy(&crc, &bytes[at + 12 + size], sizeof(crc));
    EXPECT_EQ(crc, getMaskedCrc(events.back()));
    at += 16 + size;
  }
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].substr(9), "\x1a\x0d"
                                 "brain.Event:2");
  // Step 300, and a summary of one value: a tag and a float.
  EXPECT_EQ(events[1].substr(9), std::string("\x10\xac\x02\x2a\x13\x0a\x11\x0a"
                                             "\x0a"
                                             "train/loss\x15\x00\x00\x00\x3f",
                                             24));
}

TEST(Histogram, CountsWhatIsInEachBucket) {
  Histogram histogram;
  float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {-2, -1.95f, 0,        0,   1e-40f,
                               1,  1.01f,  infinity, NAN, 3e38f};
  histogram.add(values.data(), static_cast<int64_t>(values.size()));
  EXPECT_EQ(histogram.getElements(), 10);
  EXPECT_EQ(histogram.getFinite(), 8);
  EXPECT_EQ(histogram.getZeros(), 2);
  EXPECT_EQ(histogram.getSubnormal(), 1);
  EXPECT_EQ(histogram.getMin(), -2);
  EXPECT_EQ(histogram.getMax(), 3e38f);
  Histogram::Buckets buckets = histogram.getBuckets();
  ASSERT_EQ(buckets.counts.size(), buckets.limits.size());
  double total = 0;
  for (size_t i = 0; i < buckets.counts.size(); ++i) {
    total += buckets.counts[i];
    EXPECT_TRUE(std::isfinite(buckets.limits[i]));
    if (i > 0) {
      EXPECT_LT(buckets.limits[i - 1], buckets.limits[i]);
    }
    // What is between the limits is what is counted there; limits belong to
    // the bucket that is farther from zero.
    double count = 0, lower = i == 0 ? -INFINITY : buckets.limits[i - 1];
    for (float value : values)
      if (std::isfinite(value))
        count += value < 0 ? value > lower && value <= buckets.limits[i]
                           : value >= lower && value < buckets.limits[i];
    EXPECT_EQ(count, buckets.counts[i]) << buckets.limits[i];
  }
  EXPECT_EQ(total, 8);
}

TEST(ParameterHistograms, AilmentsHaveNames) {
  auto make = [](std::vector<float> weight, std::vector<float> update,
                 std::vector<float> gradient, bool isMatrix = true,
                 double rate = 1) {
    ParameterHistograms histograms;
    histograms.weight.add(weight.data(), static_cast<int64_t>(weight.size()));
    histograms.update.add(update.data(), static_cast<int64_t>(update.size()));
    histograms.gradient.emplace().add(gradient.data(),
                                      static_cast<int64_t>(gradient.size()));
    return histograms.diagnose(isMatrix, rate);
  };
  EXPECT_EQ(make({1, 2}, {1e-3f, 1e-3f}, {1, 1}), std::nullopt);
  EXPECT_EQ(make({1, 2}, {0, 0}, {1, 1}), std::nullopt) << "a rate of zero";
  EXPECT_EQ(make({1, 2}, {1e-3f, 1e-3f}, {1, NAN}), Ailment::NotFinite);
  EXPECT_EQ(make({1, 2}, {1e-3f, 1e-3f}, {0, 0}), Ailment::NoGradient);
  EXPECT_EQ(make({1, 2}, {1e-9f, 0}, {1, 1}), Ailment::TinyUpdate);
  // A schedule's rate has fallen to a millionth.
  EXPECT_EQ(make({1, 2}, {1e-9f, 0}, {1, 1}, true, 1e-6), std::nullopt);
  EXPECT_EQ(make({1, 2}, {1e-15f, 0}, {1, 1}, true, 1e-6), Ailment::TinyUpdate);
  EXPECT_EQ(make({1, 2}, {1, 1}, {1, 1}), Ailment::LargeUpdate);
  EXPECT_EQ(make({1, 2}, {1, 1}, {1, 1}, /*isMatrix=*/false), std::nullopt);
}

} // namespace
