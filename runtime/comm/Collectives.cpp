// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/Collectives.h"

#include "runtime/core/Error.h"
#include "runtime/core/machine/Threads.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <thread>

using namespace ingot::runtime;

namespace {

struct Done : Pending {
  bool test() override { return true; }
};

class SelfCollectives : public Collectives {
public:
  SelfCollectives() : Collectives(0, 1) {}
  std::string describe() const override { return "self"; }

  std::unique_ptr<Pending> startAllReduce(void *, int64_t, DType) override {
    return std::make_unique<Done>();
  }
  std::unique_ptr<Pending> startReduceScatter(void *, int64_t, DType) override {
    return std::make_unique<Done>();
  }
  std::unique_ptr<Pending> startGatherShards(void *, int64_t, DType) override {
    return std::make_unique<Done>();
  }
  std::unique_ptr<Pending> startAllGather(const void *from, void *to,
                                          int64_t bytes) override {
    if (bytes != 0)
      std::memcpy(to, from, static_cast<size_t>(bytes));
    return std::make_unique<Done>();
  }
  std::unique_ptr<Pending> startBroadcast(void *, int64_t, int64_t) override {
    return std::make_unique<Done>();
  }
};

} // namespace

std::unique_ptr<Collectives> ingot::runtime::makeSelfCollectives() {
  return std::make_unique<SelfCollectives>();
}

static int64_t readCount(const char *variable) {
  const char *value = std::getenv(variable);
  return value ? std::strtol(value, nullptr, 10) : 0;
}

int64_t ingot::runtime::countLaunchedRanks() {
  for (const char *variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (int64_t count = readCount(variable))
      return count;
  // The size of a step of srun; that of the allocation is also set for mpirun
  // and for shells.
  if (std::getenv("SLURM_STEP_ID") && std::getenv("SLURM_PROCID"))
    if (int64_t count = readCount("SLURM_STEP_NUM_TASKS"))
      return count;
  if (int64_t count = readCount("WORLD_SIZE"); count > 1)
    throw usageError("WORLD_SIZE",
                     "ranks on CPUs are started by MPI, not by torchrun",
                     "mpirun -n " + std::to_string(count) + " ./trainer ...");
  return 1;
}

/// Returns which rank the launcher says that this is.
static std::string describeOwnRank() {
  for (const char *variable :
       {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char *value = std::getenv(variable))
      return std::string("rank ") + value;
  return "MPI";
}

namespace {

/// Calls a function unless it is destroyed within a time.
class Alarm {
public:
  Alarm(std::chrono::seconds limit, std::function<void()> call) {
    isRunning = startThread(thread, [this, limit, call = std::move(call)] {
      std::unique_lock lock(mutex);
      if (!ended.wait_for(lock, limit, [this] { return isOver; }))
        call();
    });
  }
  Alarm(const Alarm &) = delete;
  Alarm &operator=(const Alarm &) = delete;
  ~Alarm() {
    if (!isRunning)
      return;
    {
      std::lock_guard lock(mutex);
      isOver = true;
    }
    ended.notify_one();
    thread.join();
  }

private:
  std::mutex mutex;
  std::condition_variable ended;
  bool isRunning = false, isOver = false;
  std::thread thread;
};

} // namespace

std::unique_ptr<Collectives>
ingot::runtime::connectRanks(std::chrono::seconds limit,
                             const std::function<void(const Error &)> &giveUp) {
  if (countLaunchedRanks() == 1)
    return makeSelfCollectives();
  constexpr const char *hint =
      "install Open MPI (libopenmpi3), or run one rank without mpirun";
  // Open MPI's own plugins look for its symbols among the global ones.
  void *library = dlopen("libingot_mpi.so", RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    throw failure("MPI", dlerror(), hint);
  auto *connect = reinterpret_cast<decltype(&ingot_connect_mpi)>(
      dlsym(library, "ingot_connect_mpi"));
  if (!connect)
    throw failure("MPI", dlerror(), hint);
  limit = std::max(limit, std::chrono::seconds(20));
  Alarm alarm(limit, [&] {
    giveUp(failure(
        describeOwnRank(),
        "has waited " + std::to_string(limit.count()) +
            " s for the other ranks to start",
        "see which rank does not run this trainer, or only prints something; "
        "--comm-timeout sets the limit"));
  });
  char message[512] = "";
  std::unique_ptr<Collectives> ranks(connect(message, sizeof(message)));
  if (!ranks)
    throw failure("MPI", message, hint);
  return ranks;
}
