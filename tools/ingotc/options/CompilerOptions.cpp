// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/options/CompilerOptions.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/support/InputFile.h"
#include "passes/Registration.h"
#include "passes/targets/Passes.h"
#include "passes/targets/host/Object.h"
#include "runtime/core/Error.h"
#include "runtime/trainer/options/TrainerOptions.h"
#include "tools/ingotc/options/LibraryName.h"
#include "tools/ingotc/options/Version.h"
#include "tools/support/CommandLine.h"

#include "llvm/Support/Path.h"

#include <cstdio>

using namespace ingot;
using runtime::usageError;

void ingot::throwUserError(llvm::Error error) {
  UserError user = takeUserError(std::move(error));
  auto make = user.kind == ErrorKind::Usage ? usageError : runtime::badInput;
  throw make(user.where, user.what, user.hint);
}

//===----------------------------------------------------------------------===//
// The options of the pipelines
//===----------------------------------------------------------------------===//

namespace {
/// How ingotc names an option of the pipeline: its flag if it is not `--NAME`,
/// and further spellings that it takes. Without a flag, ingotc sets the option
/// itself.
struct Spelling {
  llvm::StringLiteral option, flag, more;
};
} // namespace

static constexpr Spelling kSpellings[] = {
    {"level", "-O,--level", ""},
    {"machine", "--machine",
     "; measured: this one, measured once and kept; built-in: figures by the "
     "CPU's features (INGOT_MACHINE, else measured for --arch native); for "
     "cuda a100, b200, h100 or h200"},
    {"variants", "", ""},
};

static void addPipelineOption(CLI::App &app, PipelineOption *option) {
  std::string flag = "--" + option->getName().str();
  std::string help = option->getHelp().str();
  for (const Spelling &spelling : kSpellings)
    if (spelling.option == option->getName()) {
      flag = spelling.flag.str();
      help += spelling.more.str();
    }
  if (flag.empty())
    return;
  auto set = [option](const std::string &text) {
    if (llvm::Error error = option->set(text))
      throwUserError(std::move(error));
  };
  CLI::Option *added = nullptr;
  if (option->isFlag())
    added = app.add_flag_callback(
                   flag, [set] { set(""); }, help)
                ->disable_flag_override();
  else if (option->isList())
    added = app.add_option_function<std::vector<std::string>>(
        flag,
        [set](const std::vector<std::string> &texts) {
          for (const std::string &text : texts)
            set(text);
        },
        help);
  else
    added = app.add_option_function<std::string>(flag, set, help)
                ->default_str(option->getDefaultText());
  if (!option->isFlag())
    added->type_name(option->getValueName().str());
  added->group(option->getSection().str());
}

/// Variables of the environment that ingotc reads.
static const std::vector<runtime::EnvironmentVariable> kVariables = {
    {"INGOT_MACHINE", "measured or built-in, where --machine is not given"},
    {"INGOT_MAX_ISA",
     "Leave out instructions above this level, such as x86-64-v3"},
    {"OMP_NUM_THREADS", "Threads that --machine measured measures with"},
    {"CUDA_HOME", "For GPUs: where ptxas is"},
    {"XDG_CACHE_HOME, HOME",
     "The user's cache, for what --machine measured has measured"},
    {"NO_COLOR", "Messages without color"},
};

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

/// Reads `--arch A+B`; the pipeline's options name the first one then.
static void splitArchs(CompilerOptions &options) {
  PipelineOptions &pipeline = *options.pipeline;
  std::string &arch = pipeline.arch;
  if (arch.find('+') == std::string::npos)
    return;
  std::vector<std::string> names = splitProcessors(arch);
  if (names.size() == 1)
    return;
  std::vector<std::pair<size_t, std::string>> found;
  std::string triple;
  for (const std::string &name : names) {
    std::shared_ptr<const Target> target =
        unwrap(chooseTarget(pipeline.getTargetSpec(name)));
    if (name.empty() || pipeline.target != "cpu")
      throw usageError("--arch", "'" + arch + "' is no list of CPUs",
                       "join names of CPUs, as in x86-64-v3+x86-64-v4");
    HostProcessor host = target->getHost();
    if (!found.empty() && host.triple != triple)
      throw usageError("--arch", "'" + arch + "' mixes x86-64 and AArch64",
                       "compile a trainer for each");
    triple = host.triple;
    found.emplace_back(host.features.size(), name);
  }
  if (!options.links() || options.printPipeline)
    throw usageError("--arch", "'" + arch + "' makes several modules",
                     "name one CPU to see its module");
  // A trainer takes the first that its CPU can run.
  llvm::stable_sort(
      found, [](const auto &a, const auto &b) { return a.first > b.first; });
  for (auto &[ignored, name] : found)
    if (!llvm::is_contained(options.archs, name))
      options.archs.push_back(name);
  arch = options.archs.front();
}

