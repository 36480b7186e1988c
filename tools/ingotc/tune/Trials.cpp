// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/tune/Trials.h"

#include "runtime/core/Error.h"
#include "runtime/core/machine/Process.h"
#include "runtime/core/machine/ProcessorUse.h"
#include "tools/ingotc/compile/Compiler.h"
#include "tools/ingotc/tune/TrialData.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <limits>

using namespace ingot;
using Words = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

namespace {

/// A folder that is removed at the end.
class TrialFolder {
public:
  TrialFolder() {
    if (std::error_code error =
            llvm::sys::fs::createUniqueDirectory("ingot-tune", path))
      throw runtime::failure("--tune",
                             "cannot make a folder: " + error.message(),
                             "check the space left, or set TMPDIR");
  }
  ~TrialFolder() { llvm::sys::fs::remove_directories(path); }
  std::string operator/(llvm::StringRef name) const {
    return (path + "/" + name).str();
  }

private:
  llvm::SmallString<128> path;
};

/// Options that the user did not give, and what came of them.
struct Candidate {
  /// Empty for the command line as it is.
  Words words;
  int64_t samples = 0;
  Forecast plan;
  /// The median of the steps that were measured, the longest of several
  /// measurements; nothing before.
  std::optional<double> stepSeconds;
  int measurements = 0;
  std::string problem;
  /// The compiled trainer; empty before.
  std::string program;

  double getPlannedSeconds() const {
    return plan.stepSeconds / static_cast<double>(samples);
  }
  double getSeconds() const {
    return stepSeconds ? *stepSeconds / static_cast<double>(samples)
                       : std::numeric_limits<double>::infinity();
  }
};

class Tuner {
public:
  explicit Tuner(const CompilerOptions &given)
      : given(given), tuning(*given.tuning), begin(Clock::now()) {}

  int run();

private:
  /// Parses the command line with other words at its end.
  CompilerOptions parse(const Words &more) const;
  /// Whether this part of the time has passed.
  bool isPast(double part) const {
    return std::chrono::duration<double>(Clock::now() - begin).count() >
           part * tuning.seconds;
  }
  /// Plans a candidate; recomputes if it takes too much memory otherwise.
  /// Returns whether it fits.
  bool plan(Words words);
  bool plan(const Words &words, Candidate &found);
  /// Plans micro-batches of more and more samples, until that part of the time
  /// has passed.
  void planBatches(const Words &words, double untilPart);
  void planAll();
  /// Compiles the trainer as `program` unless that has been done.
  void measure(Candidate &candidate, const std::string &program,
               const std::string &data);
  void measureBest();
  Candidate &getBest();
  void printTable() const;

  const CompilerOptions &given;
  const Tuning &tuning;
  Clock::time_point begin;
  std::vector<Candidate> candidates;
};

} // namespace

CompilerOptions Tuner::parse(const Words &more) const {
  Words words = tuning.words;
  words.insert(words.end(), more.begin(), more.end());
  // What is only planned has no file to write.
  bool isNamed = !given.output.empty();
  if (!isNamed)
    words.insert(words.end(), {"-o", "trainer"});
  std::vector<const char *> pointers;
  for (const std::string &word : words)
    pointers.push_back(word.c_str());
  CompilerOptions options =
      *parseCompilerOptions(static_cast<int>(pointers.size()), pointers.data());
  if (!isNamed)
    options.output.clear();
  options.report.clear();
  options.remarks.clear();
  options.dumpPasses.clear();
  options.isQuiet = true;
  return options;
}

bool Tuner::plan(const Words &words, Candidate &found) {
  found.words = words;
  CompilerOptions options = parse(words);
  int64_t batch = options.import.batch.value_or(1);
  found.samples = batch * options.pipeline->gradAccumulation;
  try {
    return forecast(options, found.plan) == 0;
  } catch (const runtime::Error &) {
    return false;
  }
}

