// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Samples that come through a FIFO in pieces of any size are those of a file.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/streams/SampleStream.h"
#include "runtime/core/console/Console.h"
#include "runtime/data/dataset/OpenReader.h"
#include "runtime/data/loading/BatchQueue.h"
#include "runtime/trainer/input/StreamOrder.h"
#include "test/runtime/TestSupport.h"
#include "test/runtime/data/DataFiles.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

/// A FIFO into which a thread writes.
class Writer {
public:
  Writer(std::string path, std::string bytes, size_t piece)
      : path(std::move(path)) {
    std::signal(SIGPIPE, SIG_IGN);
    mkfifo(this->path.c_str(), 0600);
    thread = std::thread([this, bytes = std::move(bytes), piece] {
      int descriptor = open(this->path.c_str(), O_WRONLY);
      for (size_t at = 0; at < bytes.size(); at += piece)
        if (write(descriptor, bytes.data() + at,
                  std::min(piece, bytes.size() - at)) < 0)
          break;
      while (!mayEnd)
        std::this_thread::yield();
      close(descriptor);
    });
  }
  ~Writer() {
    mayEnd = true;
    thread.join();
  }

  std::string path;
  std::atomic<bool> mayEnd = true;

private:
  std::thread thread;
};

std::vector<std::string> readAll(const Reader &reader, int64_t samples) {
  std::vector<std::string> all;
  for (int64_t s = 0; s < samples; ++s)
    for (size_t f = 0; f < reader.getNames().size(); ++f) {
      // Text is no part of all numbers.
      if (reader.getNames()[f] == "*")
        continue;
      std::string storage;
      Value value = reader.read(f, s, storage);
      all.push_back(reader.getNames()[f] + value.describe() +
                    std::string(value.bytes));
    }
  return all;
}

struct Content {
  const char *name, *file;
  std::string bytes;
  std::optional<DType> tokens = std::nullopt;
};

void PrintTo(const Content &content, std::ostream *out) {
  *out << content.name;
}

class SampleStreamTest : public testing::TestWithParam<Content> {
protected:
  static std::shared_ptr<SampleStream> openStream(const std::string &path,
                                                  std::optional<DType> tokens) {
    return SampleStream::open(path, tokens, [] { return false; });
  }
  TemporaryFolder folder;
};

TEST_P(SampleStreamTest, HasTheSamplesOfAFile) {
  const Content &content = GetParam();
  ReaderOptions options;
  options.tokens = content.tokens;
  options.getWindow = [] { return 3; };
  writeFile(folder / content.file, content.bytes);
  auto whole = openReader(folder / content.file, options);
  auto want = readAll(*whole, whole->getSamples());
  for (size_t piece : {1, 7, 600, 100000}) {
    SCOPED_TRACE(piece);
    // Bytes one by one take long.
    if (piece == 1 && content.bytes.size() > 3000)
      continue;
    Writer writer(folder / ("fifo" + std::to_string(piece)), content.bytes,
                  piece);
    auto stream = openStream(writer.path, content.tokens);
    ASSERT_TRUE(stream);
    auto reader = stream->makeReader(options);
    EXPECT_EQ(reader->getKind(), whole->getKind());
    EXPECT_EQ(reader->findField("x"), whole->findField("x"));
    EXPECT_EQ(reader->findField("*"), whole->findField("*"));
    EXPECT_TRUE(stream->wait(whole->getSamples() - 1));
    EXPECT_FALSE(stream->wait(whole->getSamples()));
    EXPECT_EQ(stream->countArrived(), whole->getSamples());
    EXPECT_EQ(readAll(*reader, whole->getSamples()), want);
  }
}

std::string makeLines() {
  std::string lines = "\n";
  for (int i = 0; i < 40; ++i)
    lines += "{\"x\": [" + std::to_string(i) + ", 2.5], \"text\": \"line " +
             std::to_string(i * i) + "\"}\r\n\n";
  return lines + "{\"x\": [7, 8], \"text\": \"without an end\"}";
}

std::string makeTable() {
  std::string lines = "\"a, with a comma\",text,label\n";
  for (int i = 0; i < 40; ++i)
    lines += std::to_string(i) + ",\"two\nlines and \"\"quotes\"\" " +
             std::to_string(i) + "\"," + std::to_string(i % 3) + "\n";
  return lines;
}

/// Its first line comes in several pieces.
std::string makeWideTable() {
  std::string lines = "label";
  for (int i = 0; i < 300; ++i)
    lines += ",column " + std::to_string(i);
  for (int row = 0; row < 3; ++row) {
    lines += "\n" + std::to_string(row);
    for (int i = 0; i < 300; ++i)
      lines += "," + std::to_string(i * row);
  }
  return lines;
}

