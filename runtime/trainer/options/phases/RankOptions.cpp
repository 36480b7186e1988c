// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/phases/RankOptions.h"

#include "runtime/core/commandline/OptionBinding.h"
#include "runtime/core/commandline/OptionChecks.h"

using namespace ingot::runtime;

static const Choices<Transport> kTransports = {{"mpi", Transport::Mpi},
                                               {"tcp", Transport::Tcp}};

void RankOptions::bind(CLI::App &app) {
  addChoice(app, "--transport", transport, kTransports,
            "How ranks exchange data [as they were started: mpirun's by MPI, "
            "torchrun's by TCP]")
      ->group("Run");
  app.add_option("--comm-timeout", timeout,
                 "Seconds that ranks wait for each other before they give up")
      ->type_name("SECONDS")
      // A clock counts more in nanoseconds of 64 bits.
      ->check(isIntegerFrom(1, 1000000000))
      ->capture_default_str()
      ->group("Run");
  app.add_option("--check-ranks", checkEvery,
                 "Every N steps, compare what ranks must have in common, and "
                 "end the run where one differs")
      ->type_name("N")
      ->check(atLeast(1))
      ->group("Observing");
  addText(app, "--comm-record", record,
          "If the run fails, each rank writes its last collectives to "
          "PREFIX.RANK.jsonl")
      ->type_name("PREFIX")
      ->group("Observing");
}
