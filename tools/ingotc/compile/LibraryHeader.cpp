// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/compile/LibraryHeader.h"

#include "runtime/core/Manifest.h"
#include "runtime/core/Text.h"
#include "tools/ingotc/options/LibraryName.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

using namespace ingot;
using llvm::formatv;
using runtime::DType;
using runtime::FunctionSpec;
using runtime::InputSpec;
using runtime::Manifest;
using runtime::TensorSpec;

/// The type of C of an element. Half precision is its bits.
static llvm::StringRef getCType(DType type) {
  switch (type) {
  case DType::F64:
    return "double";
  case DType::F32:
    return "float";
  case DType::F16:
  case DType::BF16:
    return "uint16_t";
  case DType::I64:
    return "int64_t";
  case DType::I32:
    return "int32_t";
  case DType::I8:
    return "int8_t";
  default:
    return "uint8_t";
  }
}

/// Returns a name for a comment.
static std::string quote(const std::string &name) {
  std::string text = runtime::makePrintable(name);
  for (size_t at; (at = text.find("*/")) != std::string::npos;)
    text[at] = '_';
  return "'" + text + "'";
}

static std::string describeShape(const TensorSpec &spec, int64_t batches) {
  std::string text;
  for (size_t i = 0; i < spec.shape.size(); ++i)
    text += (i ? ", " : "") +
            std::to_string(spec.shape[i] * (i == 0 ? batches : 1));
  return std::string(runtime::getName(spec.dtype)) + "[" + text + "]";
}

namespace {
/// Names of parameters and constants, each once.
class Names {
public:
  /// Names that parameters must not have.
  explicit Names(llvm::ArrayRef<llvm::StringRef> taken) {
    for (llvm::StringRef name : taken)
      used.insert(name);
  }

  std::string take(llvm::StringRef text) {
    std::string name = makeIdentifier(text), base = name;
    for (int number = 2; !used.insert(name).second; ++number)
      name = base + "_" + std::to_string(number);
    return name;
  }

private:
  llvm::StringSet<> used;
};

class HeaderWriter {
public:
  HeaderWriter(const Manifest &manifest, const std::string &name)
      : manifest(manifest), name(name), upper(llvm::StringRef(name).upper()),
        os(text) {}

  std::string write();

private:
  struct Call {
    /// The name of the function in the manifest, and of the call.
    llvm::StringLiteral function, call, summary;
  };
  void writeShape(size_t shape);
  void writeCall(const Call &call, size_t shape);
  /// Writes an enumeration whose entries are `prefix` and a name each.
  void writeEnum(const std::string &prefix,
                 const std::vector<std::string> &entries,
                 const std::string &count);

  const Manifest &manifest;
  const std::string &name;
  std::string upper, text;
  llvm::raw_string_ostream os;
  /// Parts of the names of the shape that is written.
  std::string lowerPart, upperPart;
};
} // namespace

/// Words of C and C++, and parameters of the calls.
static constexpr llvm::StringRef kTaken[] = {
    "alignas",      "alignof",  "and",       "asm",      "auto",
    "bool",         "break",    "case",      "catch",    "char",
    "class",        "compl",    "const",     "continue", "decltype",
    "default",      "delete",   "do",        "double",   "else",
    "enum",         "explicit", "export",    "extern",   "false",
    "float",        "for",      "friend",    "goto",     "if",
    "inline",       "int",      "long",      "mutable",  "namespace",
    "new",          "noexcept", "not",       "nullptr",  "operator",
    "or",           "private",  "protected", "public",   "register",
    "restrict",     "return",   "short",     "signed",   "sizeof",
    "static",       "struct",   "switch",    "template", "this",
    "thread_local", "throw",    "true",      "try",      "typedef",
    "typeid",       "typename", "union",     "unsigned", "using",
    "virtual",      "void",     "volatile",  "wchar_t",  "while",
    "xor",          "session",  "samples",   "results",  "inputs",
    "outputs",      "status"};

