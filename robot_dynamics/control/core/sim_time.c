/* Simulated time: what a pause is, and what is a fault.
 *
 * While the clock stands still nothing is lost, however long that takes. States are lost when the clock has gone on
 * without them, or when nobody is left who publishes them. States that go on while the clock stands still, or was never
 * published, are a fault: whatever sends them is no simulator in a pause, and nothing would notice its end. States without
 * a stamp are ahead as soon as the clock stands; those whose stamp does not advance are repeated by a simulator in a pause,
 * and never are.
 *
 * The clock comes by another way than the states, and on a busy machine later than they do. A clock that merely catches up
 * with the states has not gone on without them. */
#include "loop.h"

static const int64_t LEAD = 1000000000; /* a state further ahead of the clock belongs to another time [ns] */

void rd_time_init(rd_sim_time *time)
{
    *time = (rd_sim_time){.now = RD_NO_EPOCH, .at_state = RD_NO_EPOCH, .ahead_since = RD_NO_EPOCH};
}

void rd_loop_clock(rd_loop *loop, int64_t now, int64_t steady)
{
    rd_time_tell(&loop->time, now, steady);
}

void rd_time_tell(rd_sim_time *time, int64_t now, int64_t steady)
{
    if (time->at_state != RD_NO_EPOCH && now < time->now) {
        /* The time since the last state stays: a clock that was set back counts on from there. */
        time->at_state += now - time->now;
    }
    if (now != time->now) {
        time->now = now;
        time->moved = steady;
    }
}

int rd_time_runs_away(rd_sim_time *time, int64_t stamp, int64_t steady, int64_t timeout)
{
    const int absent = time->now == RD_NO_EPOCH;
    const int stands = absent || steady - time->moved >= timeout;
    if (!stands || (!absent && stamp != 0 && stamp - time->now <= timeout)) {
        time->ahead_since = RD_NO_EPOCH;
        return 0;
    }
    if (time->ahead_since == RD_NO_EPOCH) {
        time->ahead_since = steady;
    }
    return absent || steady - time->ahead_since >= timeout;
}

/* The clock may come later than the states do: what they say of the time counts as well. */
void rd_time_note_state(rd_sim_time *time, int64_t stamp)
{
    const int64_t now = time->now;
    time->at_state = now != RD_NO_EPOCH && stamp > now && stamp - now <= LEAD ? stamp : now;
}

double rd_time_lost(const rd_sim_time *time, int64_t last_state, int64_t steady, int64_t timeout)
{
    const int64_t passed = time->at_state == RD_NO_EPOCH ? 0 : time->now - time->at_state;
    if (steady - last_state < timeout || (!time->alone && passed < timeout)) {
        return 0.0;
    }
    return 1e-9 * (double)(time->alone ? steady - last_state : passed);
}