bool Tuner::plan(Words words) {
  Candidate found;
  bool isPlanned = plan(words, found);
  auto fits = [&] {
    return isPlanned &&
           (!given.fitBytes || found.plan.peakBytes <= *given.fitBytes);
  };
  if (isPlanned && !fits() && given.pipeline->memoryBudget.empty()) {
    words.push_back("--memory-budget=" + std::to_string(*given.fitBytes));
    isPlanned = plan(words, found);
  }
  if (fits())
    candidates.push_back(found);
  return fits();
}

void Tuner::planBatches(const Words &words, double untilPart) {
  auto add = [&](int64_t batch, int64_t count) {
    Words more = words;
    more.push_back("--batch=" + std::to_string(batch));
    if (count > 1)
      more.push_back("--grad-accumulation=" + std::to_string(count));
    return plan(more);
  };
  if (tuning.globalBatch) {
    int64_t all = *tuning.globalBatch;
    // Divisors, of which each is at least one and a half times the one before.
    for (int64_t batch = 1, last = 0; batch <= all && !isPast(untilPart);
         ++batch) {
      if (all % batch != 0 || 2 * batch < 3 * last)
        continue;
      last = batch;
      (void)add(batch, all / batch);
    }
    return;
  }
  // Batches beyond those that make a sample faster are not of interest.
  constexpr double leastGain = 0.01;
  constexpr int64_t maxBatch = int64_t(1) << 24;
  double best = std::numeric_limits<double>::infinity();
  int worse = 0, failed = 0;
  for (int64_t batch = 1; batch <= maxBatch && worse < 3 && !isPast(untilPart);
       batch *= 2) {
    if (!add(batch, 1)) {
      // One that cannot be compiled says nothing of the next.
      if (++failed > 1)
        break;
      continue;
    }
    double seconds = candidates.back().getPlannedSeconds();
    worse = seconds < (1 - leastGain) * best ? 0 : worse + 1;
    best = std::min(best, seconds);
  }
}

void Tuner::planAll() {
  std::vector<Words> precisions = {{}};
  if (tuning.precision && given.pipeline->precision == "fp32")
    precisions.push_back({"--precision=bf16"});
  bool findsBatch = given.fitBytes || tuning.globalBatch;
  for (auto [i, precision] : llvm::enumerate(precisions))
    if (findsBatch)
      planBatches(precision, 0.4 * static_cast<double>(i + 1) /
                                 static_cast<double>(precisions.size()));
    else
      plan(precision);
  if (!tuning.chunks)
    return;
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.getPlannedSeconds() < b.getPlannedSeconds();
  });
  std::vector<Candidate> best(candidates.begin(),
                              candidates.begin() +
                                  std::min<size_t>(2, candidates.size()));
  for (const Candidate &candidate : best)
    for (const char *chunks : {"1", "4", "64"}) {
      Words words = candidate.words;
      words.push_back(std::string("--loss-chunks=") + chunks);
      if (!isPast(0.5))
        (void)plan(words);
    }
}

void Tuner::measure(Candidate &candidate, const std::string &program,
                    const std::string &data) {
  if (candidate.program.empty()) {
    CompilerOptions options = parse(candidate.words);
    options.output = program;
    if (compile(options) != 0) {
      candidate.problem = "does not compile";
      return;
    }
    candidate.program = program;
  }
  Words words = {candidate.program, "--data"};
  if (tuning.data.empty()) {
    writeTrialData(candidate.program, data, candidate.samples);
    words.push_back(data);
  }
  words.insert(words.end(), tuning.data.begin(), tuning.data.end());
  constexpr double mostSeconds = 5, part = 0.02;
  double seconds = std::clamp(part * tuning.seconds, 0.3, mostSeconds);
  words.push_back(llvm::formatv("--tune=measure:{0}", seconds).str());
  runtime::ProcessOutput said = runtime::runProcess(
      candidate.program, words, {}, /*isQuiet=*/true, "--tune");
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(said.text);
  if (!json)
    llvm::consumeError(json.takeError());
  else if (const llvm::json::Object *object = json->getAsObject())
    if (std::optional<double> time = object->getNumber("step_ms"))
      candidate.stepSeconds =
          std::max(candidate.stepSeconds.value_or(0), *time * 1e-3);
  ++candidate.measurements;
  if (!candidate.stepSeconds)
    candidate.problem = "does not run";
}

