// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Collectives over MPI. They are a library of their own, which is loaded where
// ranks are launched, so that a single rank runs on machines without MPI.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Collectives.h"
#include "runtime/comm/MpiRing.h"

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <vector>

using namespace ingot::runtime;

namespace {

/// MPI's type and sum of an element type.
struct Element {
  MPI_Datatype type;
  MPI_Op sum;
};

/// Computes sum += addend, element by element; MPI calls it with its own types.
template <DType type>
void addHalf(void *addend, void *sum, int *count, MPI_Datatype *) {
  addElements(static_cast<const char *>(addend), static_cast<char *>(sum),
              *count, type);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Counts of MPI are of type int, so that large data is sent in pieces.
constexpr int64_t kMostPerCall = int64_t(1) << 30;

/// The number of tags that every MPI library has.
constexpr int kTags = 1 << 15;

/// Bytes of a shard below which the latency of a ring's steps is not worth it.
constexpr int64_t kSmallShard = 16 << 10;

class Requests : public Pending {
public:
  bool test() override {
    int done = 0;
    checkMpi(MPI_Testall(static_cast<int>(all.size()), all.data(), &done,
                         MPI_STATUSES_IGNORE));
    return done != 0;
  }
  MPI_Request *add() { return &all.emplace_back(MPI_REQUEST_NULL); }

private:
  std::vector<MPI_Request> all;
};

class MpiCollectives : public Collectives {
public:
  MpiCollectives(int rank, int size, bool ownsMpi)
      : Collectives(rank, size), ownsMpi(ownsMpi) {
    // A communicator of its own keeps the run's messages apart from others.
    checkMpi(MPI_Comm_dup(MPI_COMM_WORLD, &ranks));
    MPI_Comm_set_errhandler(ranks, MPI_ERRORS_RETURN);
    checkMpi(MPI_Op_create(addHalf<DType::BF16>, /*commute=*/1, &addBf16));
    checkMpi(MPI_Op_create(addHalf<DType::F16>, /*commute=*/1, &addF16));
  }
  void finish() override {
    MPI_Op_free(&addBf16);
    MPI_Op_free(&addF16);
    MPI_Comm_free(&ranks);
    if (ownsMpi)
      MPI_Finalize();
  }

  std::string describe() const override {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    std::string text(version, length);
    return "mpi: " + text.substr(0, text.find_first_of(",\n"));
  }

  std::unique_ptr<Pending> startAllReduce(void *data, int64_t elements,
                                          DType type) override {
    int64_t bytes = elements * ingot::runtime::getSize(type);
    if (bytes >= kSmallShard * getSize())
      return startRing(MpiRing::Part::Both, data, elements, type);
    auto requests = std::make_unique<Requests>();
    Element element = getElement(type);
    checkMpi(MPI_Iallreduce(MPI_IN_PLACE, data, static_cast<int>(elements),
                            element.type, element.sum, ranks, requests->add()));
    return requests;
  }

  std::unique_ptr<Pending> startReduceScatter(void *data, int64_t elements,
                                              DType type) override {
    return startRing(MpiRing::Part::Reduce, data, elements, type);
  }

  std::unique_ptr<Pending> startGatherShards(void *data, int64_t elements,
                                             DType type) override {
    return startRing(MpiRing::Part::Gather, data, elements, type);
  }

  std::unique_ptr<Pending> startAllGather(const void *from, void *to,
                                          int64_t bytes) override {
    auto requests = std::make_unique<Requests>();
    if (bytes > kMostPerCall)
      throw std::runtime_error("more than 1 GiB in an all-gather");
    auto count = static_cast<int>(bytes);
    checkMpi(MPI_Iallgather(from, count, MPI_BYTE, to, count, MPI_BYTE, ranks,
                            requests->add()));
    return requests;
  }

  std::unique_ptr<Pending> startBroadcast(void *data, int64_t bytes,
                                          int64_t root) override {
    auto requests = std::make_unique<Requests>();
    forEachPiece(bytes, [&](int64_t first, int count) {
      checkMpi(MPI_Ibcast(static_cast<char *>(data) + first, count, MPI_BYTE,
                          static_cast<int>(root), ranks, requests->add()));
    });
    return requests;
  }

private:
  std::unique_ptr<Pending> startRing(MpiRing::Part part, void *data,
                                     int64_t elements, DType type) {
    if (getSize() == 1)
      return std::make_unique<Requests>();
    // All ranks start the same operations in the same order.
    lastTag = (lastTag + 1) % kTags;
    return std::make_unique<MpiRing>(ranks, lastTag, part, data, elements, type,
                                     staging);
  }

  template <typename Body>
  static void forEachPiece(int64_t elements, Body body) {
    for (int64_t first = 0; first < elements; first += kMostPerCall)
      body(first, static_cast<int>(std::min(kMostPerCall, elements - first)));
  }

  Element getElement(DType type) const {
    switch (type) {
    case DType::F32:
      return {MPI_FLOAT, MPI_SUM};
    case DType::F64:
      return {MPI_DOUBLE, MPI_SUM};
    case DType::BF16:
      return {MPI_UINT16_T, addBf16};
    case DType::F16:
      return {MPI_UINT16_T, addF16};
    case DType::I64:
      return {MPI_INT64_T, MPI_SUM};
    case DType::I32:
      return {MPI_INT32_T, MPI_SUM};
    default:
      throw std::runtime_error("no sum over ranks of this element type");
    }
  }

  MPI_Comm ranks = MPI_COMM_NULL;
  MPI_Op addBf16 = MPI_OP_NULL, addF16 = MPI_OP_NULL;
  StagingPool staging;
  int lastTag = 0;
  bool ownsMpi;
};

} // namespace

Collectives *ingot_connect_mpi(char *message, int64_t capacity) {
  try {
    int isInitialized = 0, level = 0, rank = 0, size = 1;
    checkMpi(MPI_Initialized(&isInitialized));
    // One thread communicates at a time, and it is not the main thread.
    if (!isInitialized)
      checkMpi(
          MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level));
    else
      checkMpi(MPI_Query_thread(&level));
    if (level < MPI_THREAD_SERIALIZED)
      throw std::runtime_error("this MPI is for programs of one thread only");
    checkMpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    checkMpi(MPI_Comm_size(MPI_COMM_WORLD, &size));
    return new MpiCollectives(rank, size, !isInitialized);
  } catch (const std::exception &error) {
    std::snprintf(message, static_cast<size_t>(capacity), "%s", error.what());
    return nullptr;
  }
}
