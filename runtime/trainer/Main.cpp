// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The main function of every trainer.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Communicator.h"
#include "runtime/core/Console.h"
#include "runtime/core/Device.h"
#include "runtime/core/Error.h"
#include "runtime/observe/Profile.h"
#include "runtime/trainer/loop/Inspect.h"
#include "runtime/trainer/loop/Trainer.h"

#include <cstdio>
#include <new>

using namespace ingot::runtime;

static void print(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
      std::fflush(stdout) != 0)
    throw failure("stdout", "cannot write: " + describeErrno(),
                  "check where the output goes");
}

static void run(int argc, char **argv, Console &console) {
  if (ingot_module.abi_version != INGOT_ABI_VERSION)
    throw failure(
        "module",
        "compiled for ABI version " + std::to_string(ingot_module.abi_version) +
            ", this runtime has version " + std::to_string(INGOT_ABI_VERSION),
        "compile the model again with the ingotc of this release");
  Manifest manifest =
      parseManifest({ingot_module.manifest, ingot_module.manifest_bytes});
  ParsedOptions parsed = parseOptions(argc, argv, manifest);
  if (!parsed.options)
    return print(parsed.answer);
  Options &options = *parsed.options;
  if (options.inspect == "json")
    return print(inspectAsJson(manifest, options.ranks));
  if (!options.inspect.empty())
    return print(inspectAsText(manifest, options.ranks));
  if (!manifest.dataParallel)
    checkRanks();
  prepareProcess(argv);
  Communicator ranks(manifest.dataParallel ? connectRanks()
                                           : makeSelfCollectives());
  ranks.setLimit(std::chrono::seconds(options.commTimeout));
  if (ranks.getRank() != 0) {
    console.silence();
    options.writeNothing(manifest.hasShards());
  }
  if (!options.profile.empty())
    ranks.record();
  Session session(ingot_module, manifest, ranks.getRank(), ranks.getSize());
  session.getContext().ranks = &ranks;
  if (!options.tune.empty() &&
      !session.tune(options.tune == "cache" ? "" : options.tune))
    throw usageError("--tune", "there is nothing to choose on a CPU",
                     "leave it out, or compile with --target cuda");
  try {
    Trainer(session, options, console, ranks).run();
  } catch (const Error &) {
    if (!options.commRecord.empty())
      ranks.writeEvents(options.commRecord + "." +
                        std::to_string(ranks.getRank()) + ".jsonl");
    throw;
  }
  ranks.finish();
  const std::vector<ingot_event> &events = session.getContext().events;
  if (!options.profile.empty()) {
    writeTrace(options.profile, manifest, events, ranks.getEvents());
    print(session.getDevice().describe() + "\n" +
          makeProfileTable(manifest, events));
  }
}

int main(int argc, char **argv) {
  Console console;
  try {
    run(argc, argv, console);
    return static_cast<int>(ExitCode::Done);
  } catch (const Error &error) {
    console.print(error);
    return static_cast<int>(error.getCode());
  } catch (const std::bad_alloc &) {
    console.print(failure("memory", "out of memory",
                          "free memory, or compile with a smaller --batch"));
  } catch (const std::exception &error) {
    console.print(
        failure("internal", error.what(), "report this with the command line"));
  }
  return static_cast<int>(ExitCode::Failed);
}
