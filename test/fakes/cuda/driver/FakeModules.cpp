// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Modules and kernels of the fake driver (Fakes.h). A GPU that computes runs
// the PTX. It takes machine code only to learn what a kernel needs of a
// multiprocessor, and then says, as a GPU of another architecture does, that
// there is none for it, so that trainers load their PTX.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/driver/DriverState.h"

#include <elf.h>

using namespace fakes;

namespace {
constexpr char elfMagic[] = "\x7f"
                            "ELF";
/// The registers of a multiprocessor, and the shared memory of a block that
/// asks for no more.
constexpr uint32_t registerFile = 1 << 16;
constexpr uint32_t mostShared = 48 << 10;
/// The shared memory of a block that asks for more (CUDA programming guide,
/// "Compute Capability 9.x").
constexpr uint32_t mostOptedShared = 227 << 10;

/// Returns the resources that the kernels of a cubin need: ptxas writes the
/// registers of a kernel into its section's info, and its static shared memory
/// as a section.
std::map<std::string, Resources> readResources(const char *image) {
  std::map<std::string, Resources> kernels;
  const auto *header = reinterpret_cast<const Elf64_Ehdr *>(image);
  const auto *sections =
      reinterpret_cast<const Elf64_Shdr *>(image + header->e_shoff);
  const char *names = image + sections[header->e_shstrndx].sh_offset;
  constexpr std::string_view text = ".text.", shared = ".nv.shared.";
  for (int i = 0; i < header->e_shnum; ++i) {
    std::string_view name(names + sections[i].sh_name);
    if (name.starts_with(text))
      kernels[std::string(name.substr(text.size()))].registers =
          sections[i].sh_info >> 24;
    else if (name.starts_with(shared))
      kernels[std::string(name.substr(shared.size()))].sharedBytes =
          static_cast<uint32_t>(sections[i].sh_size);
  }
  return kernels;
}

std::map<std::string, Resources> &getLastResources() {
  static std::map<std::string, Resources> resources;
  return resources;
}

/// The address that the first argument of a launch is, or that it maps.
CUdeviceptr getFirstAddress(const void *argument) {
  CUdeviceptr address = 0;
  std::memcpy(&address, argument, sizeof(address));
  ptx::TensorMap map;
  if (static_cast<uint32_t>(address) != ptx::TensorMap::valid)
    return address;
  std::memcpy(&map, argument, sizeof(map));
  return map.address;
}

/// A kernel with the arguments of a launch.
Work makeWork(LoadedFunction &function, uint32_t blocks, uint32_t threads,
              uint32_t shared, void **arguments) {
  auto program = function.module->program;
  const ptx::Function &code = *function.code;
  std::vector<uint8_t> parameters(code.parameterBytes);
  for (size_t i = 0; i < code.parameters.size(); ++i)
    std::memcpy(parameters.data() + code.parameters[i].place, arguments[i],
                code.parameters[i].bytes);
  // Races are the same in every launch, and finding them takes long.
  constexpr int launchesWithRaces = 1;
  constexpr uint32_t blocksWithRaces = 64;
  bool findsRaces =
      function.launches++ < launchesWithRaces && blocks <= blocksWithRaces;
  auto seed = static_cast<uint64_t>(getSetting("INGOT_SOFTWARE_GPU_SEED", 0));
  return [=, &code, runs = uint64_t(0)]() mutable {
    ptx::Launch launch = {*program,
                          code,
                          blocks,
                          threads,
                          parameters,
                          {},
                          seed * 1000003 + ++runs,
                          findsRaces && runs == 1,
                          shared,
                          getState().accesses};
    if (launch.log)
      launch.log->name = code.name;
    for (auto [place, bytes] : getState().blocks)
      launch.allocations.push_back({place, place + bytes});
    try {
      ptx::runKernel(launch);
    } catch (const ptx::Fault &fault) {
      throw ptx::Fault(fault.kind, code.name + ": " + fault.what());
    }
    return true;
  };
}
} // namespace