/// Throws unless the options are those of a library.
static void checkLibrary(const CompilerOptions &options) {
  if (options.pipeline->hasRanks())
    throw usageError(
        "--emit", "a library trains in one process",
        "leave out --data-parallel and --mesh, or write a trainer");
  if (!options.output.empty() && !isStaticLibrary(options.output) &&
      llvm::sys::path::extension(options.output) != ".so")
    throw usageError("-o", "'" + options.output + "' is no name of a library",
                     "name it libNAME.so, or libNAME.a for a static one");
}

/// Returns the words without options that --tune does not pass on.
static std::vector<std::string> dropTuning(int argc, const char *const *argv) {
  constexpr llvm::StringLiteral withValue[] = {"--fit", "--global-batch",
                                               "--tune-seconds", "--tune-data"};
  std::vector<std::string> words;
  for (int i = 0; i < argc; ++i) {
    llvm::StringRef word = argv[i], name = word.split('=').first;
    if (name == "--tune")
      continue;
    if (!llvm::is_contained(withValue, name))
      words.push_back(word.str());
    else if (name == word)
      ++i;
  }
  return words;
}

/// Returns the words without options that --auto does not pass on.
static std::vector<std::string> dropPlanning(int argc,
                                             const char *const *argv) {
  constexpr llvm::StringLiteral withValue[] = {"--plan", "--global-batch", "-o",
                                               "--output"};
  std::vector<std::string> words;
  for (int i = 0; i < argc; ++i) {
    llvm::StringRef word = argv[i], name = word.split('=').first;
    if (name == "--auto")
      continue;
    if (!llvm::is_contained(withValue, name))
      words.push_back(word.str());
    else if (name == word)
      ++i;
  }
  return words;
}

/// Reads what `--tune=WHAT` names.
static void readTuning(llvm::StringRef what, Tuning &tuning) {
  llvm::SmallVector<llvm::StringRef> names;
  if (what != "memory")
    what.split(names, ',');
  for (llvm::StringRef name : names) {
    if (name != "precision" && name != "chunks")
      throw usageError("--tune", "'" + name.str() + "' is not known",
                       "use --tune, --tune=precision, --tune=chunks or "
                       "--tune=precision,chunks");
    (name == "precision" ? tuning.precision : tuning.chunks) = true;
  }
}

namespace {
/// Values of options of the model as they were written.
struct ModelTexts {
  std::vector<std::string> dims, values, qat;
  std::string trainable, freeze, exportBase;
};
} // namespace

