// Tests scatter_add on a device: each block lists the updates of its own rows and adds them in order, so that exact
// sums have the interpreter's bits. Several tiles of indices, rows of several blocks and of few threads, many updates of one
// row, and sums that begin in place.
// RUN: %arrays make %t.in.npz arr_0=5000x20 arr_1=300x1100 arr_2=40x20 arr_3=2x700x6 arr_4=5000
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.expected.npz
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.got.npz --emulate
// RUN: %arrays compare --rtol 1e-5 --rtol-of rows=0 --rtol-of into=0 --rtol-of half=2e-2 --atol 2e-5 --count 5 %t.expected.npz %t.got.npz

func.func @scatter(%short: tensor<5000x20xf32> {ingot.name = "arr_0"}, %long: tensor<300x1100xf32> {ingot.name = "arr_1"},
                   %init: tensor<40x20xf32> {ingot.name = "arr_2"}, %inner: tensor<2x700x6xf32> {ingot.name = "arr_3"},
                   %places: tensor<5000xf32> {ingot.name = "arr_4"})
    -> (tensor<40x20xf32> {ingot.name = "rows"}, tensor<40x20xf32> {ingot.name = "into"},
        tensor<50x1100xf32> {ingot.name = "wide"}, tensor<2x9x6xf32> {ingot.name = "inner"},
        tensor<40x20xbf16> {ingot.name = "half"}) {
  // Half of the numbers are below 0, and clamped to the first row.
  %scale = ingot.constant dense<20.0> : tensor<5000xf32>
  %scaled = ingot.mul %places, %scale : tensor<5000xf32>
  %indices = ingot.cast %scaled : tensor<5000xf32> -> tensor<5000xi64>
  %few = ingot.slice %indices starts = [0] limits = [300] strides = [1] : (tensor<5000xi64>) -> tensor<300xi64>
  %some = ingot.slice %indices starts = [300] limits = [1000] strides = [1] : (tensor<5000xi64>) -> tensor<700xi64>
  // Sums of small integers are exact.
  %eights = ingot.constant dense<8.0> : tensor<5000x20xf32>
  %eighths = ingot.mul %short, %eights : tensor<5000x20xf32>
  %integers = ingot.cast %eighths : tensor<5000x20xf32> -> tensor<5000x20xi32>
  %whole = ingot.cast %integers : tensor<5000x20xi32> -> tensor<5000x20xf32>
  %rows = ingot.scatter_add %whole[%indices] dim = 0 : (tensor<5000xi64>, tensor<5000x20xf32>) -> tensor<40x20xf32>
  %integer = ingot.cast %init : tensor<40x20xf32> -> tensor<40x20xi32>
  %start = ingot.cast %integer : tensor<40x20xi32> -> tensor<40x20xf32>
  %into = ingot.scatter_add %whole[%indices] into %start dim = 0 : (tensor<5000xi64>, tensor<5000x20xf32>, tensor<40x20xf32>) -> tensor<40x20xf32>
  %wide = ingot.scatter_add %long[%few] dim = 0 : (tensor<300xi64>, tensor<300x1100xf32>) -> tensor<50x1100xf32>
  %second = ingot.scatter_add %inner[%some] dim = 1 : (tensor<700xi64>, tensor<2x700x6xf32>) -> tensor<2x9x6xf32>
  %first = ingot.slice %whole starts = [0, 0] limits = [60, 20] strides = [1, 1] : (tensor<5000x20xf32>) -> tensor<60x20xf32>
  %spread = ingot.slice %indices starts = [0] limits = [60] strides = [1] : (tensor<5000xi64>) -> tensor<60xi64>
  %narrow = ingot.cast %first : tensor<60x20xf32> -> tensor<60x20xbf16>
  %half = ingot.scatter_add %narrow[%spread] dim = 0 : (tensor<60xi64>, tensor<60x20xbf16>) -> tensor<40x20xbf16>
  return %rows, %into, %wide, %second, %half : tensor<40x20xf32>, tensor<40x20xf32>, tensor<50x1100xf32>, tensor<2x9x6xf32>, tensor<40x20xbf16>
}
