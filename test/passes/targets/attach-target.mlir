// RUN: ingot-opt %s --ingot-attach-target | FileCheck %s --check-prefix=CPU
// RUN: ingot-opt %s --ingot-attach-target="target=cuda arch=sm_80 tf32" | FileCheck %s --check-prefix=CUDA
// RUN: ingot-opt %s --ingot-attach-target=target=emulator | FileCheck %s --check-prefix=EMULATOR
// RUN: not ingot-opt %s --ingot-attach-target=target=npu 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not ingot-opt %s --ingot-attach-target="target=cuda arch=sm_70" 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: not ingot-opt %s --ingot-attach-target=tf32 2>&1 | FileCheck %s --check-prefix=MATH
// RUN: echo 'module attributes {ingot.target = #ingot.target<"npu">} {}' > %t.bad
// RUN: not ingot-opt %t.bad 2>&1 | FileCheck %s --check-prefix=KIND

// CPU:      ingot.target = #ingot.target<"cpu">
// CUDA:     ingot.target = #ingot.target<"cuda", arch = "sm_80", math = tf32>
// EMULATOR: ingot.target = #ingot.target<"emulator">
// KIND:     no target named 'npu'; there are cpu, cuda, emulator
// ARCH:     no device architecture from sm_80 on is named 'sm_70'
// MATH:     a CPU has no TF32
module {}
