// Tests row kernels on a device against the interpreter: rows that a block or a warp holds in registers, also where
// some threads are beyond the end of the row, and rows that are read twice, for the maximum and the sum of exponentials
// together and for the results. A row of -infinity has no softmax.
// RUN: %arrays make %t.in.npz arr_0=6x20000 arr_1=20x1600 arr_2=20x768 arr_3=20x333 arr_4=20x5000
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.expected.npz
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.got.npz --emulate
// RUN: %arrays compare --rtol 5e-6 --rtol-of half=2e-2 --atol 1e-7 --count 8 %t.expected.npz %t.got.npz

func.func @rows(%long: tensor<6x20000xf32> {ingot.name = "arr_0"}, %part: tensor<20x1600xf32> {ingot.name = "arr_1"},
                %warp: tensor<20x768xf32> {ingot.name = "arr_2"}, %odd: tensor<20x333xf32> {ingot.name = "arr_3"},
                %block: tensor<20x5000xf32> {ingot.name = "arr_4"})
    -> (tensor<6x20000xf32> {ingot.name = "long"}, tensor<6x20000xf32> {ingot.name = "masked"},
        tensor<20x1600xf32> {ingot.name = "part"}, tensor<20x768xf32> {ingot.name = "warp"},
        tensor<20x333xf32> {ingot.name = "odd"}, tensor<20x333xbf16> {ingot.name = "half"},
        tensor<20x5000xf32> {ingot.name = "block"}, tensor<20x1600xf32> {ingot.name = "norm"}) {
  %0 = ingot.softmax %long dim = 1 : tensor<6x20000xf32>
  // Threads begin with elements that are masked.
  %columns = ingot.iota {dim = 1 : i64} : tensor<6x20000xi32>
  %first = ingot.constant dense<15000> : tensor<6x20000xi32>
  %isMasked = ingot.compare lt %columns, %first : (tensor<6x20000xi32>, tensor<6x20000xi32>) -> tensor<6x20000xi1>
  %lowest = ingot.constant dense<0xFF800000> : tensor<6x20000xf32>
  %visible = ingot.select %isMasked, %lowest, %long : tensor<6x20000xi1>, tensor<6x20000xf32>
  %1 = ingot.log_softmax %visible dim = 1 : tensor<6x20000xf32>
  %2 = ingot.softmax %part dim = 1 : tensor<20x1600xf32>
  %3 = ingot.softmax %warp dim = 1 : tensor<20x768xf32>
  %4 = ingot.softmax %odd dim = 1 : tensor<20x333xf32>
  %5 = ingot.cast %odd : tensor<20x333xf32> -> tensor<20x333xbf16>
  %6 = ingot.log_softmax %5 dim = 1 : tensor<20x333xbf16>
  %7 = ingot.softmax %block dim = 1 : tensor<20x5000xf32>
  %sum = ingot.reduce sum %part dims = [1] : (tensor<20x1600xf32>) -> tensor<20xf32>
  %spread = ingot.broadcast %sum dims = [0] : tensor<20xf32> -> tensor<20x1600xf32>
  %8 = ingot.mul %part, %spread : tensor<20x1600xf32>
  return %0, %1, %2, %3, %4, %6, %7, %8 : tensor<6x20000xf32>, tensor<6x20000xf32>, tensor<20x1600xf32>, tensor<20x768xf32>, tensor<20x333xf32>, tensor<20x333xbf16>, tensor<20x5000xf32>, tensor<20x1600xf32>
}