void HeaderWriter::writeEnum(const std::string &prefix,
                             const std::vector<std::string> &entries,
                             const std::string &count) {
  if (entries.empty())
    return;
  os << "enum {\n";
  for (size_t i = 0; i < entries.size(); ++i)
    os << formatv("  {0}{1} = {2},\n", prefix, entries[i], i);
  os << formatv("  {0} = {1}\n};\n", count, entries.size());
}

void HeaderWriter::writeCall(const Call &call, size_t shape) {
  const FunctionSpec *function = manifest.findFunction(call.function, shape);
  if (!function)
    return;
  bool isStep = call.call == "step", isPredict = call.call == "predict";
  int64_t batches = isStep ? manifest.gradAccumulation : 1;
  std::string part = upper + "_" + upperPart + call.call.upper();
  Names parameters(kTaken), inputNames({}), resultNames({});
  std::vector<std::string> inputs, results, enumerators, outputs;
  std::string signature, array, places, comment;
  int64_t batch = manifest.getBatch(shape);
  auto addBytes = [&](const TensorSpec &spec) {
    bool isBatched = !spec.shape.empty() && spec.shape[0] == batch;
    int64_t bytes = spec.getBytes() * batches;
    return isStep || !isBatched
               ? formatv("(size_t){0}", bytes).str()
               : formatv("(size_t){0} * samples", bytes / batch).str();
  };
  for (const InputSpec &input : function->inputs) {
    if (!input.isBatched())
      continue;
    std::string parameter = parameters.take(input.name);
    inputs.push_back(inputNames.take(llvm::StringRef(input.name).upper()));
    signature += formatv(", const {0} *{1}", getCType(input.dtype), parameter);
    array += formatv("{0}{{{1}, {2}}", array.empty() ? "" : ", ", parameter,
                     addBytes(input))
                 .str();
    comment += formatv(" *   {0}: {1} {2}\n", parameter,
                       describeShape(input, batches), quote(input.name));
  }
  for (const TensorSpec &output : function->outputs) {
    if (isPredict) {
      std::string parameter = parameters.take(output.name);
      outputs.push_back(parameter);
      results.push_back(resultNames.take(llvm::StringRef(output.name).upper()));
      places += formatv("{0}{{{1}, {2}}", places.empty() ? "" : ", ", parameter,
                        addBytes(output))
                    .str();
      comment += formatv(" *   {0}: {1} {2}, or null\n", parameter,
                         describeShape(output, 1), quote(output.name));
      signature += formatv("{0}, {1} *{2}",
                           outputs.size() == 1 ? ", size_t samples" : "",
                           getCType(output.dtype), parameter)
                       .str();
    } else if (output.getElements() == 1 &&
               !llvm::StringRef(output.name).starts_with("metric.")) {
      results.push_back(resultNames.take(llvm::StringRef(output.name).upper()));
    }
  }
  os << formatv("\n/* {0} */\n\n", call.summary);
  std::string kind = part + (isPredict ? "_OUTPUT" : "_RESULT");
  writeEnum(part + "_", inputs, part + "_INPUTS");
  writeEnum(kind + "_", results, kind + "S");
  if (isPredict && outputs.empty())
    return;
  if (!isPredict)
    signature +=
        formatv("{0}, double *results", isStep ? "" : ", size_t samples");
  os << "\n/**\n" << comment;
  if (!isPredict)
    os << formatv(" *   results: room for {0}_RESULTS numbers, or null\n",
                  part);
  if (!isStep)
    os << formatv(" *   samples: 1 to {0}, for which arrays have room\n",
                  batch);
  os << " */\n";
  os << formatv(
      "static inline ingot_status {0}_{1}{2}(ingot_session *session{3}) "
      "{{\n",
      name, lowerPart, call.call, signature);
  if (manifest.variants.size() > 1)
    os << formatv("  ingot_status status = ingot_select_shape(session, {0});\n",
                  shape);
  if (!inputs.empty())
    os << formatv("  const ingot_input inputs[] = {{{0}};\n", array);
  if (isPredict)
    os << formatv("  const ingot_output outputs[] = {{{0}};\n", places);
  std::string given = inputs.empty() ? "NULL" : "inputs";
  if (manifest.variants.size() > 1)
    os << "  if (status != INGOT_OK)\n    return status;\n";
  os << formatv("  return ingot_{0}(session, {1}, {2}", call.call, given,
                inputs.size());
  if (!isStep)
    os << ", samples";
  if (isPredict)
    os << formatv(", outputs, {0});\n}\n", outputs.size());
  else
    os << formatv(", results, results ? {0} : 0);\n}\n", results.size());
}

