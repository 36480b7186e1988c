// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/launch/ConnectRanks.h"

#include "runtime/comm/WireCollectives.h"
#include "runtime/comm/mpi/MpiLibrary.h"
#include "runtime/comm/tcp/TcpWire.h"
#include "runtime/core/Error.h"
#include "runtime/core/machine/Threads.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

using namespace ingot::runtime;

std::chrono::seconds StartSettings::getStartLimit() const {
  return std::max(limit, std::chrono::seconds(20));
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

static std::unique_ptr<Wire> connectByMpi(const Launch &launch,
                                          const StartSettings &settings) {
  auto *connect = loadMpi(launch.mpi);
  std::chrono::seconds limit = settings.getStartLimit();
  Alarm alarm(limit, [&] {
    settings.giveUp(lostRank(
        "rank " + std::to_string(launch.rank),
        "has waited " + std::to_string(limit.count()) +
            " s for the other ranks to start",
        "see which rank does not run this trainer, or only prints something; "
        "--comm-timeout sets the limit"));
  });
  char message[512] = "";
  std::unique_ptr<Wire> wire(connect(message, sizeof(message)));
  if (!wire)
    throw failure("MPI", message,
                  "see MPI's own messages, or start the ranks over TCP: set "
                  "MASTER_ADDR and MASTER_PORT, and give --transport tcp");
  // Another MPI's launcher, or srun without support for this one, starts
  // processes that would each train alone.
  if (wire->getSize() != launch.size)
    throw failure("MPI",
                  "has connected " + std::to_string(wire->getSize()) + " of " +
                      std::to_string(launch.size) + " ranks: " +
                      wire->describe() + " does not know this launcher",
                  "name the launcher's own MPI with INGOT_MPI=LIBRARY, start "
                  "the ranks with the mpirun of this one, or over TCP: set "
                  "MASTER_ADDR and MASTER_PORT, and give --transport tcp");
  return wire;
}

Collectives *
ingot::runtime::ingot_connect_ranks(const Launch &launch,
                                    const StartSettings &settings) {
  std::unique_ptr<Wire> wire =
      launch.transport == Transport::Mpi
          ? connectByMpi(launch, settings)
          : std::make_unique<TcpWire>(
                meetByTcp({launch.rank, launch.size, launch.host, launch.port,
                           launch.run, settings.getStartLimit(), settings.note,
                           /*readsMemory=*/true, settings.mesh}),
                settings.limit);
  if (launch.rank == 0)
    settings.note(std::to_string(launch.size) + " ranks over " +
                  wire->describe() + ", as " + launch.source + " say");
  return new WireCollectives(std::move(wire));
}
