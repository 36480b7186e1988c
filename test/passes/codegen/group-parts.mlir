// Tests kernels of several loops, of many blocks or less than one, in places or
// not, that take indices apart or not, against the interpreter.
// RUN: %arrays make %t.in.npz arr_0=90x111 arr_1=111x90 arr_2=3 arr_3=20x333 arr_4=333 arr_5=3
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.expected.npz
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.cpu.npz --compiled
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.cuda.npz --emulate
// RUN: %arrays compare --rtol 2e-6 --atol 1e-7 --count 4 %t.expected.npz %t.cpu.npz %t.cuda.npz
// RUN: ingot-opt %s --ingot-form-fusions --ingot-group-kernels --ingot-place-steps --ingot-emit-cpu-kernels | FileCheck %s --check-prefix=CPU
// RUN: ingot-opt %s --ingot-form-fusions --ingot-group-kernels --ingot-place-steps --ingot-emit-cuda-kernels | FileCheck %s --check-prefix=CUDA

// Equal loops share a function.
//     CPU-DAG: func.func private @[[FIRST:.*]]_part_0(
//     CPU-DAG: func.func private @[[FIRST]]_part_1(
//     CPU-DAG: func.func private @[[FIRST]]_part_2(
//     CPU-NOT: _part_3
//         CPU: exec.launch @[[FIRST]]({{.*}}grain = 8
//     CPU-NOT: exec.launch
//        CUDA: exec.launch_grid @device::@[[NAME:[a-z_0-9]+]]
//    CUDA-NOT: exec.launch_grid
//        CUDA: gpu.func @[[NAME]](
//        CUDA: gpu.block_id
//        CUDA: scf.if
//    CUDA-NOT: gpu.func
func.func @groups(%a: tensor<90x111xf32> {ingot.name = "arr_0", ingot.kind = "data"}, %b: tensor<111x90xf32> {ingot.name = "arr_1", ingot.kind = "data"},
                  %c: tensor<3xf32> {ingot.name = "arr_2", ingot.kind = "data"}, %d: tensor<20x333xf32> {ingot.name = "arr_3", ingot.kind = "data"}, %e: tensor<333xf32> {ingot.name = "arr_4", ingot.kind = "data"},
                  %g: tensor<3xf32> {ingot.name = "arr_5", ingot.kind = "data"})
    -> (tensor<90x111xf32> {ingot.name = "turned"}, tensor<3xf32> {ingot.name = "tiny"}, tensor<20x333xf32> {ingot.name = "rows"},
        tensor<3xf32> {ingot.name = "again"}) {
  %t = ingot.transpose %b[1, 0] : (tensor<111x90xf32>) -> tensor<90x111xf32>
  %0 = ingot.add %a, %t : tensor<90x111xf32>
  %1 = ingot.tanh %c : tensor<3xf32>
  %f = ingot.broadcast %e dims = [1] : tensor<333xf32> -> tensor<20x333xf32>
  %2 = ingot.mul %d, %f : tensor<20x333xf32>
  %3 = ingot.tanh %g : tensor<3xf32>
  return %0, %1, %2, %3 : tensor<90x111xf32>, tensor<3xf32>, tensor<20x333xf32>, tensor<3xf32>
}
