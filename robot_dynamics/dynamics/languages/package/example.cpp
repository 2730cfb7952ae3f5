// SPDX-License-Identifier: LICENSE_ID
// What the joints of ROBOT carry at rest: empty, and with two kilograms at the tip.

#include <ROBOT_dynamics/ROBOT_dynamics.h>

#include <array>
#include <cstdio>

int main()
{
    using Vector = std::array<double, ROBOT_joints>;
    const Vector q{}, rest{};
    Vector empty{}, loaded{};
    const double center[3] = {0.0, 0.0, 0.1}, inertia[6] = {};
    std::array<double, 10> payload{};
    ROBOT_payload(2.0, center, inertia, payload.data());
    ROBOT_inverse_dynamics(q.data(), rest.data(), rest.data(), NO_WRENCHROBOT_default_gravity, ROBOT_no_payload,
                           ROBOT_default_friction, empty.data());
    ROBOT_inverse_dynamics(q.data(), rest.data(), rest.data(), NO_WRENCHROBOT_default_gravity, payload.data(),
                           ROBOT_default_friction, loaded.data());
    for (int i = 0; i < ROBOT_joints; ++i) {
        std::printf("%-20s %10.4f %10.4f %s\n", ROBOT_joint_names[i], empty[i], loaded[i],
                    ROBOT_effort_units[i]);
    }
}
