// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/compile/Link.h"

#include "tools/ingotc/compile/Linker.h"
#include "tools/ingotc/compile/StaticLibrary.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/Manifest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace fs = std::filesystem;
using namespace ingot;
using runtime::failure;

namespace {

/// A directory that is removed at the end of the scope.
class ScratchDirectory {
public:
  explicit ScratchDirectory(const std::string &beside) {
    llvm::SmallString<128> path;
    // LLVM puts a relative prefix into the system's temporary directory.
    std::error_code error = llvm::sys::fs::createUniqueDirectory(
        fs::absolute(beside).string() + ".building", path);
    if (error)
      throw failure(beside, "cannot write here: " + error.message(),
                    "choose an output in a directory that can be written");
    directory = path.str().str();
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    fs::remove_all(directory, ignored);
  }
  std::string path(const std::string &name) const {
    return directory + "/" + name;
  }

private:
  std::string directory;
};

struct LinkLine {
  std::string kind, path;
};

/// The kind of file that is linked.
enum class Product { Program, SharedLibrary, StaticLibrary };

/// The folder of what trainers for the platform are linked from.
std::string runtimeDirectory(const std::string &triple) {
  fs::path bin = fs::path(runtime::getExecutablePath()).parent_path();
  fs::path directory = bin.parent_path() / "lib" / "ingot";
  if (llvm::Triple(triple).isAArch64())
    directory /= "aarch64";
  return directory.string();
}

/// Returns the list of what trainers are linked from
/// (tools/cmake/TrainerLink.cmake). Throws runtime::Error unless all of it is
/// there: a build of `ingotc` alone leaves out what is linked for GPUs.
std::vector<LinkLine> readLinkFile(const std::string &directory,
                                   const std::string &target,
                                   const std::string &triple) {
  bool isAArch64 = llvm::Triple(triple).isAArch64();
  std::ifstream file(directory + "/link-" + target + ".txt");
  if (!file)
    throw failure(directory,
                  "the trainer runtime for " +
                      (isAArch64 ? "AArch64" : target) + " is not there",
                  isAArch64 ? "run tools/setup --aarch64, and build Ingot again"
                  : target == "cuda"
                      ? "build Ingot where the headers of CUDA are installed"
                      : "build all targets, and keep bin and lib side by side");
  std::vector<LinkLine> lines;
  std::string text;
  while (std::getline(file, text)) {
    if (text.empty() || text[0] == '#')
      continue;
    std::istringstream words(text);
    LinkLine line;
    words >> line.kind >> line.path;
    if (line.kind != "option" && line.kind != "emulation" &&
        line.kind != "loader") {
      std::string path = directory + "/" + line.path;
      if (!fs::exists(path))
        throw failure(directory,
                      "the trainer runtime for " + target + " lacks " +
                          line.path,
                      "build all targets (cmake --build --preset release), and "
                      "keep bin and lib side by side");
      line.path = path;
    }
    lines.push_back(line);
  }
  return lines;
}

void writeFile(const std::string &path, const std::string &bytes) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error) {
    file << bytes;
    file.close();
    error = file.error();
    file.clear_error();
  }
  if (error)
    throw failure(path, "cannot write: " + error.message(),
                  "check the space left and the directory's permissions");
}

/// Returns the shared libraries an executable names.
std::vector<std::string> neededLibraries(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return {};
  auto object = llvm::object::ELFFile<llvm::object::ELF64LE>::create(
      (*buffer)->getBuffer());
  if (!object)
    return llvm::consumeError(object.takeError()), std::vector<std::string>();
  auto entries = object->dynamicEntries();
  auto sections = object->sections();
  if (!entries || !sections)
    return llvm::consumeError(entries.takeError()),
           llvm::consumeError(sections.takeError()), std::vector<std::string>();
  std::string_view strings;
  for (const auto &section : *sections)
    if (section.sh_type == llvm::ELF::SHT_STRTAB &&
        (section.sh_flags & llvm::ELF::SHF_ALLOC))
      strings = std::string_view(
          (*buffer)->getBufferStart() + section.sh_offset, section.sh_size);
  std::vector<std::string> names;
  for (const auto &entry : *entries)
    if (entry.d_tag == llvm::ELF::DT_NEEDED &&
        entry.d_un.d_val < strings.size())
      names.emplace_back(strings.data() + entry.d_un.d_val);
  return names;
}