/// Adds options of the model: what is bound, and what is trained.
static void addModelOptions(CLI::App &app, CompilerOptions &options,
                            ModelTexts &texts) {
  std::string group = "Model";
  app.add_option("--batch", options.import.batch,
                 "size of the first dimension of every data input")
      ->type_name("N")
      ->check(runtime::atLeast(1))
      ->group(group);
  app.add_option("--dim", texts.dims,
                 "size of a symbolic dimension; with several sizes, each batch "
                 "uses the one that fits it")
      ->type_name("NAME=N[,N...]")
      ->group(group);
  app.add_option("--value", texts.values,
                 "bind an input to a value, for operators that must know it: "
                 "one for all elements, or each of them")
      ->type_name("NAME=V[,V...]")
      ->group(group);
  app.add_option("--checkpoint", options.import.checkpoint,
                 "the checkpoint of ONNX Runtime training that MODEL, its "
                 "training model, belongs to")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--optimizer-model", options.import.optimizerModel,
                 "the optimizer model of ONNX Runtime training: the optimizer, "
                 "and defaults of its hyperparameters")
      ->type_name("FILE")
      ->needs("--checkpoint")
      ->group(group);
  app.add_option("--teacher", options.import.teacher,
                 "the ONNX model that MODEL learns from: its inputs are those "
                 "of MODEL by name, and its classes too; --distill says how")
      ->type_name("FILE")
      ->excludes("--checkpoint")
      ->group(group);
  app.add_option("--trainable", texts.trainable,
                 "parameters to train (regular expression)")
      ->type_name("REGEX")
      ->group(group);
  app.add_option("--freeze", texts.freeze,
                 "parameters not to train (regular expression)")
      ->type_name("REGEX")
      ->group(group);
  app.add_option(
         "--qat", texts.qat,
         "train layers to be quantized, with the scales that exported "
         "files have: int8[:per-channel,learned,reduce-range,fold] or, of "
         "weights alone, int4[:block=N,learned]; of several the first "
         "that matches a layer has it")
      ->type_name("KIND[:SETTINGS][@REGEX]")
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--untie", options.import.untie,
               "split parameters that PyTorch's exporter merged because they "
               "started equal, and train its copies of weights apart")
      ->disable_flag_override()
      ->group(group);
  app.add_flag("--external-data", options.import.externalData,
               "trainers export the model as ONNX with its weights in "
               "FILE.onnx.data beside it, as they do above 2 GiB")
      ->disable_flag_override()
      ->group(group);
  app.add_option("--export-base", texts.exportBase,
                 "how trainers export weights that --base encodes: fp32, as "
                 "in the model, fp16 or bf16; codes, the weights of MatMulBnb4 "
                 "and MatMulNBits of ONNX Runtime; or qdq, integers that "
                 "DequantizeLinear decodes")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16", "codes", "qdq"}))
      ->type_name("FORM")
      ->group(group);
  app.add_option("--loops", options.import.loops,
                 "loops of ONNX, and recurrent layers: rolled (compiled once "
                 "for all iterations), unrolled, or auto, by their size")
      ->check(CLI::IsMember({"auto", "rolled", "unrolled"}))
      ->type_name("HOW")
      ->group(group);
  app.add_flag("--allow-unmatched", options.allowUnmatched,
               "accept regular expressions that match nothing in the model, "
               "as scripts for several models need it")
      ->disable_flag_override()
      ->group(group);
}

