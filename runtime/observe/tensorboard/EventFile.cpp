// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Event files. The three messages that are written are encoded here, because
// libprotobuf would be the largest library of most trainers.
//
//===----------------------------------------------------------------------===//

#include "runtime/observe/tensorboard/EventFile.h"

#include "runtime/core/File.h"

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

using namespace ingot::runtime;

//===----------------------------------------------------------------------===//
// Protobuf's wire format
//===----------------------------------------------------------------------===//

namespace {
enum WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// Fields of event.proto and summary.proto.
enum EventField { WallTime = 1, Step = 2, FileVersion = 3, SummaryOfEvent = 5 };
enum { SessionLogOfEvent = 7, SessionStatus = 1, SessionStart = 1 };
enum { ValueOfSummary = 1, Tag = 1, SimpleValue = 2, Histo = 5 };
enum HistogramField { Min = 1, Max, Num, Sum, SumSquares, BucketLimit, Bucket };
} // namespace

static void putVarint(std::string &to, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

static void putKey(std::string &to, int field, WireType type) {
  putVarint(to, static_cast<uint64_t>(field) << 3 | type);
}

/// Numbers are little-endian, as on all processors that Ingot compiles for.
template <typename T> static void putNumber(std::string &to, T value) {
  static_assert(std::endian::native == std::endian::little);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

static void putDouble(std::string &to, int field, double value) {
  putKey(to, field, Fixed64);
  putNumber(to, value);
}

static void putBytes(std::string &to, int field, std::string_view bytes) {
  putKey(to, field, Bytes);
  putVarint(to, bytes.size());
  to += bytes;
}

static void putDoubles(std::string &to, int field,
                       const std::vector<double> &values) {
  putKey(to, field, Bytes);
  putVarint(to, values.size() * sizeof(double));
  for (double value : values)
    putNumber(to, value);
}

//===----------------------------------------------------------------------===//
// Summaries
//===----------------------------------------------------------------------===//

void Summary::addScalar(std::string_view tag, double value) {
  std::string field;
  putBytes(field, Tag, tag);
  putKey(field, SimpleValue, Fixed32);
  putNumber(field, static_cast<float>(value));
  putBytes(bytes, ValueOfSummary, field);
}

void Summary::addHistogram(std::string_view tag, const Histogram &histogram) {
  std::string content;
  putDouble(content, Min, histogram.getMin());
  putDouble(content, Max, histogram.getMax());
  putDouble(content, Num, static_cast<double>(histogram.getFinite()));
  putDouble(content, Sum, histogram.getSum());
  putDouble(content, SumSquares, histogram.getSquareSum());
  Histogram::Buckets buckets = histogram.getBuckets();
  putDoubles(content, BucketLimit, buckets.limits);
  putDoubles(content, Bucket, buckets.counts);
  std::string field;
  putBytes(field, Tag, tag);
  putBytes(field, Histo, content);
  putBytes(bytes, ValueOfSummary, field);
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

static constexpr std::array<uint32_t, 256> makeCrcTable() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    table[i] = crc;
  }
  return table;
}

uint32_t ingot::runtime::getMaskedCrc(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> table = makeCrcTable();
  uint32_t crc = ~0u;
  for (char byte : bytes)
    crc = table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF] ^ crc >> 8;
  return std::rotr(~crc, 15) + 0xA282EAD8u;
}

static std::string makeRecord(const std::string &data) {
  std::string record;
  putNumber(record, static_cast<uint64_t>(data.size()));
  putNumber(record, getMaskedCrc(record));
  record += data;
  putNumber(record, getMaskedCrc(data));
  return record;
}

/// A name that sorts by time, as TensorBoard reads the files of a folder.
static std::string makeName(const std::string &folder) {
  char host[256] = "host";
  (void)gethostname(host, sizeof(host) - 1);
  auto path = [&](int number) {
    return fmt::format("{}/events.out.tfevents.{:010}.{}.{}.{}", folder,
                       static_cast<int64_t>(std::time(nullptr)), host, getpid(),
                       number);
  };
  int number = 0;
  std::error_code ignored;
  while (std::filesystem::exists(
      std::filesystem::symlink_status(path(number), ignored)))
    ++number;
  return path(number);
}

EventFile::EventFile(const std::string &folder) {
  makeFolder(folder);
  file = RecordFile(makeName(folder), "events", O_CREAT | O_EXCL);
  std::string fields;
  putBytes(fields, FileVersion, "brain.Event:2");
  writeEvent(fields);
}

void EventFile::writeEvent(const std::string &fields) {
  std::string event;
  putDouble(event, WallTime,
            std::chrono::duration<double>(
                std::chrono::system_clock::now().time_since_epoch())
                .count());
  file.append(makeRecord(event + fields));
}

void EventFile::write(int64_t step, const Summary &summary) {
  std::string fields;
  putKey(fields, Step, Varint);
  putVarint(fields, static_cast<uint64_t>(step));
  putBytes(fields, SummaryOfEvent, summary.getBytes());
  writeEvent(fields);
}

void EventFile::restartAt(int64_t step) {
  std::string session, fields;
  putKey(session, SessionStatus, Varint);
  putVarint(session, SessionStart);
  putKey(fields, Step, Varint);
  putVarint(fields, static_cast<uint64_t>(step));
  putBytes(fields, SessionLogOfEvent, session);
  writeEvent(fields);
}