/// Makes a library without content, whose name says what to do. It is the first
/// that the trainer needs, so that the loader names it where the folder of
/// libraries was left behind.
std::string makeMarker(const std::string &emulation, const std::string &name,
                       const ScratchDirectory &scratch) {
  // The longest name that fits twice into the name of a file.
  constexpr size_t mostOfName = 100;
  std::string marker = name.size() > mostOfName
                           ? "keep-the-folder-of-libraries-beside-the-trainer"
                           : "keep-" + name + ".libs-beside-" + name;
  writeFile(scratch.path("empty"), "");
  std::string path = scratch.path(marker);
  runLinker({"-m", emulation, "-shared", "-soname", marker, "-z", "noexecstack",
             "-o", path, "--format=binary", scratch.path("empty")});
  return path;
}

} // namespace

/// Removes the libraries of a trainer with this marker, and their folder unless
/// users have put files of their own into it.
static void removeLibraries(const std::string &folder, const fs::path &marker,
                            const std::vector<LinkLine> &lines) {
  std::error_code ignored;
  fs::remove(fs::path(folder) / marker.filename(), ignored);
  for (const LinkLine &line : lines)
    if (line.kind == "bundle" || line.kind == "transport")
      fs::remove(fs::path(folder) / fs::path(line.path).filename(), ignored);
  fs::remove(folder, ignored);
}

/// The path of the only line of a kind.
static std::string findLine(const std::vector<LinkLine> &lines,
                            llvm::StringRef kind) {
  for (const LinkLine &line : lines)
    if (line.kind == kind)
      return line.path;
  throw failure("lib/ingot", "the list of the runtime has no " + kind.str(),
                "build all targets, and keep bin and lib side by side");
}

/// How the symbols of all tables of kernels end.
static constexpr llvm::StringLiteral tablesEnd = "KernelsE";

/// Returns an expression for the symbols of kernels that a trainer never runs:
/// those for processors below its level, and families that its steps do not
/// reach. Each family has a table for each level: `NAMESPACE::genericKernels`
/// is one. Empty if there are none.
static std::string describeUnusedKernels(abi::CpuLevel level,
                                         const cpu::KernelFamilies &used) {
  llvm::SmallVector<llvm::StringRef> parts;
  if (level >= abi::CpuLevel::V3)
    parts.push_back("[0-9]generic[A-Za-z]*KernelsE$");
  if (level >= abi::CpuLevel::V4)
    parts.push_back("[0-9]avx2[A-Za-z]*KernelsE$");
  if (!used.depthwise)
    parts.push_back("9depthwise[0-9]+[a-z0-9]*KernelsE$");
  if (!used.winograd)
    parts.push_back("8winograd[0-9]+[a-z0-9]*KernelsE$");
  if (!used.strassen)
    parts.push_back("StrassenKernelsE$");
  if (!used.halves)
    parts.push_back("[0-9](dot|tile)KernelsE$");
  return llvm::join(parts, "|");
}

