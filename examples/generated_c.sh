#!/usr/bin/env bash
# The model as C that needs no library, and a controller in C++ around it: the PUMA 560 makes a move.
#   bash examples/generated_c.sh [FOLDER]
set -euo pipefail
folder=${1:-generated}
urdf=$(python3 -c 'from robot_dynamics.resources import resource; print(resource("urdf/puma560.urdf"))')
robot_dynamics generate "$urdf" --language c -o "$folder"
cd "$folder"
cc -O2 -c puma560_dynamics.c
c++ -std=c++17 -O2 example_controller.cpp puma560_dynamics.o -o example_controller -lm
./example_controller
