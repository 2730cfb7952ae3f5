/* The points of a trajectory_msgs/JointTrajectory as arrays; every length is checked before it is used. */
#include "cdr.h"

#include <math.h>
#include <string.h>

typedef struct {
    const uint8_t *bytes; /* behind the encapsulation */
    size_t size, place;
} cursor;

static int step(cursor *c, size_t boundary, size_t count, void *value)
{
    const size_t place = (c->place + boundary - 1) & ~(boundary - 1);
    if (place > c->size || c->size - place < count) {
        return 0;
    }
    memcpy(value, c->bytes + place, count);
    c->place = place + count;
    return 1;
}

/* A sequence of doubles: its length, and its values where there are as many as wanted. */
static int take_doubles(cursor *c, uint32_t wanted, int32_t *count, double *row)
{
    uint32_t given;
    if (!step(c, 4, 4, &given)) {
        return 0;
    }
    *count = given > INT32_MAX ? INT32_MAX : (int32_t)given;
    for (uint32_t j = 0; j < wanted; ++j) {
        row[j] = NAN;
    }
    if (given == 0) {
        return 1;
    }
    const size_t place = (c->place + 7) & ~(size_t)7;
    if (place > c->size || (c->size - place) / 8 < given) {
        return 0;
    }
    if (given == wanted) {
        memcpy(row, c->bytes + place, 8 * (size_t)given);
    }
    c->place = place + 8 * (size_t)given;
    return 1;
}

int rd_cdr_read_points(const uint8_t *bytes, size_t size, size_t begin, uint32_t points, uint32_t joints,
                       double *times, double *rows, int32_t *counts)
{
    double unused[1];
    int32_t efforts;
    if (size < 4 || begin < 4 || begin > size) {
        return 0;
    }
    cursor c = {bytes + 4, size - 4, begin - 4};
    for (uint32_t k = 0; k < points; ++k) {
        int32_t seconds;
        uint32_t nanoseconds;
        for (uint32_t field = 0; field < 3; ++field) {
            const size_t row = (size_t)field * points + k;
            if (!take_doubles(&c, joints, &counts[row], rows + row * joints)) {
                return 0;
            }
        }
        if (!take_doubles(&c, 0, &efforts, unused) || !step(&c, 4, 4, &seconds) || !step(&c, 4, 4, &nanoseconds)) {
            return 0;
        }
        times[k] = seconds + 1e-9 * nanoseconds;
    }
    return 1;
}