void Tuner::measureBest() {
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.getPlannedSeconds() < b.getPlannedSeconds();
  });
  TrialFolder folder;
  std::string data = folder / "data.npz";
  auto measureOne = [&](Candidate &candidate) {
    size_t number = &candidate - candidates.data();
    measure(candidate, folder / ("trainer-" + std::to_string(number)), data);
  };
  // The cost model's order holds roughly: the first ones, and the command line
  // as it is, which others are compared with.
  constexpr size_t most = 3;
  for (auto [i, candidate] : llvm::enumerate(candidates)) {
    bool isFirst = i == 0, isPlain = candidate.words.empty();
    if (isFirst || ((i < most || isPlain) && !isPast(0.8)))
      measureOne(candidate);
  }
  // A quiet moment makes one the fastest, which its second time contradicts.
  while (getBest().stepSeconds && getBest().measurements < 2 && !isPast(1))
    measureOne(getBest());
}

Candidate &Tuner::getBest() {
  return *llvm::min_element(candidates,
                            [](const Candidate &a, const Candidate &b) {
                              return a.getSeconds() < b.getSeconds();
                            });
}

void Tuner::printTable() const {
  llvm::outs() << "   samples   peak MiB   planned ms   measured ms   samples/s"
                  "  options\n";
  for (const Candidate &candidate : candidates) {
    std::string measured = candidate.problem.empty() ? "-" : candidate.problem,
                rate = "-";
    if (candidate.stepSeconds) {
      measured = llvm::formatv("{0:f3}", *candidate.stepSeconds * 1e3);
      rate = llvm::formatv("{0:f1}", 1 / candidate.getSeconds());
    }
    llvm::outs() << llvm::formatv(
        "{0,10} {1,10:f1} {2,12:f3} {3,13} {4,11}  {5}\n", candidate.samples,
        static_cast<double>(candidate.plan.peakBytes) / (1 << 20),
        candidate.plan.stepSeconds * 1e3, measured, rate,
        candidate.words.empty() ? "as it is" : quoteForShell(candidate.words));
  }
}

int Tuner::run() {
  planAll();
  if (candidates.empty()) {
    // Says why, or names the least memory.
    CompilerOptions options = parse(
        given.fitBytes || tuning.globalBatch ? Words{"--batch=1"} : Words());
    options.isQuiet = false;
    Forecast least;
    if (int status = forecast(options, least))
      return status;
    throw runtime::usageError(
        "--fit",
        "one sample takes " + std::to_string(least.peakBytes) + " bytes",
        "allow that much, or recompute with --memory-budget");
  }
  runtime::ProcessorUse from = runtime::readProcessorUse();
  measureBest();
  double others = runtime::getOthersShare(from, runtime::readProcessorUse());
  const Candidate *best = &getBest();
  printTable();
  if (others > runtime::kMostOthers)
    llvm::errs() << "note: " << runtime::describeOthers(others)
                 << " meanwhile: tune again when it is idle\n";
  if (!best->stepSeconds)
    throw runtime::failure("--tune", "no trainer could be measured",
                           tuning.data.empty()
                               ? "give --tune-data FILE"
                               : "run one of them with this data");
  Words line = tuning.words;
  line.insert(line.end(), best->words.begin(), best->words.end());
  llvm::outs() << quoteForShell(line) << "\n";
  if (given.output.empty())
    return 0;
  CompilerOptions options = parse(best->words);
  options.isQuiet = false;
  options.report = given.report;
  options.remarks = given.remarks;
  options.dumpPasses = given.dumpPasses;
  return compile(options);
}

int ingot::tune(const CompilerOptions &options) { return Tuner(options).run(); }
