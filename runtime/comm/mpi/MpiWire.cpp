// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/mpi/MpiWire.h"

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <vector>

using namespace ingot::runtime;

/// Throws std::runtime_error with MPI's message.
static void check(int status) {
  if (status == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw std::runtime_error(std::string(text, static_cast<size_t>(length)));
}

namespace {

class MpiWire : public Wire {
public:
  MpiWire(int rank, int size, bool ownsMpi)
      : Wire(rank, size), ownsMpi(ownsMpi) {
    // A communicator of its own keeps the run's messages apart from others.
    check(MPI_Comm_dup(MPI_COMM_WORLD, &ranks));
    MPI_Comm_set_errhandler(ranks, MPI_ERRORS_RETURN);
  }

  void finish() override {
    MPI_Comm_free(&ranks);
    if (ownsMpi)
      MPI_Finalize();
  }

  std::string describe() const override {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    // The first line, which MPICH writes as "MPICH Version:\t4.0".
    std::string text(version, static_cast<size_t>(length)), first;
    for (char c : text.substr(0, text.find_first_of(",\n")))
      if (c != ':')
        first += c == '\t' ? ' ' : c;
    return "MPI (" + first + ")";
  }

  Transfer send(int64_t to, int32_t tag, const void *data,
                int64_t bytes) override {
    Transfer transfer = take();
    check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE,
                    static_cast<int>(to), tag, ranks, &requests[transfer]));
    return transfer;
  }

  Transfer receive(int64_t from, int32_t tag, void *data,
                   int64_t bytes) override {
    Transfer transfer = take();
    check(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE,
                    static_cast<int>(from), tag, ranks, &requests[transfer]));
    return transfer;
  }

  bool test(Transfer transfer) override {
    int done = 0;
    check(MPI_Test(&requests[transfer], &done, MPI_STATUS_IGNORE));
    if (done)
      idle.push_back(transfer);
    return done != 0;
  }

private:
  Transfer take() {
    if (idle.empty()) {
      requests.push_back(MPI_REQUEST_NULL);
      return static_cast<Transfer>(requests.size() - 1);
    }
    Transfer transfer = idle.back();
    idle.pop_back();
    return transfer;
  }

  MPI_Comm ranks = MPI_COMM_NULL;
  std::vector<MPI_Request> requests;
  std::vector<Transfer> idle;
  bool ownsMpi;
};

} // namespace

Wire *ingot_connect_mpi(char *message, int64_t capacity) {
  try {
    int isInitialized = 0, level = 0, rank = 0, size = 1;
    check(MPI_Initialized(&isInitialized));
    // One thread communicates at a time, and it is not the main thread.
    if (!isInitialized)
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level));
    else
      check(MPI_Query_thread(&level));
    if (level < MPI_THREAD_SERIALIZED)
      throw std::runtime_error("this MPI is for programs of one thread only");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    check(MPI_Comm_size(MPI_COMM_WORLD, &size));
    return new MpiWire(rank, size, !isInitialized);
  } catch (const std::exception &error) {
    std::snprintf(message, static_cast<size_t>(capacity), "%s", error.what());
    return nullptr;
  }
}
