# SPDX-License-Identifier: Apache-2.0
"""Random graphs of the operators that interpolate or have windows, and PyTorch's functions where it has them."""

import resampling
import signals
import windows

OPERATORS = {
    "Resize": resampling.resize,
    "Resize-old": resampling.old_resize,
    "GridSample": resampling.grid_sample,
    "AffineGrid": resampling.affine_grid,
    "RoiAlign": resampling.roi_align,
    "DeformConv": resampling.deform_conv,
    "AveragePool": windows.pool("AveragePool"),
    "MaxPool": windows.pool("MaxPool"),
    "LpPool": windows.pool("LpPool"),
    "MaxUnpool": windows.unpool,
    "Col2Im": windows.columns,
    "Conv": windows.convolution(False),
    "ConvTranspose": windows.convolution(True),
    "LRN": windows.local_response,
    "DFT": signals.fourier,
    "STFT": signals.short_time,
    "Windows": signals.window_function,
    "MelWeightMatrix": signals.mel,
    "CenterCropPad": signals.crop_or_pad,
    "Pad": signals.pad,
}
