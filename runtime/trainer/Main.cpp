// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The main function of every trainer.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Communicator.h"
#include "runtime/comm/launch/ConnectRanks.h"
#include "runtime/core/Error.h"
#include "runtime/core/Text.h"
#include "runtime/core/console/Answer.h"
#include "runtime/core/console/Console.h"
#include "runtime/trainer/inspect/Inspect.h"
#include "runtime/trainer/loop/Trainer.h"
#include "runtime/trainer/options/Paths.h"
#include "runtime/trainer/options/TrainerOptions.h"
#include "runtime/trainer/run/Outcome.h"
#include "runtime/trainer/run/Signals.h"
#include "runtime/trainer/session/ModuleChoice.h"
#include "runtime/trainer/session/ModuleMesh.h"
#include "runtime/trainer/tune/Tune.h"

#include <cstdlib>

using namespace ingot::runtime;

/// Prints an answer; a reader that has seen enough is no problem.
static void print(const std::string &text) { (void)printAnswer(text); }

/// Writes the last collectives of this rank for --comm-record. The run has
/// failed already.
static void recordCollectives(const RankOptions &options,
                              const Communicator &ranks) {
  if (!options.record)
    return;
  try {
    ranks.writeEvents(options.getRecordPath(ranks.getRank()));
  } catch (const Error &) {
    // The error that ended the run says more.
  }
}

/// Makes the exit status of all ranks the same: that of a failure, else that of
/// a signal. No rank ends before the others, because launchers then kill those.
static int agreeOnStatus(int status, Communicator &ranks) {
  constexpr int signals = 128, failures = 256;
  bool isFailure = status != 0 && status < signals;
  return static_cast<int>(ranks.agree(isFailure ? failures + status : status,
                                      "the end of the run",
                                      Communicator::Lateness::Writing) %
                          failures);
}

/// Connects the ranks of this run.
static std::unique_ptr<Collectives> connect(const std::optional<Launch> &launch,
                                            const RankMesh &mesh,
                                            std::chrono::seconds limit,
                                            Console &console) {
  if (!launch)
    return makeSelfCollectives();
  if (!ingot_connect_ranks)
    throw failure("ranks", "this trainer was linked without what connects them",
                  "link it with ingotc, or with -u ingot_connect_ranks");
  StartSettings settings;
  settings.limit = limit;
  settings.mesh = mesh;
  settings.note = [&console](const std::string &text) {
    console.noteOnce(text);
  };
  settings.giveUp = [&console](const Error &error) {
    console.print(error);
    std::_Exit(static_cast<int>(error.getCode()));
  };
  return std::unique_ptr<Collectives>(ingot_connect_ranks(*launch, settings));
}

/// Runs the trainer; returns its exit status.
static int run(int argc, char **argv, Console &console) {
  const auto [module, manifest] = chooseModule(ingot_module);
  ParsedOptions parsed = parseOptions(argc, argv, manifest);
  constexpr int done = static_cast<int>(ExitCode::Done);
  if (!parsed.options) {
    print(parsed.answer);
    return done;
  }
  Options &options = *parsed.options;
  if (options.report.inspect) {
    RankMesh mesh = getMesh(manifest, options.report.ranks);
    print(options.report.inspect == InspectForm::Json
              ? inspectAsJson(manifest, mesh)
              : makePrintable(inspectAsText(manifest, mesh),
                              /*keepsLines=*/true));
    return done;
  }
  // Trials of --tune have it as well.
  if (options.run.threads)
    setenv("OMP_NUM_THREADS", std::to_string(*options.run.threads).c_str(),
           /*overwrite=*/1);
  if (!manifest.dataParallel)
    checkRanks();
  std::optional<Launch> launch;
  if (manifest.dataParallel)
    launch = findLaunch(options.ranks.transport);
  collectPaths(options, manifest, launch ? launch->size : 1).check();
  // What several ranks tune, they find in the first steps of the run.
  bool isAlone = !launch;
  if (options.tune.isOn && manifest.target.tuning == TuningPlace::Host &&
      isAlone)
    tuneOnHost(options, manifest, {module->manifest, module->manifest_bytes},
               {argv, argv + argc}, console);
  std::chrono::seconds limit(options.ranks.timeout);
  RankMesh mesh = getMesh(manifest, launch ? launch->size : 1);
  Communicator ranks(connect(launch, mesh, limit, console));
  ranks.setMesh(mesh);
  ranks.setLimit(limit);
  if (ranks.getRank() != 0) {
    console.silence();
    options.writeNothing(manifest.hasShards());
  }
  if (options.observe.profile || options.report.diagnose)
    ranks.record();
  Session session(*module, manifest, mesh, ranks.getRank());
  session.getContext().ranks = &ranks;
  if (options.tune.isOn)
    session.tune({options.tune.file, static_cast<double>(options.tune.seconds),
                  options.tune.isAsked,
                  options.tune.isAsked || options.tune.nondeterministic,
                  ranks.getRank()});
  if (options.tune.nondeterministic && !session.allowVariation())
    throw usageError("--nondeterministic", "results do not vary on a CPU",
                     "leave it out, or compile with --target cuda");
  Outcome outcome(console);
  Signals signals;
  Trainer trainer({session, options, console, ranks,
                   ranks.getGroup(RankMesh::kSampleAxes), outcome, signals});
  signals.watch();
  try {
    trainer.run();
  } catch (const Error &) {
    recordCollectives(options.ranks, ranks);
    throw;
  }
  trainer.report(print);
  int status = agreeOnStatus(outcome.getStatus(), ranks);
  ranks.finish();
  outcome.throwProblem();
  return status;
}

int main(int argc, char **argv) {
  ignoreFileSignals();
  Console console;
  return runProgram(
      console, [&] { return run(argc, argv, console); },
      "free memory, or compile with a smaller --batch");
}