extern "C" {

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned,
                            CUjit_option *, void **) {
  fakes::Turn turn;
  const char *bytes = static_cast<const char *>(image);
  bool isText = std::memcmp(bytes, elfMagic, 4) != 0;
  FAIL_IF_ASKED(" %s", isText ? "ptx" : "cubin");
  int arch = static_cast<int>(getSetting("INGOT_FAKE_ARCH", 90));
  std::shared_ptr<ptx::Module> program;
  if (isText) {
    std::string_view text(bytes);
    size_t name = text.find(".target sm_") + 11;
    int built = std::atoi(bytes + name);
    // What is for one architecture only has a letter behind the number.
    size_t end = text.find_first_not_of("0123456789", name);
    bool isSpecific = end < text.size() && text[end] == 'a';
    if (arch < built || (isSpecific && arch != built))
      return CUDA_ERROR_INVALID_PTX;
    if (isComputing()) {
      try {
        program = std::make_shared<ptx::Module>(ptx::parseModule(text));
      } catch (const ptx::ParseError &error) {
        std::fprintf(stderr, "software GPU: PTX: %s\n", error.what());
        return CUDA_ERROR_INVALID_PTX;
      }
    }
  } else {
    getLastResources() = readResources(bytes);
    if (arch / 10 != 9 || isComputing())
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  *module = make<CUmodule>(Kind::Module);
  Object &made = *find(*module, Kind::Module);
  if (isText)
    made.image = bytes;
  made.program = program;
  made.resources = getLastResources();
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUDA_ERROR_UNKNOWN;
  Object *loaded = find(module, Kind::Module);
  REQUIRE(loaded, CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(loaded->image.empty() ||
              loaded->image.find(std::string(".entry ") + name + "(") !=
                  std::string_view::npos,
          CUDA_ERROR_NOT_FOUND);
  LoadedFunction &found = loaded->functions[name];
  found = {name, loaded, nullptr, loaded->resources[name]};
  if (loaded->program) {
    found.code = &loaded->program->functions.find(name)->second;
    if (found.resources.registers == 0)
      found.resources.sharedBytes = found.code->sharedBytes;
  }
  *function = reinterpret_cast<CUfunction>(&found);
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                            int value) {
  fakes::Turn turn;
  auto &loaded = *reinterpret_cast<LoadedFunction *>(function);
  FAIL_IF_ASKED(" %s %d", loaded.name.c_str(), value);
  REQUIRE(attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
          CUDA_ERROR_INVALID_VALUE);
  REQUIRE(value >= 0 && loaded.resources.sharedBytes + value <= mostOptedShared,
          CUDA_ERROR_INVALID_VALUE);
  loaded.mostDynamic = static_cast<uint32_t>(value);
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  fakes::Turn turn;
  return destroy(module, Kind::Module);
}
CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned shared, CUstream stream,
                        void **arguments, void **) {
  fakes::Turn turn;
  auto &loaded = *reinterpret_cast<LoadedFunction *>(function);
  FAIL_IF_ASKED(" %s grid=%u block=%u shared=%u", loaded.name.c_str(), gridX,
                blockX, shared);
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(gridX > 0 && gridY == 1 && gridZ == 1, CUDA_ERROR_INVALID_VALUE);
  REQUIRE(blockX > 0 && blockX <= 1024 && blockY == 1 && blockZ == 1,
          CUDA_ERROR_INVALID_VALUE);
  REQUIRE(loaded.resources.sharedBytes <= mostShared &&
              shared <= loaded.mostDynamic,
          CUDA_ERROR_INVALID_VALUE);
  REQUIRE(loaded.resources.registers * blockX <= registerFile,
          CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  REQUIRE(arguments, CUDA_ERROR_INVALID_VALUE);
  Region tensor = findBlock(getFirstAddress(*arguments));
  REQUIRE(tensor.bytes != 0, CUDA_ERROR_ILLEGAL_ADDRESS);
  bool isOrdered = put(stream, {tensor});
  REQUIRE(isOrdered, CUDA_ERROR_ILLEGAL_STATE);
  if (loaded.code) {
    REQUIRE(blockX <= loaded.code->maxThreads, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(shared == 0 || loaded.code->hasDynamicShared,
            CUDA_ERROR_INVALID_VALUE);
    submit(stream, makeWork(loaded, gridX, blockX, shared, arguments),
           loaded.name);
  } else {
    submit(stream, {}, loaded.name);
  }
  return CUDA_SUCCESS;
}

} // extern "C"