/// Adds options of what is written.
static void addOutputs(CLI::App &app, CompilerOptions &options) {
  std::string group = "Output";
  app.add_option("-o,--output", options.output, "the trainer to write")
      ->type_name("TRAINER")
      ->group(group);
  app.add_option(
         "--weights", options.weights,
         "where initial values go: embed (up to 256 MiB, else sidecar), "
         "sidecar or none, with which the model may be without data")
      ->type_name("WHERE")
      ->check(CLI::IsMember({"embed", "sidecar", "none"}))
      ->group(group);
  app.add_option("--emit", options.emit,
                 "stop at: onnx (training graph as an ONNX model), mlir "
                 "(training graph of kernels), exec (placed steps), ptx (GPU "
                 "kernels), llvm, obj, exe; lib is a library for C programs, "
                 "libNAME.so or the static libNAME.a, with its header "
                 "(docs/guide/embed.md)")
      ->type_name("WHAT")
      ->check(CLI::IsMember(
          {"onnx", "mlir", "exec", "ptx", "llvm", "obj", "exe", "lib"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--report", options.report,
                 "write what was compiled to this HTML page: kernels with ONNX "
                 "names, bytes, operations and a lower bound of their time")
      ->type_name("FILE.html")
      ->group(group);
  app.add_option("--remarks", options.remarks,
                 "write the decisions of passes, with reasons, to this YAML "
                 "file (docs/remarks.md)")
      ->type_name("FILE.yaml")
      ->group(group);
  app.add_flag("--print-pipeline", options.printPipeline,
               "print the command line of ingot-opt that repeats the compile "
               "up to placed steps, or with --emit mlir up to kernels")
      ->disable_flag_override()
      ->group(group);
  app.add_option("--dump-passes", options.dumpPasses,
                 "write the module after each pass to this directory")
      ->type_name("DIR")
      ->group(group);
}

/// Where the options are that say nothing to trainers for CPUs, also those of
/// passes.
static constexpr const char *kGpuGroup = "GPUs only";

/// Adds options of what is predicted; returns --fit.
static CLI::Option *addPlanning(CLI::App &app, CompilerOptions &options,
                                bool &isAutomatic, std::string &fit) {
  std::string group = "Planning";
  app.add_option("--plan", options.cluster,
                 "print the simulated time of a step on the ranks of the "
                 "cluster in this JSON file (docs/cluster.md)")
      ->type_name("FILE.json")
      ->group(group);
  app.add_flag(
         "--auto", isAutomatic,
         "find the mesh, ZeRO stage, micro-batches and recomputation with "
         "which the cluster of --plan takes steps of --global-batch "
         "samples fastest, say why others are slower, and print the "
         "command line; -o writes its trainer")
      ->disable_flag_override()
      ->configurable(false)
      ->needs("--plan")
      ->group(group);
  app.add_option("--plan-gpu", options.gpu,
                 "print the predicted timeline of a step on this GPU, for "
                 "which it is planned: a100, b200, h100, h200, or the JSON "
                 "file of its figures (docs/machine.md); writes nothing else")
      ->type_name("GPU")
      ->excludes("--machine", "--plan", "--output", "--emit")
      ->group(kGpuGroup);
  app.add_flag("--nondeterministic", options.nondeterministic,
               "for --plan-gpu: the trainer will be run with its option "
               "--nondeterministic, with which gradients of attention are "
               "faster, and differ in the last bits from run to run")
      ->needs("--plan-gpu")
      ->group(kGpuGroup);
  return app
      .add_option("--fit", fit,
                  "find and print the largest batch whose planned memory fits; "
                  "-o writes its trainer")
      ->type_name("SIZE")
      ->excludes("--batch", "--auto")
      ->configurable(false)
      ->group(group);
}

/// Adds options of --tune; returns --tune. None of it is in files of options,
/// which are those of the trainers that it compiles, too.
static CLI::Option *addTuning(CLI::App &app, Tuning &tuning,
                              std::string &what) {
  std::string group = "Tuning";
  CLI::Option *tune = app.add_flag(
      "--tune{memory}", what,
      "compile and measure the trainers that the cost model expects to be "
      "fastest, and print the command line of the best; --fit and "
      "--global-batch say what may change; --tune=precision,chunks also tries "
      "--precision bf16 and other numbers of --loss-chunks, which change sums");
  app.add_option("--global-batch", tuning.globalBatch,
                 "samples of a step, which --tune divides into micro-batches "
                 "(--batch, --grad-accumulation), and --auto among ranks too")
      ->type_name("N")
      ->check(runtime::atLeast(1));
  app.add_option("--tune-seconds", tuning.seconds, "how long --tune may take")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Validator(CLI::PositiveNumber).description(""))
      ->needs(tune);
  app.add_option("--tune-data", tuning.data,
                 "data that --tune measures with; random numbers without it")
      ->type_name("FILE")
      ->needs(tune)
      ->take_all()
      ->expected(1);
  for (const char *name :
       {"--tune", "--global-batch", "--tune-seconds", "--tune-data"})
    app.get_option(name)->configurable(false)->group(group);
  return tune;
}

/// Whether an option decides what is trained: those of the model and of
/// training do, except for the ones that say how.
static bool isShaping(const CLI::Option &option) {
  constexpr llvm::StringLiteral groups[] = {"Model", "What is trained",
                                            "Precision", "Ranks"};
  // Batches are compared by samples; the loss and the optimizer by what they
  // mean.
  constexpr llvm::StringLiteral others[] = {
      "allow-unmatched", "batch",       "bucket-mb",     "checkpoint",
      "data-parallel",   "export-base", "external-data", "grad-accumulation",
      "loops",           "loss",        "metrics",       "optimizer",
      "optimizer-model", "teacher",     "zero"};
  llvm::StringRef name = option.get_lnames().front();
  return name == "tf32" || (llvm::is_contained(groups, option.get_group()) &&
                            !llvm::is_contained(others, name));
}

/// Throws unless --auto and --global-batch have what they need.
static void checkPlanning(const CompilerOptions &options, bool isAutomatic,
                          bool isTuned, const Tuning &tuning) {
  if (tuning.globalBatch && !isAutomatic && !isTuned)
    throw usageError("--global-batch", "requires --tune or --auto",
                     "add one of them, or give --batch");
  if (tuning.globalBatch && isTuned && options.import.batch)
    throw usageError("--global-batch", "excludes --batch",
                     "leave one of them out");
  if (!options.cluster.empty() && !isAutomatic && !options.pipeline->hasRanks())
    throw usageError("--plan", "requires --data-parallel",
                     "add --data-parallel, --mesh or --auto");
  if (!isAutomatic)
    return;
  if (!tuning.globalBatch)
    throw usageError("--auto", "requires --global-batch",
                     "name the samples of a step of all ranks");
  if (options.given.count("grad-accumulation") > 0)
    throw usageError("--grad-accumulation", "is what --auto finds",
                     "leave it out; --global-batch says how many samples a "
                     "step has");
  if (!options.import.teacher.empty())
    throw usageError("--auto", "plans no teacher yet",
                     "leave out --teacher, or choose a mesh yourself");
  if (options.emit != "exe" || options.printPipeline || isTuned ||
      options.pipeline->variants || !options.archs.empty())
    throw usageError("--auto", "plans one trainer",
                     "leave out --emit, --print-pipeline, --tune, lists of "
                     "sizes and of CPUs");
}

/// Throws if layers are quantized in training with what cannot have that.
static void checkQuantization(const CompilerOptions &options) {
  if (options.import.qat.empty())
    return;
  const PipelineOptions &pipeline = *options.pipeline;
  auto refuse = [](const std::string &what, const std::string &hint) {
    throw usageError("--qat", what, hint);
  };
  if (pipeline.target != "cpu")
    refuse("ranges are observed on CPUs only", "compile with --target cpu");
  if (pipeline.hasRanks())
    refuse("ranks would observe ranges of their own",
           "leave out --data-parallel and --mesh");
  if (!pipeline.adapter.empty())
    refuse("adapters have no quantized weights of their own",
           "export the merged model first, and quantize that");
  if (!pipeline.prune.empty())
    refuse("quantized weights are not pruned yet",
           "prune first, and quantize what is exported");
  if (!pipeline.base.empty() ||
      options.exportBase != onnx_import::BaseForm::Numbers)
    refuse("the weights of --base are in codes, and not trained",
           "leave out --base and --export-base");
  if (pipeline.variants)
    refuse("sizes of a dimension would observe ranges of their own",
           "give each dimension one size");
  if (options.emit == "lib" || options.emit == "onnx")
    refuse("ranges are observed by trainers, and not by what --emit " +
               options.emit + " writes",
           "compile a trainer");
}

/// Keeps the options that were given, whether on the command line or in a file.
static void keepGiven(const CLI::App &app, CompilerOptions &options) {
  constexpr llvm::StringLiteral others[] = {
      "auto",     "config", "dump-passes", "output",        "plan",
      "plan-gpu", "report", "remarks",     "print-pipeline"};
  for (const CLI::Option *option : app.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty() ||
        !option->get_configurable())
      continue;
    const std::string &name = option->get_lnames().front();
    if (llvm::is_contained(others, name))
      continue;
    std::vector<std::string> values = option->reduced_results();
    options.given[name] = values;
    bool isDefault =
        values.size() == 1 && values.front() == option->get_default_str();
    if (isShaping(*option) && !isDefault)
      options.shaping[name] = values;
  }
}

