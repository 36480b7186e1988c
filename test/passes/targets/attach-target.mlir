// RUN: ingot-opt %s --ingot-attach-target | FileCheck %s --check-prefix=CPU
// RUN: ingot-opt %s --ingot-attach-target="target=cuda arch=sm_80 tf32 options=matmul-kernels=own,conv-fusion=auto" | FileCheck %s --check-prefix=CUDA
// RUN: ingot-opt %s --ingot-attach-target=target=emulator | FileCheck %s --check-prefix=EMULATOR
// RUN: not ingot-opt %s --ingot-attach-target=target=npu 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not ingot-opt %s --ingot-attach-target="target=cuda arch=sm_70" 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: not ingot-opt %s --ingot-attach-target=tf32 2>&1 | FileCheck %s --check-prefix=MATH
// RUN: echo 'module attributes {ingot.target = #ingot.target<"npu">} {}' > %t.bad
// RUN: not ingot-opt %t.bad 2>&1 | FileCheck %s --check-prefix=ATTR

// CPU:      ingot.target = #ingot.target<"cpu">
// CUDA:     ingot.target = #ingot.target<"cuda", arch = "sm_80", math = tf32>
// CUDA-SAME: ingot.target_options = {"conv-fusion" = "auto", "matmul-kernels" = "own"}
// EMULATOR: ingot.target = #ingot.target<"emulator">
// KIND:     --target{{.*}}unknown target 'npu'
// KIND:     choose one of cpu, cuda, emulator
// ATTR:     no target named 'npu'; there are cpu, cuda, emulator
// ARCH:     no GPU architecture from sm_80 on is named 'sm_70'
// MATH:     a CPU has no TF32

// RUN: ingot-opt %s --ingot-attach-target="target=cuda precision=bf16 data-parallel" | FileCheck %s --check-prefix=STEPS
// RUN: echo '{"threads": 3}' > %t.json
// RUN: ingot-opt %s --ingot-attach-target="target=cuda machine=%t.json" | FileCheck %s --check-prefix=FILE
// RUN: ingot-opt %s --ingot-attach-target | ingot-opt --ingot-attach-target=target=cuda | FileCheck %s --check-prefix=KEPT
// RUN: echo '{"thread": 3}' > %t.wrong.json
// RUN: not ingot-opt %s --ingot-attach-target=machine=%t.wrong.json 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not ingot-opt %s --ingot-attach-target=machine=%t.none 2>&1 | FileCheck %s --check-prefix=NONE

// What the trainer is told, and the figures of the target.
// STEPS: ingot.data_parallel
// STEPS-SAME: ingot.machine = {{.*}}memory_bandwidth = 2.86{{0*}}e+12
// STEPS-SAME: ingot.precision = "bf16"

// A file replaces some figures; without one, a module keeps its own.
// FILE: memory_bandwidth = 2.86{{0*}}e+12
// FILE-SAME: threads = 3.0
// KEPT-NOT: device_workspace_bytes
// KEPT: #ingot.target<"cuda">
// WRONG: no field named 'thread'
// NONE: cannot read
module {}

// Machines that the target knows by name; what an architecture is planned for
// without one.
// RUN: ingot-opt %s --ingot-attach-target="target=cuda machine=a100" | FileCheck %s --check-prefix=A100
// RUN: ingot-opt %s --ingot-attach-target="target=cuda arch=sm_86" | FileCheck %s --check-prefix=A100
// A100: multiprocessors = 1.08{{0*}}e+02
// RUN: ingot-opt %s --ingot-attach-target="target=cuda machine=b200" | FileCheck %s --check-prefix=B200
// RUN: ingot-opt %s --ingot-attach-target="target=cuda arch=sm_100" | FileCheck %s --check-prefix=B200
// B200: multiprocessors = 1.48{{0*}}e+02
// RUN: not ingot-opt %s --ingot-attach-target=machine=a100 2>&1 | FileCheck %s --check-prefix=CPUNAME
// CPUNAME: cannot read
// RUN: echo '{"threads": 3, "sources": {"threads": "counted"}}' > %t.sources.json
// RUN: ingot-opt %s --ingot-attach-target="target=cuda machine=%t.sources.json" | FileCheck %s --check-prefix=FILE
// RUN: echo '{"sources": {"speed": "guessed"}}' > %t.unknown.json
// RUN: not ingot-opt %s --ingot-attach-target=machine=%t.unknown.json 2>&1 | FileCheck %s --check-prefix=SOURCE
// SOURCE: 'sources' has no words on a field: 'speed'

// Options of a target are checked with it, and figures of GPUs that are 0, as
// in profiles of CPUs, make no GPU.
// RUN: not ingot-opt %s --ingot-attach-target="target=cuda options=streams=2" 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not ingot-opt %s --ingot-attach-target="target=cuda options=matmul-kernels=mine" 2>&1 | FileCheck %s --check-prefix=VALUE
// OPTION: no target has 'streams'
// VALUE: unknown matmul-kernels 'mine'
// RUN: echo '{"threads": 3, "multiprocessors": 0}' > %t.cpu.json
// RUN: ingot-opt %s --ingot-attach-target=machine=%t.cpu.json | FileCheck %s --check-prefix=NOGPU
// NOGPU-NOT: multiprocessors
// NOGPU: threads = 3.0
// NOGPU-NOT: multiprocessors