void HeaderWriter::writeShape(size_t shape) {
  if (manifest.variants.size() > 1) {
    lowerPart = makeIdentifier(manifest.variants[shape]) + "_";
    upperPart = llvm::StringRef(lowerPart).upper();
    os << formatv("\n/* Shape {0}: {1} */\n", shape,
                  quote(manifest.variants[shape]));
  }
  os << formatv("\n#define {0}_{1}BATCH {2}\n", upper, upperPart,
                manifest.getBatch(shape));
  // Of each input, whose name and shape all functions share.
  Names names({});
  llvm::StringSet<> seen;
  for (const FunctionSpec &function : manifest.functions) {
    if (function.variant != shape)
      continue;
    auto define = [&](const TensorSpec &spec) {
      if (!seen.insert(spec.name).second)
        return;
      std::string own = names.take(llvm::StringRef(spec.name).upper());
      std::string extents;
      for (int64_t extent : spec.shape)
        extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
      bool isBatched =
          !spec.shape.empty() && spec.shape[0] == manifest.getBatch(shape);
      os << formatv("/* {0}: {1} */\n", quote(spec.name),
                    describeShape(spec, 1));
      os << formatv("#define {0}_{1}{2}_RANK {3}\n", upper, upperPart, own,
                    spec.shape.size());
      if (!spec.shape.empty())
        os << formatv("#define {0}_{1}{2}_SHAPE {3}\n", upper, upperPart, own,
                      extents);
      os << formatv("#define {0}_{1}{2}_ELEMENTS {3} /* of a {4} */\n", upper,
                    upperPart, own,
                    isBatched ? spec.getElements() / spec.shape[0]
                              : spec.getElements(),
                    isBatched ? "sample" : "batch");
    };
    for (const InputSpec &input : function.inputs)
      if (input.isBatched())
        define(input);
    if (function.name == "predict")
      for (const TensorSpec &output : function.outputs)
        define(output);
  }
  static constexpr Call calls[] = {
      {"train_step", "step", "Trains one step (ingot_step)."},
      {"eval_step", "evaluate",
       "Sums over the first samples of a batch (ingot_evaluate)."},
      {"predict", "predict",
       "The model's outputs for the first samples of a batch (ingot_predict)."},
  };
  for (const Call &call : calls)
    writeCall(call, shape);
}

std::string HeaderWriter::write() {
  os << kLibraryHeaderStart << " from a model of " << name << " */\n"
     << formatv("\n#ifndef INGOT_MODEL_{0}_H\n#define INGOT_MODEL_{0}_H\n",
                upper)
     << "\n#include \"ingot.h\"\n"
     << "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
     << formatv("\n/** The model, for ingot_open. */\n"
                "INGOT_API const ingot_model *{0}_model(void);\n",
                name)
     << formatv("\n/* Micro-batches of a step. */\n"
                "#define {0}_GRAD_ACCUMULATION {1}\n",
                upper, manifest.gradAccumulation);
  if (!manifest.hyperparameters.empty()) {
    os << "\n/* Names of hyperparameters, and their defaults. */\n";
    Names names({});
    for (const runtime::HyperparameterSpec &spec : manifest.hyperparameters)
      os << formatv("#define {0}_{1} \"{2}\" /* ", upper,
                    names.take(llvm::StringRef(spec.name).upper()), spec.name)
         << llvm::format("%g */\n", spec.value);
  }
  for (size_t shape = 0; shape < manifest.variants.size(); ++shape)
    writeShape(shape);
  os << "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}

std::string ingot::makeLibraryHeader(const Manifest &manifest,
                                     const std::string &name) {
  return HeaderWriter(manifest, name).write();
}