std::vector<std::string> ingot::makeWords(
    const std::map<std::string, std::vector<std::string>> &options) {
  std::vector<std::string> words;
  for (const auto &[name, values] : options)
    for (const std::string &value : values)
      words.push_back("--" + name + (value == "true" ? "" : "=" + value));
  return words;
}

std::optional<CompilerOptions>
ingot::parseCompilerOptions(int argc, const char *const *argv) {
  CompilerOptions options;
  options.program = argv[0];
  ModelTexts texts;
  std::string fit, what;
  Tuning tuning;
  bool printsConfig = false;
  CLI::App app("Compiles an ONNX model into an executable that trains it.",
               "ingotc");
  app.set_help_flag("-h,--help", "Print this and exit");
  app.set_version_flag("--version", describeVersion(),
                       "Print the version and exit");
  app.footer(
      "Examples:\n"
      "  ingotc model.onnx -o trainer --loss cross-entropy --batch 32\n"
      "  ingotc model.onnx -o trainer --loss cross-entropy --batch 32 \\\n"
      "    --precision bf16 --clip --report compiled.html\n"
      "  ingotc model.onnx -o trainer --loss mse --fit 8GiB\n"
      "Then ./trainer --help has the options of the run, and examples.");
  runtime::addConfigOptions(app, printsConfig, "Options");
  app.add_option("MODEL", options.model, "the ONNX model")
      ->type_name("")
      ->required();
  addModelOptions(app, options, texts);
  for (PipelineOption *option : options.pipeline->all)
    addPipelineOption(app, option);
  addOutputs(app, options);
  bool isAutomatic = false;
  CLI::Option *fitOption = addPlanning(app, options, isAutomatic, fit);
  CLI::Option *tune = addTuning(app, tuning, what);
  addPageOption(app, "--trainer-man-page", [] {
    std::string page;
    runtime::viewTrainerOptions(
        [&](const CLI::App &table,
            const std::vector<runtime::EnvironmentVariable> &variables) {
          page =
              makeManPage(table, "ingot-trainer", describeVersion(), variables);
        });
    return page;
  });
  options.names = runtime::listOptions(app);
  if (!parseCommandLine(app, argc, argv, kVariables,
                        runtime::listTrainerOptions(),
                        "the trainer: give it when that runs"))
    return std::nullopt;
  if (printsConfig) {
    llvm::outs() << runtime::formatConfiguration(
        runtime::collectConfiguration(app));
    return std::nullopt;
  }
  keepGiven(app, options);
  if (!options.gpu.empty()) {
    if (options.pipeline->target != "cuda")
      throw usageError("--plan-gpu", "predicts steps on GPUs",
                       "add --target cuda");
    options.pipeline->machine = options.gpu;
  }
  if (options.pipeline->target == "emulator")
    throw usageError("--target", "the emulator runs tests, not trainers",
                     "choose cpu or cuda");
  if (options.emit == "lib")
    checkLibrary(options);
  if (!options.report.empty() &&
      llvm::is_contained({"mlir", "exec", "onnx", "ptx"}, options.emit))
    throw usageError("--report",
                     "tells of compiled steps, and --emit " + options.emit +
                         " ends before that",
                     "leave it out, or compile with --emit exe, lib, obj or "
                     "llvm");
  // Nothing is merged or fused in a graph that others read.
  if (options.emit == "onnx") {
    options.pipeline->level = 0;
    options.import.loops = "unrolled";
  }
  // Ranks are what --auto plans.
  if (isAutomatic && !options.pipeline->hasRanks())
    options.pipeline->dataParallel = true;
  if (options.import.teacher.empty() && !options.pipeline->distill.empty())
    throw usageError("--distill", "requires --teacher",
                     "name the ONNX model to learn from");
  if (!options.import.teacher.empty() && options.pipeline->distill.empty())
    llvm::cantFail(options.pipeline->distill.set(DistillRule::kDefault));
  const DistillRule &distill = options.pipeline->distill;
  options.import.pairs = distill.pairs;
  if (!distill.empty())
    options.shaping["distill"] = {distill.getText()};
  if (llvm::Error error = options.pipeline->check())
    throwUserError(std::move(error));
  registerIngotTargets();
  splitArchs(options);
  options.target = unwrap(
      chooseTarget(options.pipeline->getTargetSpec(options.pipeline->arch)));
  options.import.dims = unwrap(onnx_import::parseDims(texts.dims));
  options.import.values = unwrap(onnx_import::parseValues(texts.values));
  if (!texts.exportBase.empty())
    options.exportBase = *onnx_import::parseBaseForm(texts.exportBase);
  options.import.trainable =
      unwrap(NamePattern::parse("trainable", texts.trainable));
  options.import.freeze = unwrap(NamePattern::parse("freeze", texts.freeze));
  for (const std::string &text : texts.qat)
    options.import.qat.push_back(
        unwrap(onnx_import::QuantizationRule::parse(text)));
  options.import.withoutData = options.weights == "none";
  options.pipeline->variants =
      onnx_import::listVariants(options.import.dims).size() > 1;
  checkQuantization(options);
  if (!options.cluster.empty()) {
    auto file = readInputFile(options.cluster, kMaxJsonBytes);
    if (!file)
      throw runtime::badInput(options.cluster, llvm::toString(file.takeError()),
                              "docs/cluster.md describes the file");
    llvm::Expected<Cluster> read = Cluster::read((*file)->getBuffer());
    if (!read)
      throw runtime::badInput(options.cluster, llvm::toString(read.takeError()),
                              "docs/cluster.md describes the file");
    options.plan = *read;
  }
  checkPlanning(options, isAutomatic, static_cast<bool>(*tune), tuning);
  if (isAutomatic)
    options.planning = {*tuning.globalBatch, dropPlanning(argc, argv)};
  if (*tune) {
    if (options.emit != "exe" || options.printPipeline || options.plan)
      throw usageError("--tune", "measures trainers",
                       "leave out --emit, --print-pipeline and --plan");
    readTuning(what, tuning);
    tuning.words = dropTuning(argc, argv);
    options.tuning = tuning;
  }
  if (!*fitOption && !*tune && options.cluster.empty() && options.gpu.empty() &&
      !options.printPipeline && options.output.empty())
    throw usageError("-o", "no file is named to write",
                     "name the trainer to write");
  if (options.output.find(':', options.output.rfind('/') + 1) !=
      std::string::npos)
    throw usageError(
        "-o", "a trainer whose name contains ':' cannot find its libraries",
        "choose another name");
  if (*fitOption)
    options.fitBytes = static_cast<int64_t>(
        unwrap(MemorySize::parse("fit", fit, /*allowPercent=*/false)).number);
  return options;
}

