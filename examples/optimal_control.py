"""A swing of the PUMA 560 within torque limits that are too small to lift it slowly: CasADi and IPOPT.

python examples/optimal_control.py [plot.png]

The shoulder may give half of what it takes to hold the stretched arm, so the arm swings up, its elbow folded;
limits of position hold, those of velocity do not. Positions, velocities and accelerations at N + 1 times are
the unknowns, tied together by cubic steps; the generated inverse dynamics, an external function with its
Jacobian, turn them into torques. Needs casadi, a C compiler and, for the plot, matplotlib. IPOPT approximates
the Hessian: exact ones would need the Jacobian of the Jacobian.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import casadi as ca
import numpy as np

import robot_dynamics as rd
from robot_dynamics.cli.main import main
from robot_dynamics.resources import resource

STEPS, DURATION, SHARE = 30, 1.0, 0.5
URDF = resource("urdf/puma560.urdf")
chain = rd.load_urdf(URDF)
dynamics = rd.compile_dynamics(chain, friction=False)
n = chain.dof

folder = Path(tempfile.mkdtemp())
arguments = ["--language", "casadi", "--quantity", "inverse_dynamics", "--quantity", "forward_dynamics"]
assert main(["generate", str(URDF), *arguments, "-o", str(folder)]) == 0
library = folder / "puma560_casadi.so"
source = str(folder / "puma560_casadi.c")
subprocess.run(["cc", "-O2", "-fPIC", "-shared", source, "-o", str(library), "-lm"], check=True)
inverse_dynamics = ca.external("puma560_inverse_dynamics", str(library))
forward_dynamics = ca.external("puma560_forward_dynamics", str(library))

# From the lowest to the highest pose within the limits of shoulder and elbow.
bounds = [chain.driving_joint(j).limits for j in range(n)]
lower, upper, limits = np.array([[b.lower, b.upper, b.effort] for b in bounds]).T
angles = np.linspace(lower + 0.1, upper - 0.1, 73)
poses = np.array([[0.0, a, b, 0.0, 0.0, 0.0] for a in angles[:, 1] for b in angles[:, 2]])
height = dynamics.energy(poses, 0.0 * poses)[:, 1]
hanging, upright = poses[height.argmin()], poses[height.argmax()]
heaviest = np.abs(dynamics.gravity(poses)).max(axis=0)
limits[1] = min(limits[1], SHARE * heaviest[1])

step = DURATION / STEPS
q, qd, qdd = (ca.MX.sym(name, n, STEPS + 1) for name in ("q", "qd", "qdd"))
tau = inverse_dynamics.map(STEPS + 1)(q, qd, qdd) / limits
ahead = q[:, :-1] + step * qd[:, :-1] + step**2 / 6.0 * (2.0 * qdd[:, :-1] + qdd[:, 1:])
faster = qd[:, :-1] + step / 2.0 * (qdd[:, :-1] + qdd[:, 1:])
ends = [q[:, 0] - hanging, qd[:, 0], q[:, -1] - upright, qd[:, -1]]
tied = ca.vertcat(ca.vec(q[:, 1:] - ahead), ca.vec(qd[:, 1:] - faster), *ends)
problem = {
    "x": ca.vertcat(ca.vec(q), ca.vec(qd), ca.vec(qdd)),
    "f": step * ca.sumsqr(tau),
    "g": ca.vertcat(tied, ca.vec(tau)),
}
options = {"ipopt.hessian_approximation": "limited-memory", "ipopt.print_level": 0, "print_time": False}
solver = ca.nlpsol("swing", "ipopt", problem, {**options, "ipopt.max_iter": 2000, "ipopt.tol": 1e-5})
free = np.full(2 * n * (STEPS + 1), np.inf)
guess = np.linspace(hanging, upright, STEPS + 1)
guess[:, 2] += 1.2 * np.sin(np.linspace(0.0, np.pi, STEPS + 1))  # the elbow folds on the way
equal, bounded = np.zeros(tied.numel()), np.ones(n * (STEPS + 1))
solution = solver(
    x0=np.concatenate([guess.ravel(), np.zeros(2 * n * (STEPS + 1))]),
    lbx=np.concatenate([np.tile(lower, STEPS + 1), -free]),
    ubx=np.concatenate([np.tile(upper, STEPS + 1), free]),
    lbg=np.concatenate([equal, -bounded]),
    ubg=np.concatenate([equal, bounded]),
)
stats = solver.stats()
print(f"{stats['return_status']} after {stats['iter_count']} iterations")

found = np.array(solution["x"]).reshape(3, STEPS + 1, n)
efforts = dynamics.inverse_dynamics(*found)
share = np.abs(efforts / limits).max(axis=0)
print("largest share of the torque limits:", np.round(share, 3))
print(
    f"the shoulder holds {heaviest[1]:.1f} N m at most, and was given {np.abs(efforts[:, 1]).max():.1f} N m"
)
back = np.array(forward_dynamics.map(STEPS + 1)(found[0].T, found[1].T, efforts.T)).T
print(f"forward dynamics give the accelerations again to {np.abs(back - found[2]).max():.1e} rad/s^2")
print("shoulder and elbow [rad]:", *(f"{a:.2f},{b:.2f}" for a, b in found[0][::5, 1:3]))
reached = np.abs(found[0][-1] - upright).max() < 1e-6 and share.max() < 1.0 + 1e-6

if len(sys.argv) > 1:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 6.0), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.3))
    space = figure.add_subplot(grid[:, 0], projection="3d")
    links = [joint.link for joint in chain.joints]
    poses = dynamics.forward_kinematics(found[0], frames=[*links, chain.tip])
    for k in range(0, STEPS + 1, 3):
        places = np.vstack([np.zeros(3), poses[k, :, :3, 3]])
        space.plot(*places.T, "o-", color=str(0.85 - 0.85 * k / STEPS), markersize=2)
    space.set_aspect("equal")
    space.view_init(elev=15.0, azim=-60.0)
    space.set_xticks([-0.3, 0.0, 0.3])
    space.set_yticks([0.0, 0.4])
    space.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", title="every 0.1 s, the last one black")
    t = step * np.arange(STEPS + 1)
    for row, values, label in ((0, found[0], "position [rad]"), (1, efforts / limits, "torque / limit")):
        axes = figure.add_subplot(grid[row, 1])
        axes.plot(t, values, label=chain.joint_names)
        axes.set_ylabel(label)
        axes.grid(True, alpha=0.3)
    axes.hlines([-1.0, 1.0], 0.0, DURATION, "k", "--", linewidth=1.0)
    axes.set_xlabel("t [s]")
    axes.legend(ncols=6, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.2))
    figure.savefig(sys.argv[1], dpi=100)
sys.exit(0 if stats["success"] and reached else 1)
