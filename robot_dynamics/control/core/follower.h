/* An arm under references that come cycle by cycle: the loop for a caller that brings the state and the reference
 * of every cycle, and sends the answer himself. C++ can read this header.
 *
 * No allocation after rd_follower_new. One thread at a time runs _activate, _update and _deactivate; another one may
 * hand over settings and read the records.
 */
#ifndef RD_FOLLOWER_H
#define RD_FOLLOWER_H

#include "loop.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rd_follower rd_follower;

enum { RD_FOLLOWER_ARRAYS = RD_RECORD_ARRAYS + 2 };

/* Inputs of a cycle. */
typedef struct {
    int64_t stamp;                /* of the state [ns] */
    int64_t steady;               /* steady time [ns] */
    const double *position;       /* (n) measured; NULL or not finite: no state in this cycle */
    const double *velocity;       /* (n) measured; NULL: estimated from the positions */
    const double *effort;         /* (n) measured; NULL: none */
    const double *reference[3];   /* position, velocity, acceleration (n); NULL or not finite: no reference. A joint that has
                                   * NaN in all three beside others that have none holds where it is */
    const double *beside[2];      /* position and velocity (m) of measured joints; NULL: none, NAN: not of this joint */
    int leads;                    /* the reference is the one for the next period, not for now */
    double most_step;             /* of a reference from the last one, or from where the arm holds [rad or m] */
} rd_cycle;

/* A follower that is not active, and allocates everything that it needs; NULL without memory. */
rd_follower *rd_follower_new(int n, const rd_settings *settings, size_t record_bytes);
void rd_follower_free(rd_follower *follower);

/* From now on it controls: it holds where the first state finds the arm. With `lockstep` (simulated time) the age of
 * the states is not judged. */
void rd_follower_activate(rd_follower *follower, int64_t steady, int lockstep);
/* The efforts (n) of this cycle; zero before the first state.
 *
 * A reference that is finite, and no more than most_step from where the arm holds, is followed where its velocity is the
 * arm's, too. Without one, or after a longer step, the arm stops on the last one's line until one is near again. */
const double *rd_follower_update(rd_follower *follower, const rd_cycle *cycle);
/* Position and velocity (n) beside the efforts of the last _update or _deactivate, for drives with a loop of their own; NaN
 * and 0 before the first state. */
void rd_follower_drive_reference(const rd_follower *follower, double *position, double *velocity);
/* The time that a cycle takes whose simulator waits for it, from the step of the clock since the last cycle and the period of
 * the cycles [ns]. Steps may be too short, or zero, and longer ones follow; `ahead` is the sum of what is still to come. */
int64_t rd_time_of_cycle(int64_t *ahead, int64_t clock, int64_t cycle);
/* Time since the fail-safe output began [s]; 0 while it is not active. */
double rd_follower_fault_age(const rd_follower *follower);
/* True if the fail-safe output of a fault has been played to its end. */
int rd_follower_has_faded(const rd_follower *follower);
/* The efforts (n) to leave behind: those with which the fail-safe output begins, or the last ones of a fail-safe output
 * that is active, but for those that brake the arm. */
const double *rd_follower_deactivate(rd_follower *follower);

/* From another thread: slow down with the deceleration of an emergency stop and stay there until _reset_fault. Where the
 * follower is not active, its next activation begins so. */
void rd_follower_emergency_stop(rd_follower *follower);
/* True if such a stop has been asked for since the last _reset_fault that succeeded. */
int rd_follower_is_stopped(const rd_follower *follower);
/* From another thread, one at a time with _standing: end an emergency stop or a protective stop; 0 while the arm moves: it
 * must rest first. References are followed again when they are at rest where the arm is. */
int rd_follower_reset_fault(rd_follower *follower);
/* From another thread, one at a time with _standing: the wrench (6) of rd_core_push for so long [s]; and the hold-to-run
 * button of rd_core_guide, pressed for so long or released. After guiding, references are followed again when they are at
 * rest where the arm is. */
void rd_follower_push(rd_follower *follower, const double *wrench, double duration);
void rd_follower_guide(rd_follower *follower, int pressed, double duration);
/* From the same thread: accelerations (m) that the controller of the measured joints intends, for so long [s]. */
void rd_follower_accelerate(rd_follower *follower, const double *acceleration, double duration);
/* From another thread, one at a time with _standing: whether a protective stop is in force that leaves model or states in
 * doubt; see rd_rule_doubts. */
int rd_follower_doubts(rd_follower *follower);
/* From another thread, one at a time with _oldest_settings: where the arm is (n), its external efforts (n), and the period
 * of the states unless `period` has one, 0 before the fifth state [s]; whether it is under control. */
int rd_follower_standing(rd_follower *follower, double *position, double *external, double *period);
/* From another thread, one at a time with _standing: the largest value of each rule so far (RD_RULES), as a share of its
 * threshold. */
void rd_follower_largest(rd_follower *follower, double *largest);
/* From another thread. Settings must stay until the oldest that are in use are newer ones. */
void rd_follower_offer_settings(rd_follower *follower, const rd_settings *settings);
uint64_t rd_follower_oldest_settings(rd_follower *follower);
/* From another thread, one at a time with _standing: whether measured velocities are zeros while joints move, and are
 * estimated from the positions instead. It stays over losses and activations until another velocity is measured. */
int rd_follower_estimates_velocity(rd_follower *follower);
/* The oldest record that has not been read, and its RD_FOLLOWER_ARRAYS arrays (n): those of a record, then external efforts
 * and their thresholds. Whether there is one. */
int rd_follower_read(rd_follower *follower, rd_record *record, double *arrays);

#ifdef __cplusplus
}
#endif
#endif
