# SPDX-License-Identifier: Apache-2.0
from ingot_trainer import ingotc

ingotc()
