// Tests kernels that compute a matrix in tiles on a device against the interpreter: its elements in both orders, and
// reductions of tiles and of their rows, for tiles of 64 x 64 and of less where that does not divide the matrix. The
// sizes of elements differ, and a matrix of more dimensions is read by rows.
// RUN: %arrays make %t.in.npz arr_0=192x128 arr_1=48x352 arr_2=3x32x80 arr_3=80x64
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.expected.npz
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.got.npz --emulate
// RUN: %arrays compare --rtol 2e-6 --rtol-of half=1e-2 --atol 1e-5 --count 12 %t.expected.npz %t.got.npz

func.func @tiles(%large: tensor<192x128xf32> {ingot.name = "arr_0"}, %small: tensor<48x352xf32> {ingot.name = "arr_1"},
                 %batch: tensor<3x32x80xf32> {ingot.name = "arr_2"}, %other: tensor<80x64xf32> {ingot.name = "arr_3"})
    -> (tensor<192x128xf32> {ingot.name = "y"}, tensor<128x192xf32> {ingot.name = "yt"},
        tensor<3x2xf32> {ingot.name = "largest"}, tensor<3x128xf32> {ingot.name = "sums"},
        tensor<352x48xf32> {ingot.name = "zt"}, tensor<3x11xf32> {ingot.name = "least"},
        tensor<96x80xf32> {ingot.name = "w"}, tensor<80x96xf32> {ingot.name = "wt"},
        tensor<3x80xf32> {ingot.name = "columns"}, tensor<64x80xf32> {ingot.name = "half"},
        tensor<5x1xf32> {ingot.name = "tops"}, tensor<64x80xf32> {ingot.name = "plain"}) {
  %two = ingot.constant dense<2.0> : tensor<192x128xf32>
  %y = ingot.mul %large, %two : tensor<192x128xf32>
  %yt = ingot.transpose %y [1, 0] : (tensor<192x128xf32>) -> tensor<128x192xf32>
  %size = ingot.abs %large : tensor<192x128xf32>
  %tiles = ingot.reshape %size : tensor<192x128xf32> -> tensor<3x64x2x64xf32>
  %largest = ingot.reduce max %tiles dims = [1, 3] : (tensor<3x64x2x64xf32>) -> tensor<3x2xf32>
  %rows = ingot.reshape %y : tensor<192x128xf32> -> tensor<3x64x128xf32>
  %sums = ingot.reduce sum %rows dims = [1] : (tensor<3x64x128xf32>) -> tensor<3x128xf32>

  %z = ingot.neg %small : tensor<48x352xf32>
  %zt = ingot.transpose %z [1, 0] : (tensor<48x352xf32>) -> tensor<352x48xf32>
  %zTiles = ingot.reshape %small : tensor<48x352xf32> -> tensor<3x16x11x32xf32>
  %least = ingot.reduce min %zTiles dims = [1, 3] : (tensor<3x16x11x32xf32>) -> tensor<3x11xf32>

  %v = ingot.abs %batch : tensor<3x32x80xf32>
  %w = ingot.reshape %v : tensor<3x32x80xf32> -> tensor<96x80xf32>
  %wt = ingot.transpose %w [1, 0] : (tensor<96x80xf32>) -> tensor<80x96xf32>
  %columns = ingot.reduce sum %v dims = [1] : (tensor<3x32x80xf32>) -> tensor<3x80xf32>

  %half = ingot.cast %other : tensor<80x64xf32> -> tensor<80x64xbf16>
  %ht = ingot.transpose %half [1, 0] : (tensor<80x64xbf16>) -> tensor<64x80xbf16>
  %wide = ingot.cast %ht : tensor<64x80xbf16> -> tensor<64x80xf32>
  %hTiles = ingot.reshape %other : tensor<80x64xf32> -> tensor<5x16x1x64xf32>
  %tops = ingot.reduce max %hTiles dims = [1, 3] : (tensor<5x16x1x64xf32>) -> tensor<5x1xf32>
  %plain = ingot.transpose %other [1, 0] : (tensor<80x64xf32>) -> tensor<64x80xf32>
  return %y, %yt, %largest, %sums, %zt, %least, %w, %wt, %columns, %wide, %tops, %plain : tensor<192x128xf32>, tensor<128x192xf32>, tensor<3x2xf32>, tensor<3x128xf32>, tensor<352x48xf32>, tensor<3x11xf32>, tensor<96x80xf32>, tensor<80x96xf32>, tensor<3x80xf32>, tensor<64x80xf32>, tensor<5x1xf32>, tensor<64x80xf32>
}