std::vector<uint16_t> makeTokens(int count) {
  std::vector<uint16_t> tokens;
  for (int i = 0; i < count; ++i)
    tokens.push_back(static_cast<uint16_t>(i * 37 % 1000));
  return tokens;
}

std::string makeArchive() {
  std::vector<TarMember> members;
  for (int i = 0; i < 12; ++i) {
    std::string key = "folder/" + std::to_string(i);
    members.push_back({key + ".cls", std::to_string(i)});
    members.push_back({key + ".txt", std::string(100 * i, 'x')});
    if (i == 5)
      members.push_back({"folder/sub", "", '5'});
    if (i == 7)
      members.push_back(
          {"././@LongLink", "folder/" + std::string(200, 'n') + ".cls", 'L'});
    if (i == 7)
      members.push_back({"cut", "77"});
    if (i == 7)
      members.push_back(
          {"././@LongLink", "folder/" + std::string(200, 'n') + ".txt", 'L'});
    if (i == 7)
      members.push_back({"cut", "long"});
  }
  return makeTar(members);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, SampleStreamTest,
    testing::Values(
        Content{"lines", "a.jsonl", makeLines()},
        Content{"lines with a mark", "b.jsonl", "\xef\xbb\xbf" + makeLines()},
        Content{"table", "a.csv", makeTable()},
        Content{"table with a mark", "b.csv", "\xef\xbb\xbf" + makeTable()},
        Content{"wide table", "c.csv", makeWideTable()},
        Content{"tokens", "a.raw", makeBytes(makeTokens(700)), DType::U16},
        Content{"tokens with a header", "a.bin",
                makeTokenHeader(20240520, 1, 300) + makeBytes(makeTokens(300))},
        Content{"tar", "a.tar", makeArchive()}));

class StreamsTest : public testing::Test {
protected:
  TemporaryFolder folder;
};

TEST_F(StreamsTest, FilesOfTokensMayFollowEachOther) {
  std::string one = makeTokenHeader(20240520, 1, 5) + makeBytes(makeTokens(5));
  ReaderOptions options;
  options.getWindow = [] { return 3; };
  {
    Writer writer(folder / "two", one + one, 100);
    auto stream =
        SampleStream::open(writer.path, std::nullopt, [] { return false; });
    auto reader = stream->makeReader(options);
    EXPECT_TRUE(stream->wait(2));
    EXPECT_FALSE(stream->wait(3));
  }
  Writer writer(folder / "more", one + std::string(2000, 'x'), 100);
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "no header of tokens", {
    auto stream =
        SampleStream::open(writer.path, std::nullopt, [] { return false; });
    auto reader = stream->makeReader(options);
    stream->wait(100);
  });
}

TEST_F(StreamsTest, OtherKindsAreReadAsAWhole) {
  std::string path = folder / "a.npy";
  Writer writer(
      path, makeNpy<float>(DType::F32, {500}, std::vector<float>(500)), 100);
  EXPECT_FALSE(SampleStream::open(path, std::nullopt, [] { return false; }));
  auto reader = openReader(path, {});
  EXPECT_EQ(reader->getKind(), "npy");
  EXPECT_EQ(reader->load(0)->shape[0], 500);
}

TEST_F(StreamsTest, TablesThatAreReadAsAWholeNeedNoName) {
  for (const std::string &table : {makeTable(), makeWideTable()}) {
    static int number = 0;
    std::string path = folder / ("table" + std::to_string(number++));
    Writer writer(path, table, 400);
    auto reader = openReader(path, {});
    EXPECT_EQ(reader->getKind(), "CSV");
    EXPECT_TRUE(reader->findField("label"));
  }
}

/// It may have no end.
TEST_F(StreamsTest, NoKnownKindIsRefusedAtOnce) {
  for (const std::string &content :
       {std::string(2000, '\0'), std::string(2000, '\xc3') + '\1',
        std::string(3 << 20, 'x'), std::string("\n\n\n"), std::string("x")}) {
    static int number = 0;
    std::string path = folder / ("unknown" + std::to_string(number++));
    Writer writer(path, content, 100000);
    writer.mayEnd = content.size() < 512;
    EXPECT_INGOT_ERROR(
        ExitCode::BadInput, "no kind of file",
        SampleStream::open(path, std::nullopt, [] { return false; }));
  }
}

