/* sensor_msgs/JointState and std_msgs/Float64MultiArray in the encapsulation that every ROS 2 of today sends:
 * 00 01, plain CDR version 1, little endian. Alignment counts from byte 4, behind the encapsulation.
 *
 * Whatever else arrives is no error here; it is left to those who know every form of a message.
 */
#ifndef RD_CDR_H
#define RD_CDR_H

#include <stddef.h>
#include <stdint.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "messages are copied as they lie in memory, which takes a little-endian processor"
#endif

/* API */

/* The names of a controller's joints, and behind them those of measured joints, which may be missing. */
typedef struct {
    uint32_t count;             /* n + m */
    const uint32_t *lengths;    /* (n) of each, without the zero at its end */
    const char *text;           /* all names in a row, without zeros */
    uint32_t measured;          /* m */
} rd_names;

/* RD_OTHER_JOINTS: it names joints, none of them the controller's. RD_UNUSUAL: it takes a decoder that knows every form. */
enum rd_reading { RD_UNUSUAL, RD_READ, RD_OTHER_JOINTS };

typedef struct {
    int64_t stamp;              /* [ns] */
    const uint8_t *position;    /* doubles, not aligned; NULL where there are none */
    const uint8_t *velocity;
    const uint8_t *effort;
} rd_joint_state;

/* rd_reading of bytes. They are read if they are a JointState that names each of the joints once, beside others and in
 * any order, with one position for each name, and of velocities and efforts one for each or none at all. Where it names
 * measured joints only, this is RD_OTHER_JOINTS with their positions.
 * places (n + m): of the joints among the names, UINT32_MAX: it is not there. */
int rd_cdr_read_joint_state(const uint8_t *bytes, size_t size, const rd_names *joints, uint32_t *places,
                            rd_joint_state *state);

/* True if bytes begin with a time, as rosgraph_msgs/Clock does; `time` [ns]. */
int rd_cdr_read_time(const uint8_t *bytes, size_t size, int64_t *time);

/* (n) values of the joints at these places, from the doubles of a message; whether all are finite. */
int rd_cdr_pick(const uint8_t *doubles, const uint32_t *places, uint32_t n, double *values);

/* The same of those that are there; NAN: one is not. */
void rd_cdr_pick_some(const uint8_t *doubles, const uint32_t *places, uint32_t n, double *values);

/* `points` points of a JointTrajectory that begin at byte `begin`, right behind their number: times (points) [s],
 * rows (3, points, joints) of positions, velocities and accelerations, NaN where a point has not one for each
 * joint, and how many it has, counts (3, points). Whether the bytes hold them. */
int rd_cdr_read_points(const uint8_t *bytes, size_t size, size_t begin, uint32_t points, uint32_t joints,
                       double *times, double *rows, int32_t *counts);

/* A message with everything in place but the stamp, positions, velocities and efforts; its size, of which `capacity`
 * bytes are written. `places` are where their n doubles begin. */
size_t rd_cdr_write_joint_state(uint8_t *bytes, size_t capacity, uint32_t n, const uint32_t *lengths,
                                const char *text, size_t places[3]);
size_t rd_cdr_write_float64_array(uint8_t *bytes, size_t capacity, uint32_t n, size_t *data);
void rd_cdr_set_stamp(uint8_t *joint_state, int64_t stamp);

/* end of API */
#endif
