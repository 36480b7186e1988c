// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The bytes of global memory that an operation on the GPU reads and writes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_PTX_ACCESSLOG_H
#define INGOT_TEST_FAKES_CUDA_PTX_ACCESSLOG_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fakes {

class AccessLog {
public:
  /// The name of the operation, for messages.
  std::string name;

  /// Bytes that follow each other, all of which are written or all are not.
  struct Span {
    uint64_t begin, end;
    bool isWritten;
  };

  void add(uint64_t address, uint64_t bytes, bool isWritten) {
    while (bytes > 0) {
      uint64_t number = address / pageBytes, offset = address % pageBytes;
      uint64_t count = std::min(bytes, pageBytes - offset);
      Page &page = getPage(number);
      mark(isWritten ? page.written : page.read, offset, count);
      address += count;
      bytes -= count;
    }
  }

  /// Returns what has been read and what has been written, each sorted.
  std::vector<Span> list() const {
    std::vector<Span> spans;
    for (bool isWritten : {false, true}) {
      size_t first = spans.size();
      for (const auto &[number, page] : pages) {
        const Bits &bits = isWritten ? page->written : page->read;
        for (uint64_t at = 0; at < pageBytes; ++at) {
          if (bits[at / 64] == 0) {
            at += 63;
            continue;
          }
          if (!(bits[at / 64] >> at % 64 & 1))
            continue;
          uint64_t address = number * pageBytes + at;
          if (spans.size() > first && spans.back().end == address)
            ++spans.back().end;
          else
            spans.push_back({address, address + 1, isWritten});
        }
      }
    }
    return spans;
  }

private:
  static constexpr uint64_t pageBytes = 4096;
  /// A bit for each byte.
  using Bits = std::array<uint64_t, pageBytes / 64>;
  struct Page {
    Bits read = {}, written = {};
  };

  Page &getPage(uint64_t number) {
    if (last && lastNumber == number)
      return *last;
    std::unique_ptr<Page> &page = pages[number];
    if (!page)
      page = std::make_unique<Page>();
    last = page.get();
    lastNumber = number;
    return *last;
  }

  static void mark(Bits &bits, uint64_t from, uint64_t count) {
    for (uint64_t end = from + count; from < end;) {
      uint64_t inWord = std::min<uint64_t>(end - from, 64 - from % 64);
      uint64_t ones = inWord == 64 ? ~uint64_t(0) : (uint64_t(1) << inWord) - 1;
      bits[from / 64] |= ones << from % 64;
      from += inWord;
    }
  }

  std::map<uint64_t, std::unique_ptr<Page>> pages;
  Page *last = nullptr;
  uint64_t lastNumber = 0;
};

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_PTX_ACCESSLOG_H
