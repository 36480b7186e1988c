// Tests row kernels on a device: rows that a block shares, rows that a warp goes
// over in loops, and rows that are held in registers, against the interpreter.
// RUN: %arrays make %t.in.npz arr_0=20x5000 arr_1=20x768 arr_2=20x333
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.expected.npz
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.got.npz --emulate
// RUN: %arrays compare --rtol 2e-6 --rtol-of half=2e-2 --atol 1e-7 --count 4 %t.expected.npz %t.got.npz

func.func @rows(%block: tensor<20x5000xf32> {ingot.name = "arr_0"}, %registers: tensor<20x768xf32> {ingot.name = "arr_1"},
                %loop: tensor<20x333xf32> {ingot.name = "arr_2"})
    -> (tensor<20x5000xf32> {ingot.name = "block"}, tensor<20x768xf32> {ingot.name = "registers"},
        tensor<20x333xf32> {ingot.name = "loop"}, tensor<20x333xbf16> {ingot.name = "half"}) {
  %0 = ingot.softmax %block dim = 1 : tensor<20x5000xf32>
  %1 = ingot.softmax %registers dim = 1 : tensor<20x768xf32>
  %2 = ingot.softmax %loop dim = 1 : tensor<20x333xf32>
  %3 = ingot.cast %loop : tensor<20x333xf32> -> tensor<20x333xbf16>
  %4 = ingot.log_softmax %3 dim = 1 : tensor<20x333xbf16>
  return %0, %1, %2, %4 : tensor<20x5000xf32>, tensor<20x768xf32>, tensor<20x333xf32>, tensor<20x333xbf16>
}