/// Returns the symbols of kernels that a trainer never runs.
static std::vector<std::string>
findUnusedKernels(const std::vector<LinkLine> &lines, const LinkInput &input) {
  std::vector<std::string> names;
  std::string expression = describeUnusedKernels(input.level, input.kernels);
  if (expression.empty())
    return names;
  llvm::Regex unused(expression);
  for (const LinkLine &line : lines) {
    // Libraries of others have none.
    if (line.kind != "archive" ||
        !llvm::sys::path::filename(line.path).starts_with("libingot_"))
      continue;
    auto buffer = llvm::MemoryBuffer::getFile(line.path);
    if (!buffer)
      continue;
    auto archive = llvm::object::Archive::create(**buffer);
    if (!archive) {
      llvm::consumeError(archive.takeError());
      continue;
    }
    for (const llvm::object::Archive::Symbol &symbol : (*archive)->symbols())
      // Trying the expression on every name would take half a second: there are
      // thousands, and they are long.
      if (llvm::StringRef name = symbol.getName();
          name.ends_with(tablesEnd) && unused.match(name))
        names.push_back(name.str());
  }
  return names;
}

void ingot::checkRuntime(const std::string &target, const std::string &triple) {
  readLinkFile(runtimeDirectory(triple), target, triple);
}

/// Whether a part is linked into a product.
static bool isPart(const LinkLine &line, Product product, bool dataParallel) {
  llvm::StringRef kind = line.kind;
  if (kind == "emulation" || kind == "loader" || kind == "header")
    return false;
  // The program that a static library becomes a part of has the rest.
  if (product == Product::StaticLibrary)
    return kind == "archive" || kind == "embed" || kind == "inside";
  // Transports are loaded. Here they only say which functions of the C++
  // library they expect of the trainer.
  if (kind == "transport")
    return dataParallel;
  // A library takes nothing along.
  if (product == Product::Program)
    return kind != "embed" && kind != "inside";
  return kind != "entry" && kind != "bundle";
}

/// Appends what is linked to the arguments of the linker.
static void addParts(const LinkInput &input, const std::vector<LinkLine> &lines,
                     Product product, const ScratchDirectory &scratch,
                     std::vector<std::string> &args) {
  std::vector<std::string> objects;
  for (const std::string &object : input.objects) {
    std::string number = std::to_string(objects.size());
    objects.push_back(scratch.path("step" + number + ".o"));
    writeFile(objects.back(), object);
  }
  std::vector<std::string> start, middle, end;
  for (const LinkLine &line : lines) {
    if (!isPart(line, product, input.dataParallel))
      continue;
    bool isStart = line.kind == "entry" || line.kind == "start";
    std::vector<std::string> &part = isStart              ? start
                                     : line.kind == "end" ? end
                                                          : middle;
    bool isWhole = line.kind == "whole" || line.kind == "embed";
    if (isWhole)
      part.push_back("--whole-archive");
    part.push_back(line.path);
    if (isWhole)
      part.push_back("--no-whole-archive");
  }
  args.insert(args.end(), start.begin(), start.end());
  args.insert(args.end(), objects.begin(), objects.end());
  // LLD names a blob's symbols after the path it is given.
  auto blob = [&](const std::string &symbol, const std::string &bytes) {
    if (bytes.empty())
      return;
    std::string path = scratch.path(symbol);
    writeFile(path, bytes);
    std::string mangled = "_binary_";
    for (char c : path)
      mangled += llvm::isAlnum(c) ? c : '_';
    args.push_back("--defsym=_binary_" + symbol + "_start=" + mangled +
                   "_start");
    args.insert(args.end(), {"--format=binary", path, "--format=default"});
  };
  blob("ingot_weights", input.weights);
  blob("ingot_export", input.exportLiteral);
  if (input.hasPictures)
    args.insert(args.end(), {"-u", "ingot_picture_codecs"});
  if (input.hasAdapters)
    args.insert(args.end(), {"-u", "ingot_adapters"});
  if (input.isPruned)
    args.insert(args.end(), {"-u", "ingot_pruning"});
  if (input.hasQuantizers)
    args.insert(args.end(), {"-u", "ingot_quantizers"});
  if (input.hasEncodings)
    args.insert(args.end(),
                {"-u", "ingot_encoded_states", "-u", "ingot_exported_codes"});
  // The transports have MPI's functions from a library that is loaded before.
  if (input.dataParallel && product == Product::Program)
    args.insert(args.end(),
                {"-u", "ingot_connect_ranks", "--allow-shlib-undefined"});
  // They are never chosen: without an address nothing of them is linked.
  for (const std::string &name : findUnusedKernels(lines, input))
    args.push_back("--defsym=" + name + "=0");
  args.push_back("--start-group");
  args.insert(args.end(), middle.begin(), middle.end());
  args.push_back("--end-group");
  args.insert(args.end(), end.begin(), end.end());
}

