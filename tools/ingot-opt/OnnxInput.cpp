// SPDX-License-Identifier: Apache-2.0

#include "tools/ingot-opt/OnnxInput.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/Import.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/options/DistillRule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ManagedStatic.h"

using namespace mlir;

namespace {
struct Options {
  llvm::cl::OptionCategory category{
      "ONNX import", "How an .onnx input becomes a module, as in ingotc"};
  llvm::cl::opt<int64_t> batch{
      "batch", llvm::cl::cat(category),
      llvm::cl::desc("size of the first dimension of every data input")};
  llvm::cl::list<std::string> dims{
      "dim", llvm::cl::cat(category), llvm::cl::value_desc("NAME=N[,N...]"),
      llvm::cl::desc("size of a symbolic dimension; for several, the module "
                     "is one of modules, one for each combination")};
  llvm::cl::list<std::string> values{
      "value", llvm::cl::cat(category), llvm::cl::value_desc("NAME=V[,V...]"),
      llvm::cl::desc("value of an input that becomes a constant")};
  llvm::cl::opt<std::string> trainable{
      "trainable", llvm::cl::cat(category), llvm::cl::value_desc("REGEX"),
      llvm::cl::desc("parameters that are trained")};
  llvm::cl::opt<std::string> freeze{"freeze", llvm::cl::cat(category),
                                    llvm::cl::value_desc("REGEX"),
                                    llvm::cl::desc("parameters that are not")};
  llvm::cl::opt<bool> untie{
      "untie", llvm::cl::cat(category),
      llvm::cl::desc("split parameters that the exporter merged, and "
                     "leave copies of weights apart")};
  llvm::cl::list<std::string> qat{
      "qat", llvm::cl::cat(category), llvm::cl::value_desc("RULE"),
      llvm::cl::desc("layers that are trained to be quantized")};
  llvm::cl::opt<bool> withoutData{
      "without-data", llvm::cl::cat(category),
      llvm::cl::desc("initializers of floats may have no data")};
  llvm::cl::opt<std::string> loops{
      "loops", llvm::cl::cat(category), llvm::cl::value_desc("FORM"),
      llvm::cl::init("auto"),
      llvm::cl::desc("form of loops: auto, rolled or unrolled")};
  llvm::cl::opt<std::string> teacher{
      "teacher", llvm::cl::cat(category), llvm::cl::value_desc("FILE"),
      llvm::cl::desc("model that the input learns from, as @teacher")};
  llvm::cl::list<std::string> pairs{
      "teacher-pair", llvm::cl::cat(category),
      llvm::cl::value_desc("STUDENT:TEACHER"),
      llvm::cl::desc("values of both models that functions return")};
  llvm::cl::opt<std::string> checkpoint{
      "checkpoint", llvm::cl::cat(category), llvm::cl::value_desc("FILE"),
      llvm::cl::desc("checkpoint of ONNX Runtime training")};
  llvm::cl::opt<std::string> optimizerModel{
      "optimizer-model", llvm::cl::cat(category), llvm::cl::value_desc("FILE"),
      llvm::cl::desc("optimizer model of ONNX Runtime training")};
};
} // namespace

static llvm::ManagedStatic<Options> options;

void ingot::registerOnnxInputOptions() { *options; }

std::unique_ptr<llvm::MemoryBuffer>
ingot::readOnnxInput(StringRef path, const DialectRegistry &registry) {
  onnx_import::ImportOptions import;
  auto dims = onnx_import::parseDims(options->dims);
  if (!dims) {
    llvm::errs() << "error: " << llvm::toString(dims.takeError()) << "\n";
    return nullptr;
  }
  import.dims = std::move(*dims);
  auto values = onnx_import::parseValues(options->values);
  if (!values) {
    llvm::errs() << "error: " << llvm::toString(values.takeError()) << "\n";
    return nullptr;
  }
  import.values = std::move(*values);
  if (options->batch.getNumOccurrences())
    import.batch = options->batch;
  for (auto [option, pattern] :
       {std::pair(&options->trainable, &import.trainable),
        std::pair(&options->freeze, &import.freeze)}) {
    auto parsed = NamePattern::parse(option->ArgStr, *option);
    if (!parsed) {
      llvm::errs() << "error: " << llvm::toString(parsed.takeError()) << "\n";
      return nullptr;
    }
    *pattern = std::move(*parsed);
  }
  for (const std::string &text : options->qat) {
    auto rule = onnx_import::QuantizationRule::parse(text);
    if (!rule) {
      llvm::errs() << "error: " << llvm::toString(rule.takeError()) << "\n";
      return nullptr;
    }
    import.qat.push_back(std::move(*rule));
  }
  import.untie = options->untie;
  import.withoutData = options->withoutData;
  import.loops = options->loops;
  import.teacher = options->teacher;
  for (StringRef pair : options->pairs) {
    auto rule = DistillRule::parse("teacher-pair", ("pairs=" + pair).str());
    if (!rule) {
      llvm::errs() << "error: " << llvm::toString(rule.takeError()) << "\n";
      return nullptr;
    }
    llvm::append_range(import.pairs, rule->pairs);
  }
  import.checkpoint = options->checkpoint;
  import.optimizerModel = options->optimizerModel;

  MLIRContext context(registry);
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &diagnostic) {
    printUserDiagnostic(llvm::errs(), diagnostic);
  });
  FailureOr<onnx_import::ImportedModel> model =
      onnx_import::importOnnx(path, import, context);
  if (failed(model))
    return nullptr;
  std::string bytecode;
  llvm::raw_string_ostream stream(bytecode);
  if (failed(writeBytecodeToFile(*model->module, stream)))
    return nullptr;
  // The reader wants the alignment of the widest section: that of tensor data.
  std::unique_ptr<llvm::WritableMemoryBuffer> buffer =
      llvm::WritableMemoryBuffer::getNewUninitMemBuffer(bytecode.size(), path,
                                                        llvm::Align(64));
  llvm::copy(bytecode, buffer->getBufferStart());
  return buffer;
}
