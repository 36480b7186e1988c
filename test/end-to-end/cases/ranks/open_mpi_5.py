# SPDX-License-Identifier: Apache-2.0
"""Ranks under Open MPI 5, whose library has the interface of version 4, with which trainers are compiled."""

from harness import case
from launch import check_bits, open_mpi_5


@case("ranks-open-mpi-5")
def equal_to_open_mpi_4(ingot):
    check_bits(ingot, open_mpi_5, r"Open MPI v5[0-9.]+.*\), as OMPI_COMM_WORLD_RANK and ")