/// The options of the linker that programs and libraries have in common.
static std::vector<std::string> getOptions(const std::string &emulation) {
  return {// Writing to a mapped file on a full disk ends in a signal.
          "--no-mmap-output-file", "--eh-frame-hdr", "--as-needed",
          "--gc-sections", "--icf=safe", "--strip-all",
          // Ends of strings are shared.
          "-O2", "--hash-style=gnu", "-z", "relro", "-z", "now", "-z",
          "noexecstack", "-m", emulation};
}

static runtime::Error cannotWrite(const std::string &path,
                                  const std::error_code &code) {
  return failure(path, "cannot write: " + code.message(),
                 "check the space left and the directory's permissions");
}

void ingot::linkTrainer(const LinkInput &input, const std::string &output) {
  std::vector<LinkLine> lines =
      readLinkFile(runtimeDirectory(input.triple), input.target, input.triple);
  std::string emulation = findLine(lines, "emulation");
  ScratchDirectory scratch(output);
  std::string name = llvm::sys::path::filename(output).str();
  std::string executable = scratch.path(name);
  auto travels = [&](const LinkLine &line) {
    return line.kind == "bundle" ||
           (line.kind == "transport" && input.dataParallel);
  };
  bool isOneFile = llvm::none_of(lines, travels);
  std::vector<std::string> args = getOptions(emulation);
  // Libraries of the bundle find each other in their own directory.
  args.insert(args.end(), {"-pie", "-dynamic-linker", findLine(lines, "loader"),
                           "--disable-new-dtags", "-o", executable});
  std::string marker = makeMarker(emulation, name, scratch);
  if (!isOneFile)
    args.insert(args.end(), {"-rpath", "$ORIGIN/" + name + ".libs"});
  // Ranks over TCP do without the transports.
  if (llvm::any_of(lines,
                   [](const LinkLine &line) { return line.kind == "bundle"; }))
    args.insert(args.end(), {"--no-as-needed", marker, "--as-needed"});
  addParts(input, lines, Product::Program, scratch, args);
  runLinker(args);

  // The libraries are moved first: a trainer that exists is complete.
  std::string libraries = output + ".libs";
  try {
    removeLibraries(libraries, marker, lines);
    if (isOneFile) {
      fs::rename(executable, output);
      return;
    }
    fs::create_directories(libraries);
    fs::copy_file(marker, fs::path(libraries) / fs::path(marker).filename());
    for (const std::string &needed : neededLibraries(executable))
      for (const LinkLine &line : lines)
        if (line.kind == "bundle" &&
            llvm::sys::path::filename(line.path) == needed)
          fs::copy_file(line.path, libraries + "/" + needed,
                        fs::copy_options::overwrite_existing);
    for (const LinkLine &line : lines)
      if (input.dataParallel && line.kind == "transport")
        fs::copy_file(line.path,
                      fs::path(libraries) / fs::path(line.path).filename(),
                      fs::copy_options::overwrite_existing);
    // The libraries that the bundled libraries depend on.
    for (const auto &entry : fs::directory_iterator(libraries))
      for (const std::string &needed : neededLibraries(entry.path().string()))
        for (const LinkLine &line : lines)
          if (line.kind == "bundle" &&
              llvm::sys::path::filename(line.path) == needed)
            fs::copy_file(line.path, libraries + "/" + needed,
                          fs::copy_options::skip_existing);
    fs::rename(executable, output);
  } catch (const fs::filesystem_error &error) {
    removeLibraries(libraries, marker, lines);
    throw cannotWrite(output, error.code());
  }
}