//===----------------------------------------------------------------------===//
// --print-pipeline
//===----------------------------------------------------------------------===//

/// Quotes a word for a POSIX shell.
static std::string quoteWord(llvm::StringRef word) {
  static constexpr llvm::StringLiteral plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,%+";
  if (!word.empty() && word.find_first_not_of(plain) == llvm::StringRef::npos)
    return word.str();
  std::string quoted = "'";
  for (char c : word)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string ingot::quoteForShell(llvm::ArrayRef<std::string> words) {
  std::string line;
  for (const std::string &word : words)
    line += (line.empty() ? "" : " ") + quoteWord(word);
  return line;
}

std::string ingot::printPipeline(const CompilerOptions &options) {
  // The program beside this one.
  size_t folder = options.program.rfind('/') + 1;
  std::vector<std::string> words = {
      options.program.substr(0, folder) + "ingot-opt", options.model};
  const onnx_import::ImportOptions &import = options.import;
  if (import.batch)
    words.push_back("--batch=" + std::to_string(*import.batch));
  for (const auto &[name, sizes] : import.dims) {
    std::string &word = words.emplace_back("--dim=" + name);
    for (size_t i = 0; i < sizes.size(); ++i)
      word += (i ? "," : "=") + std::to_string(sizes[i]);
  }
  for (const auto &[name, values] : import.values)
    words.push_back("--value=" + name + "=" + llvm::join(values, ","));
  if (!import.checkpoint.empty())
    words.push_back("--checkpoint=" + import.checkpoint);
  if (!import.optimizerModel.empty())
    words.push_back("--optimizer-model=" + import.optimizerModel);
  if (!import.teacher.empty())
    words.push_back("--teacher=" + import.teacher);
  for (const auto &[student, teacher] : import.pairs)
    words.push_back("--teacher-pair=" + student + ":" + teacher);
  if (!import.trainable.empty())
    words.push_back("--trainable=" + import.trainable.getText());
  if (!import.freeze.empty())
    words.push_back("--freeze=" + import.freeze.getText());
  for (const onnx_import::QuantizationRule &rule : import.qat)
    words.push_back("--qat=" + rule.text);
  if (import.untie)
    words.push_back("--untie");
  if (import.withoutData)
    words.push_back("--without-data");
  if (import.loops != "auto")
    words.push_back("--loops=" + import.loops);
  words.push_back((options.emit == "onnx"   ? "--ingot-standard="
                   : options.emit == "mlir" ? "--ingot-graph="
                                            : "--ingot-steps=") +
                  unwrap(options.pipeline->print()));
  words.push_back("--mlir-print-debuginfo");
  return quoteForShell(words);
}
