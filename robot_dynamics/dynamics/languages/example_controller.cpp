// Computed-torque control with the generated functions, and a simulated arm to try it on.
//
// Compile and run:
//   cc -O2 -c ROBOT_dynamics.c
//   c++ -std=c++17 -O2 example_controller.cpp ROBOT_dynamics.o -o example_controller -lm && ./example_controller
//
// The controller moves every joint by 0.5 (rad or m) in two seconds, 1000 times a second; the arm is integrated
// by a fourth-order Runge-Kutta method. The program prints the largest tracking error and fails above 1e-3.

#include "ROBOT_dynamics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace {

constexpr int kJoints = JOINTS;
using Vector = std::array<double, kJoints>;

struct State {
    Vector q{}, qd{};
};

struct Reference {
    Vector q{}, qd{}, qdd{};
};

// Quintic from rest to rest: position, velocity and acceleration at time t of a move that takes `duration`.
Reference move(const Vector &start, double distance, double t, double duration)
{
    const double s = std::min(t / duration, 1.0);
    Reference reference;
    for (int i = 0; i < kJoints; ++i) {
        reference.q[i] = start[i] + distance * s * s * s * (10.0 + s * (-15.0 + 6.0 * s));
        reference.qd[i] = distance * 30.0 * s * s * (1.0 - s) * (1.0 - s) / duration;
        reference.qdd[i] = distance * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / (duration * duration);
    }
    return reference;
}

class ComputedTorqueController {
public:
    ComputedTorqueController(double stiffness, double damping) : kp_(stiffness), kd_(damping) {}

    // Joint efforts for the measured state. No allocation: fit for a real-time loop.
    Vector update(const State &state, const Reference &reference) const
    {
        Vector acceleration, tau;
        for (int i = 0; i < kJoints; ++i) {
            acceleration[i] = reference.qdd[i] + kd_ * (reference.qd[i] - state.qd[i])
                              + kp_ * (reference.q[i] - state.q[i]);
        }
        ROBOT_inverse_dynamics(state.q.data(), state.qd.data(), acceleration.data(), tau.data());
        return tau;
    }

private:
    double kp_, kd_;
};

State derivative(const State &state, const Vector &tau)
{
    State rate;
    rate.q = state.qd;
    ROBOT_forward_dynamics(state.q.data(), state.qd.data(), tau.data(), rate.qd.data());
    return rate;
}

State advance(const State &state, const State &rate, double step)
{
    State next;
    for (int i = 0; i < kJoints; ++i) {
        next.q[i] = state.q[i] + step * rate.q[i];
        next.qd[i] = state.qd[i] + step * rate.qd[i];
    }
    return next;
}

State simulate(const State &state, const Vector &tau, double step)
{
    const State k1 = derivative(state, tau);
    const State k2 = derivative(advance(state, k1, step / 2), tau);
    const State k3 = derivative(advance(state, k2, step / 2), tau);
    const State k4 = derivative(advance(state, k3, step), tau);
    State next = advance(state, k1, step / 6);
    next = advance(next, k2, step / 3);
    next = advance(next, k3, step / 3);
    return advance(next, k4, step / 6);
}

}  // namespace

int main()
{
    constexpr double period = 1e-3, duration = 2.0, tolerance = 1e-3;
    const ComputedTorqueController controller(400.0, 40.0);
    State state;
    const Vector start = state.q;
    double worst = 0.0;
    for (int cycle = 0; cycle < static_cast<int>(duration / period); ++cycle) {
        const Reference reference = move(start, 0.5, cycle * period, duration);
        for (int i = 0; i < kJoints; ++i) {
            worst = std::fmax(worst, std::fabs(reference.q[i] - state.q[i]));
        }
        state = simulate(state, controller.update(state, reference), period);
    }
    std::printf("largest tracking error: %.3e\n", worst);
    return worst < tolerance ? 0 : 1;
}
