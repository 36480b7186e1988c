// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/emit/DeviceCode.h"

#include "dialects/ingot/support/Remarks.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/targets/host/Object.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "llvm/Transforms/Scalar/InferAlignment.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Vectorize/LoadStoreVectorizer.h"

using namespace mlir;
using namespace ingot;

//===----------------------------------------------------------------------===//
// LLVM target
//===----------------------------------------------------------------------===//

static const llvm::Triple &deviceTriple() {
  static const llvm::Triple triple("nvptx64-nvidia-cuda");
  return triple;
}

static llvm::Expected<const llvm::Target *> deviceTarget() {
  static bool initialized = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialized;
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(deviceTriple(), error);
  if (!target)
    return llvm::createStringError(error);
  return target;
}

/// Returns the compute capability in `sm_90` or `sm_90a`, times ten; nothing if
/// the name has another form.
static std::optional<unsigned> getCapability(StringRef name) {
  unsigned number = 0;
  if (!name.consume_front("sm_") || name.consumeInteger(10, number))
    return std::nullopt;
  return number;
}

llvm::Error ingot::checkArchitecture(llvm::StringRef name) {
  auto target = deviceTarget();
  if (!target)
    return target.takeError();
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      (*target)->createMCSubtargetInfo(deviceTriple(), "", ""));
  constexpr unsigned oldest = 80;
  std::optional<unsigned> capability = getCapability(name);
  if (!capability || *capability < oldest || !info->isCPUStringValid(name))
    return llvm::createStringError(
        "no GPU architecture from sm_80 on is named '" + name + "'");
  return llvm::Error::success();
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(StringRef arch) {
  auto target = deviceTarget();
  if (!target)
    return target.takeError();
  llvm::TargetOptions options;
  // As on the CPU, results do not depend on fusion: operations are not
  // contracted.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // The PTX version of CUDA 12.1, the first with conversions to 8-bit floats on
  // all GPUs that have them, unless the architecture needs a newer one.
  constexpr unsigned lastOfPtx81 = 90;
  StringRef features = getCapability(arch) <= lastOfPtx81 ? "+ptx81" : "";
  return std::unique_ptr<llvm::TargetMachine>((*target)->createTargetMachine(
      deviceTriple(), arch, features, options, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

//===----------------------------------------------------------------------===//
// Tools of the CUDA toolkit
//===----------------------------------------------------------------------===//

/// Adds the folders of a folder whose names begin so, in order.
static void listFolders(const Twine &folder, StringRef prefix,
                        SmallVectorImpl<std::string> &found) {
  std::error_code error;
  size_t first = found.size();
  for (llvm::sys::fs::directory_iterator at(folder, error), end;
       at != end && !error; at.increment(error))
    if (llvm::sys::path::filename(at->path()).starts_with(prefix))
      found.push_back(at->path());
  llvm::sort(found.begin() + static_cast<ptrdiff_t>(first), found.end());
}

/// Adds the parts of the toolkit that are packages of a Python (such as
/// nvidia-cuda-nvcc): each has its own `bin` and `nvvm`.
static void addPythonPackages(StringRef prefix,
                              SmallVectorImpl<std::string> &directories) {
  SmallVector<std::string> versions;
  listFolders(prefix + "/lib", "python3", versions);
  for (const std::string &version : versions)
    for (const char *packages : {"site-packages", "dist-packages"})
      listFolders(version + "/" + packages + "/nvidia", "", directories);
}

/// Returns the locations of the CUDA toolkit, in the order of preference.
static SmallVector<std::string> toolkitDirectories() {
  SmallVector<std::string> directories;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *value = std::getenv(variable))
      directories.push_back(value);
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    directories.push_back(
        llvm::sys::path::parent_path(llvm::sys::path::parent_path(*found))
            .str());
  // What the user has chosen comes before what the machine has.
  for (const char *variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char *value = std::getenv(variable))
      addPythonPackages(value, directories);
  directories.push_back("/usr/local/cuda");
  for (const char *name : {"python3", "python"})
    if (auto found = llvm::sys::findProgramByName(name))
      addPythonPackages(
          llvm::sys::path::parent_path(llvm::sys::path::parent_path(*found)),
          directories);
  addPythonPackages("/usr/local", directories);
  if (const char *home = std::getenv("HOME"))
    addPythonPackages((Twine(home) + "/.local").str(), directories);
  return directories;
}

/// Returns a file of the toolkit; empty where there is none.
static std::string findInToolkit(StringRef name) {
  for (const std::string &directory : toolkitDirectories()) {
    std::string path = directory + "/" + name.str();
    if (llvm::sys::fs::exists(path))
      return path;
  }
  return "";
}

/// Adds the functions of libdevice that the module calls.
static llvm::Error linkLibdevice(llvm::Module &module) {
  bool isNeeded = llvm::any_of(module, [](llvm::Function &function) {
    return function.isDeclaration() && function.getName().starts_with("__nv_");
  });
  if (!isNeeded)
    return llvm::Error::success();
  std::string path = findInToolkit("nvvm/libdevice/libdevice.10.bc");
  if (path.empty())
    return llvm::createStringError(
        "the model needs functions of libdevice.10.bc, which is part of the "
        "CUDA toolkit: none in CUDA_HOME, beside ptxas, in /usr/local/cuda or "
        "among Python's packages (pip install nvidia-cuda-nvcc)");
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> library =
      llvm::parseIRFile(path, diagnostic, module.getContext());
  if (!library)
    return llvm::createStringError(path + ": " + diagnostic.getMessage());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  bool failed = llvm::Linker::linkModules(
      module, std::move(library), llvm::Linker::Flags::LinkOnlyNeeded,
      [](llvm::Module &linked, const llvm::StringSet<> &added) {
        llvm::internalizeModule(linked, [&](const llvm::GlobalValue &value) {
          return !added.contains(value.getName());
        });
      });
  if (failed)
    return llvm::createStringError(path + ": cannot be linked");
  // Registers are spilled around calls.
  for (llvm::Function &function : module) {
    if (function.isDeclaration() ||
        function.getCallingConv() == llvm::CallingConv::PTX_Kernel)
      continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  return llvm::Error::success();
}

namespace {
/// The figures that ptxas -v prints for a kernel.
struct KernelFigures {
  std::string kernel;
  unsigned registers = 0, spilledBytes = 0;
};

struct Assembly {
  /// The machine code; empty if there is no ptxas.
  std::string cubin;
  SmallVector<KernelFigures> kernels;
};
} // namespace

static SmallVector<KernelFigures> readFigures(StringRef log) {
  // ptxas info : Compiling entry function 'NAME' for 'ARCH', then the figures.
  SmallVector<KernelFigures> kernels;
  SmallVector<StringRef> lines;
  log.split(lines, '\n');
  for (StringRef line : lines) {
    auto [head, tail] = line.split("Compiling entry function '");
    if (!tail.empty()) {
      kernels.push_back({tail.split('\'').first.str()});
      continue;
    }
    if (kernels.empty())
      continue;
    StringRef spills = line.split(" bytes spill stores").first;
    if (spills != line)
      spills.rsplit(' ').second.getAsInteger(10, kernels.back().spilledBytes);
    line.split("Used ").second.split(' ').first.getAsInteger(
        10, kernels.back().registers);
  }
  return kernels;
}

static void reportAssembly(gpu::GPUModuleOp module, const Assembly &assembly) {
  for (const KernelFigures &figures : assembly.kernels) {
    Operation *function = module.lookupSymbol(figures.kernel);
    Location loc = function ? function->getLoc() : module.getLoc();
    if (figures.spilledBytes > 0)
      remark::missed(loc, remarkOptions("assemble-kernels", "Spills"))
          << remark::reason("registers spill to memory")
          << remark::metric("kernel", figures.kernel)
          << remark::metric("bytes", figures.spilledBytes);
    remark::analysis(loc, remarkOptions("assemble-kernels", "Registers"))
        << remark::metric("kernel", figures.kernel)
        << remark::metric("registers", figures.registers);
  }
}

static llvm::Expected<Assembly>
assemble(gpu::GPUModuleOp module, const std::string &ptx, StringRef arch) {
  std::string ptxas = findInToolkit("bin/ptxas");
  if (ptxas.empty()) {
    remark::missed(module.getLoc(),
                   remarkOptions("assemble-kernels", "MachineCode"))
        << remark::reason("no ptxas: the driver compiles when trainers start");
    return Assembly();
  }
  SmallString<128> input, output, log;
  for (auto [path, suffix] :
       {std::pair(&input, "ptx"), {&output, "cubin"}, {&log, "log"}})
    if (auto error = llvm::sys::fs::createTemporaryFile("ingot", suffix, *path))
      return llvm::createStringError("cannot write a temporary file: " +
                                     error.message());
  llvm::FileRemover remove[] = {llvm::FileRemover(input),
                                llvm::FileRemover(output),
                                llvm::FileRemover(log)};
  std::error_code error;
  {
    llvm::raw_fd_ostream file(input, error);
    file << ptx;
  }
  std::string option = ("-arch=" + arch).str();
  StringRef arguments[] = {ptxas, option, "-O3", "-v", "-o", output, input};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt,
                                         redirects, 0, 0, &message);
  auto text = llvm::MemoryBuffer::getFile(log);
  StringRef said = text ? (*text)->getBuffer() : StringRef();
  if (status != 0)
    return llvm::createStringError("ptxas: " + message +
                                   said.split('\n').first);
  auto cubin = llvm::MemoryBuffer::getFile(output);
  if (!cubin)
    return llvm::createStringError("ptxas wrote nothing");
  return Assembly{(*cubin)->getBuffer().str(), readFigures(said)};
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PassBuilder builder(&machine);
  // Accesses of 16 bytes are formed while each access still has its buffer,
  // whose alignment is known: later passes merge equal code of several loops,
  // which then selects its buffer.
  builder.registerScalarOptimizerLateEPCallback(
      [](llvm::FunctionPassManager &passes, llvm::OptimizationLevel) {
        passes.addPass(llvm::InferAlignmentPass());
        passes.addPass(llvm::LoadStoreVectorizerPass());
      });
  runDefaultPipeline(builder, llvm::OptimizationLevel::O3, module);
}

static llvm::Expected<std::string> emitPtx(const llvm::Module &module,
                                           llvm::TargetMachine &machine) {
  // Emission changes the module that it emits.
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr,
                                  llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("the target cannot emit PTX");
  passes.run(*copy);
  return text.str().str();
}

llvm::Expected<DeviceCode> ingot::generateDeviceCode(gpu::GPUModuleOp module,
                                                     StringRef arch) {
  MLIRContext &context = *module->getContext();
  registerBuiltinDialectTranslation(context);
  registerLLVMDialectTranslation(context);
  registerGPUDialectTranslation(context);
  registerNVVMDialectTranslation(context);
  auto machine = createMachine(arch);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(module, llvmContext, "device");
  if (!translated)
    return llvm::createStringError("translation to LLVM IR failed");
  translated->setDataLayout((*machine)->createDataLayout());
  translated->setTargetTriple(deviceTriple());
  if (llvm::Error error = linkLibdevice(*translated))
    return std::move(error);
  optimize(*translated, **machine);

  auto ptx = emitPtx(*translated, **machine);
  if (!ptx)
    return ptx.takeError();
  auto assembly = assemble(module, *ptx, arch);
  if (!assembly)
    return assembly.takeError();
  // ptxas sometimes aims at more blocks per multiprocessor than there are
  // registers for. Kernels that spill are assembled again for one block.
  bool spills = false;
  for (const KernelFigures &figures : assembly->kernels)
    if (llvm::Function *function = translated->getFunction(figures.kernel);
        function && figures.spilledBytes > 0) {
      function->addFnAttr(NVVM::NVVMDialect::getMinctasmAttrName(), "1");
      spills = true;
    }
  if (spills) {
    if (!(ptx = emitPtx(*translated, **machine)))
      return ptx.takeError();
    if (!(assembly = assemble(module, *ptx, arch)))
      return assembly.takeError();
  }
  reportAssembly(module, *assembly);
  return DeviceCode{std::move(assembly->cubin), std::move(*ptx)};
}
