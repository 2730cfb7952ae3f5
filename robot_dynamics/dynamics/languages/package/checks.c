/* SPDX-License-Identifier: LICENSE_ID
 * The generated inverse dynamics against those of a recursion that shares no equation with them, as they were
 * when the package was written: other gravity, payloads and friction among them. */
#include <ROBOT_dynamics/ROBOT_dynamics.h>

#include <math.h>
#include <stdio.h>

enum { STATES = STATE_COUNT };

TABLES

int main(void)
{
    double worst = 0.0, largest = 0.0;
    for (int k = 0; k < STATES; ++k) {
        double effort[ROBOT_joints];
        ROBOT_inverse_dynamics(ARGUMENTS, effort);
        for (int i = 0; i < ROBOT_joints; ++i) {
            const double difference = fabs(effort[i] - expected[k][i]);
            worst = difference <= worst ? worst : difference;
            largest = fmax(largest, fabs(expected[k][i]));
        }
    }
    printf("largest effort %g, largest difference %g\n", largest, worst);
    return worst <= 1e-10 * largest ? 0 : 1;
}