/// Returns the functions that ingot.h declares.
static std::vector<std::string> listCalls(const std::vector<LinkLine> &lines) {
  std::vector<std::string> names;
  llvm::Regex declaration("INGOT_API [^;]*[ *](ingot_[a-z_]+)\\(");
  for (const LinkLine &line : lines) {
    if (line.kind != "header")
      continue;
    auto buffer = llvm::MemoryBuffer::getFile(line.path);
    llvm::StringRef rest = buffer ? (*buffer)->getBuffer() : "";
    llvm::SmallVector<llvm::StringRef> parts;
    rest.split(parts, ';');
    for (llvm::StringRef part : parts)
      if (llvm::SmallVector<llvm::StringRef> found;
          declaration.match(part, &found))
        names.push_back(found[1].str());
  }
  return names;
}

/// Links a library to the file `built`, under the name that programs know.
static void linkLibraryFile(const LinkInput &input, const LibraryInput &library,
                            const std::vector<LinkLine> &lines,
                            const ScratchDirectory &scratch,
                            const std::string &built) {
  std::string emulation = findLine(lines, "emulation");
  std::string model = library.name + "_model";
  std::vector<std::string> calls = listCalls(lines);
  if (library.isStatic) {
    // Sections that a program does not need are left out by its own link: this
    // one would take the tables for exceptions along with them. A group would
    // be replaced by that of another model with the same name.
    std::string object = scratch.path("linked.o");
    std::vector<std::string> args = {
        "-r",   "--force-group-allocation", "-m", emulation, "-o",
        object, "--no-mmap-output-file"};
    addParts(input, lines, Product::StaticLibrary, scratch, args);
    runLinker(args);
    writeStaticLibrary(object, model, calls, built);
    return;
  }
  std::string exports = scratch.path("exports");
  writeFile(exports, "{ global: " + model + "; " + llvm::join(calls, "; ") +
                         "; local: *; };\n");
  std::vector<std::string> args = getOptions(emulation);
  args.insert(args.end(), {"-shared", "-z", "defs", "-soname",
                           llvm::sys::path::filename(built).str(),
                           "--version-script", exports, "-o", built});
  addParts(input, lines, Product::SharedLibrary, scratch, args);
  runLinker(args);
}

void ingot::linkLibrary(const LinkInput &input, const LibraryInput &library,
                        const std::string &output) {
  std::vector<LinkLine> lines =
      readLinkFile(runtimeDirectory(input.triple), input.target, input.triple);
  ScratchDirectory scratch(output);
  std::string built = scratch.path(llvm::sys::path::filename(output).str());
  linkLibraryFile(input, library, lines, scratch, built);

  // The library is last: one that exists has its headers.
  fs::path folder = fs::path(output).parent_path();
  try {
    for (const LinkLine &line : lines)
      if (line.kind == "header") {
        fs::path name = fs::path(line.path).filename();
        std::string copy = scratch.path(name.string());
        fs::copy_file(line.path, copy);
        fs::rename(copy, folder / name);
      }
    std::string header = scratch.path(library.name + ".h");
    writeFile(header, library.header);
    fs::rename(header, folder / (library.name + ".h"));
    fs::rename(built, output);
  } catch (const fs::filesystem_error &error) {
    throw cannotWrite(output, error.code());
  }
}

bool ingot::takesPictures(const runtime::Manifest &manifest) {
  for (const runtime::FunctionSpec &function : manifest.functions)
    for (const runtime::InputSpec &input : function.inputs) {
      const std::vector<int64_t> &shape = input.shape;
      auto isColors = [](int64_t extent) { return extent == 1 || extent == 3; };
      if (input.isBatched() &&
          (shape.size() == 3 ||
           (shape.size() == 4 && (isColors(shape[1]) || isColors(shape[3])))))
        return true;
    }
  return false;
}