TEST_F(StreamsTest, TokensThatAreCutOffAreNamed) {
  ReaderOptions options;
  options.getWindow = [] { return 3; };
  auto waitForAll = [&](const std::string &name, const std::string &bytes,
                        std::optional<DType> tokens) {
    Writer writer(folder / name, bytes, 100);
    auto stream = SampleStream::open(writer.path, tokens, [] { return false; });
    auto reader = stream->makeReader(options);
    stream->wait(1000);
  };
  std::string tokens = makeBytes(makeTokens(300));
  EXPECT_INGOT_ERROR(ExitCode::BadInput,
                     "cannot be divided into tokens of type u16",
                     waitForAll("odd", tokens.substr(0, 599), DType::U16));
  std::string header = makeTokenHeader(20240520, 1, 300);
  EXPECT_INGOT_ERROR(
      ExitCode::BadInput, "fewer tokens than their header says",
      waitForAll("few", header + tokens.substr(0, 400), std::nullopt));
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "fewer tokens than their header says",
                     waitForAll("no second",
                                header + tokens + header.substr(0, 500),
                                std::nullopt));
}

TEST_F(StreamsTest, WaitsEnd) {
  std::atomic<bool> isStopped = false;
  Writer writer(folder / "fifo", "{\"x\": 1}\n{\"x\": 2}\n{\"x\"", 100);
  writer.mayEnd = false;
  auto stream = SampleStream::open(writer.path, std::nullopt,
                                   [&] { return isStopped.load(); });
  auto reader = stream->makeReader({});
  // Samples are there before the stream ends.
  EXPECT_TRUE(stream->wait(1));
  std::thread stopper([&] { isStopped = true; });
  EXPECT_FALSE(stream->wait(2));
  stopper.join();
  isStopped = false;
  stream->cancel();
  EXPECT_FALSE(stream->wait(2));
}

TEST_F(StreamsTest, MessagesCountAllSamples) {
  std::string lines;
  constexpr int64_t count = 20000;
  for (int i = 0; i < count; ++i)
    lines += i == 25 ? "{\"x\": [1, \"a\"]}\n" : "{\"x\": [1, 2]}\n";
  Writer writer(folder / "fifo", lines, 1000);
  auto stream =
      SampleStream::open(writer.path, std::nullopt, [] { return false; });
  auto reader = stream->makeReader({});
  EXPECT_TRUE(stream->wait(count - 1));
  std::string storage;
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "fifo: sample 25: x",
                     reader->read(0, 25, storage));
  // What is released is gone, piece by piece.
  stream->release(count - 2);
  EXPECT_INGOT_ERROR(ExitCode::BadInput, "fifo: sample 0: the stream does not",
                     reader->read(0, 0, storage));
  EXPECT_EQ(reader->read(0, count - 1, storage).getElements(), 2);
}

TEST_F(StreamsTest, WindowsShuffleAndResume) {
  std::string lines;
  for (int i = 0; i < 100; ++i)
    lines += "{\"x\": " + std::to_string(i) + "}\n";
  InputSpec x;
  x.name = "x";
  x.dtype = DType::I64;
  x.shape = {4};
  std::vector<InputSpec> inputs = {x};
  Console console;
  int number = 0;
  auto run = [&](int64_t taken, int64_t window) {
    Writer writer(folder / ("fifo" + std::to_string(number++)), lines, 50);
    DatasetOptions how;
    how.stream =
        SampleStream::open(writer.path, std::nullopt, [] { return false; });
    Dataset data({DataFile{writer.path}}, inputs, console, how);
    StreamSteps steps{8, 2, window, /*seed=*/3, /*kept=*/2};
    StreamOrder order(how.stream, steps, taken);
    auto plan = order.plan(data, inputs, taken / 8, 1000);
    std::vector<int64_t> samples;
    int64_t batch = 0;
    while (auto made = plan(batch++)) {
      EXPECT_EQ(made->samples.size(), 4u);
      samples.insert(samples.end(), made->samples.begin(), made->samples.end());
    }
    EXPECT_EQ(order.countLeft(), 4);
    return samples;
  };
  std::vector<int64_t> ordered = run(0, 0), shuffled = run(0, 20);
  ASSERT_EQ(ordered.size(), 96u);
  EXPECT_TRUE(std::is_sorted(ordered.begin(), ordered.end()));
  EXPECT_FALSE(std::is_sorted(shuffled.begin(), shuffled.end()));
  EXPECT_EQ(std::set(shuffled.begin(), shuffled.end()).size(), 96u);
  for (size_t i = 0; i < shuffled.size(); ++i)
    EXPECT_LT(shuffled[i], static_cast<int64_t>(i) + 20);
  for (int64_t window : {0, 20}) {
    auto all = run(0, window), rest = run(48, window);
    EXPECT_EQ(rest, std::vector<int64_t>(all.begin() + 48, all.end()));
  }
}

} // namespace
