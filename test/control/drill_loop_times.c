/* When the loop does what it does, to the nanosecond: timeouts, halts, fail-safe outputs, requests; and its records.
 * Prints what is not as expected, and a count. */
#include "drilled_loop.h"

static void losses(void)
{
    begin(&settings, 0);
    states(5, 0.3);
    expect(tick(0) == 100 * MS, "the next look is at the loss, but after a tenth of a second at the latest");
    expect(tick(40 * MS) == 60 * MS + 1, "the next look is at the loss");
    expect(tick(60 * MS - 1) == 2, "shortly before the loss");
    expect(!loop.safe && core->phase == RD_HOLDING, "states are not lost before their timeout");
    expect(tick(1) == 10 * MS && loop.safe && core->phase == RD_STALE, "states are lost at their timeout");
    expect(near(latest(RD_STATES_LOST)->age, 0.1), "the loss is reported with its age");
    expect(near(core->unseen, 0.1), "the stop begins where the robot is by now");
    sent = 0;
    expect(tick(9 * MS) == MS && sent == 0, "a command of the safe output every 10 ms");
    expect(tick(MS) == 10 * MS && sent == 1, "the next command of the safe output");
    states(1, 0.3);
    expect(!loop.safe && core->phase == RD_HOLDING && latest(RD_ANSWERED)->back == 1, "it ends with the next state");
    rd_loop_tick(&loop, steady, steady);
    steady += 100 * MS; /* nobody looks meanwhile */
    sent = 0;
    state_at(0.3, 0.0, steady);
    expect(sent == 1 && !loop.safe && latest(RD_STATES_LOST)->back == 1, "a state after a loss that nobody saw holds");
    expect(near(core->unseen, 0.0), "and is itself where the robot is");
    begin(&settings, 1);
    states(5, 0.3);
    expect(tick(0) == 100 * MS && tick(900 * MS) == 100 * MS && !loop.safe, "in lockstep no age is judged");
    begin(&settings, 0);
    expect(tick(0) == 100 * MS && tick(S) == 100 * MS && !loop.safe, "before the first state nothing is lost");
}

static void troubles(void)
{
    begin(&settings, 0);
    states(5, 0.3);
    moving_states(100, 0.3, 20.0);
    expect(near(last_effort, 3.0 * (1.0 - 0.099)), "without an effort the load fades from the first state on");
    sent = 0;
    tick(100 * MS);
    expect(sent == 1 && near(last_effort, 3.0 * (1.0 - 0.099)), "the fail-safe output goes on from there");
    tick(200 * MS);
    expect(near(last_effort, 3.0 * (1.0 - 0.299)), "and fades");
    rd_loop_request(&loop, RD_HALT);
    tick(0);
    tick(10 * MS);
    expect(near(last_effort, 3.0 * (1.0 - 0.309)) && !loop.active, "a halt does not begin it again");
    begin(&settings, 0);
    states(5, 0.3);
    tick(100 * MS);
    tick(500 * MS);
    expect(near(last_effort, 1.5), "lost states: half of the load after half of the time");
    states(3, 0.3);
    moving_states(2, 0.3, 20.0);
    expect(near(last_effort, 3.0 * 0.999), "a later trouble begins anew");
}

static void halts(void)
{
    double times[2];
    begin(&settings, 0);
    states(5, 0.3);
    rd_loop_request(&loop, RD_HALT);
    tick(0);
    expect(!loop.active && loop.safe && loop.shown_halting && !loop.shown_active, "a halt at rest begins at once");
    expect(core->held == 0, "no brakes hold");
    begin(&braked, 0);
    states(5, 0.3);
    rd_loop_request(&loop, RD_HALT);
    expect(tick(0) == 100 * MS && loop.active && !loop.shown_active && loop.shown_halting, "beside brakes it carries on");
    states(1, 0.3);
    expect(tick(49 * MS) == 51 * MS + 1, "the next look is when states are lost");
    states(90, 0.3);
    expect(tick(0) == 60 * MS, "or when the brakes hold");
    rd_loop_request(&loop, RD_HALT);
    states(1, 0.3);
    tick(59 * MS - 1);
    expect(loop.active && !loop.safe, "until the brakes hold");
    tick(1);
    expect(!loop.active && loop.safe && core->held == 1, "then it ends, 0.2 s after the first request");
    begin(&braked, 1);
    states(5, 0.3);
    rd_loop_request(&loop, RD_HALT);
    tick(0);
    expect(!loop.active, "in lockstep nobody waits for brakes");
    begin(&braked, 0);
    states(5, 0.3);
    tick(100 * MS);
    rd_loop_request(&loop, RD_HALT);
    tick(0);
    expect(!loop.active && core->held == 0, "without control nobody waits for brakes");
    begin(&settings, 0);
    states(5, 0.2);
    const rd_plan slow = plan_of(times, core->time + 0.001, 1.0);
    rd_core_offer_plan(core, &slow);
    follow(500);
    rd_loop_request(&loop, RD_HALT);
    follow(1);
    const uint64_t held = core->epoch;
    expect(loop.active && core->phase == RD_STOPPING, "a halt in motion comes to rest first");
    rd_loop_request(&loop, RD_HALT);
    follow(1);
    expect(core->epoch == held, "which a second request does not begin again");
    tick(99 * MS);
    tick(MS);
    expect(!loop.active && loop.safe, "and ends with the states");
    begin(&settings, 0);
    states(5, 0.2);
    const rd_plan dropped = plan_of(times, core->time + 0.001, 1.0);
    rd_core_offer_plan(core, &dropped);
    follow(500);
    rd_loop_request(&loop, RD_HALT);
    follow(1);
    rd_loop_offer(&loop, NULL);
    sent = 0;
    tick(0);
    expect(!loop.active && loop.safe == session && !loop.session && sent == 1, "a core that is taken away ends safely");
    silence(&loop, 1.0);
    expect(loop.safe == session && sent > 90, "by a safe output that goes on");
    silence(&loop, 0.5);
    expect(!loop.safe, "until it is zero");
    const double gently[1] = {1e-3};
    rd_settings gentle = settings;
    gentle.hold_deceleration = gentle.stop_deceleration = gently;
    begin(&gentle, 0);
    states(5, 0.2);
    const rd_plan again = plan_of(times, core->time + 0.001, 10.0);
    rd_core_offer_plan(core, &again);
    follow(5000);
    rd_loop_request(&loop, RD_HALT);
    tick(0);
    follow(3000);
    expect(loop.active && core->phase == RD_STOPPING, "a halt waits 3 s until the robot rests");
    tick(1);
    expect(!loop.active, "but no longer");
    begin(&settings, 0); /* the last core has gone with its settings */
}

static void requests(void)
{
    double times[2];
    begin(&settings, 0);
    states(5, 0.2);
    rd_loop_request(&loop, RD_LATCH);
    expect(loop.asked != loop.done, "a request waits");
    tick(0);
    expect(loop.asked == loop.done && core->trip.latched, "and is met");
    states(5, 0.2);
    expect(core->trip.latched, "a latched stop stays");
    rd_loop_request(&loop, RD_RESET_FAULT);
    tick(0);
    expect(!core->trip.latched, "until the fault is reset");
    states(5, 0.2);
    const rd_plan plan = plan_of(times, core->time + 0.5, 1.0);
    rd_core_offer_plan(core, &plan);
    tick(0);
    expect(core->considered != plan.number, "a plan waits for a state");
    rd_loop_request(&loop, RD_TAKE_PLAN);
    tick(0);
    expect(core->considered == plan.number && core->verdict == RD_ACCEPTED, "or for a request");
    follow(700);
    rd_loop_request(&loop, RD_EMERGENCY_STOP);
    follow(1);
    expect(core->phase == RD_STOPPING && core->stopping.kind == RD_STOP_EMERGENCY, "an emergency stop");
    rd_loop_request(&loop, RD_HOLD);
    tick(0);
    expect(core->stopping.kind == RD_STOP_EMERGENCY, "which a hold does not weaken");
    rd_loop_offer(&loop, NULL);
    for (int what = RD_HOLD; what <= RD_LATCH; ++what) {
        rd_loop_request(&loop, what);
        tick(0);
    }
    expect(!loop.session && loop.asked == loop.done, "without a core requests are met by nothing");
    begin(&settings, 0);
    rd_loop_offer(&loop, NULL);
    rd_loop_request(&loop, RD_ACTIVATE);
    expect(tick(0) == 100 * MS && loop.active, "activation without a core waits for it");
}

static void fronts(void)
{
    double times[2];
    const double place = 0.2, still = 0.0;
    begin(&settings, 0);
    states(5, place);
    const rd_plan plan = plan_of(times, core->time + 0.001, 3.0);
    rd_core_offer_plan(core, &plan);
    rd_motion here = {(double[1]){0}, (double[1]){0}, (double[1]){0}};
    int64_t busy = 0;
    for (int i = 0; i < 4200 && !loop.safe; ++i) {
        steady += MS;
        rd_refer(core, core->time + 0.001, &here);
        rd_loop_state(&loop, steady, steady, here.position, here.velocity);
        busy = core->current.plan ? steady : busy;
        rd_loop_tick(&loop, steady, steady);
    }
    expect(steady - busy == 1002 * (int64_t)MS, "a front may be silent for a second after what it has planned");
    expect(near(latest(RD_FRONT_LOST)->age, 1.001) && loop.safe_for_front, "its silence is reported");
    sent = 0;
    steady += MS;
    rd_loop_state(&loop, steady, steady, &here.position[0], &still);
    expect(sent == 0 && loop.safe, "states do not end the safe output of a silent front");
    states(1, here.position[0]);
    expect(sent >= 1 && !loop.safe, "a sign of life does");
    rd_settings patient = settings;
    patient.front_timeout = 0.0;
    begin(&patient, 0);
    states(5, place);
    for (int i = 0; i < 3000; ++i) {
        steady += MS;
        rd_loop_state(&loop, steady, steady, &place, &still);
        rd_loop_tick(&loop, steady, steady);
    }
    expect(!loop.safe, "without a timeout it may be silent for ever");
}

static void ages(void)
{
    begin(&settings, 0);
    states(5, 0.2);
    tick(100 * MS);
    steady += 100 * MS;
    sent = 0;
    state_at(0.2, 0.0, steady - 100 * MS);
    expect(sent == 0 && loop.safe, "a state that was measured before the loss is no place to hold");
    state_at(0.2, 0.0, steady - 100 * MS + 1);
    expect(sent == 1 && !loop.safe, "one of less than the timeout is");
    tick(100 * MS);
    sent = 0;
    for (int i = 0; i <= 100; ++i) {
        state_at(0.2, 0.0, steady - 400 * MS);
        steady += 10 * MS;
    }
    expect(sent == 0 && loop.safe, "old states wait a second");
    state_at(0.2, 0.0, steady - 400 * MS);
    expect(sent == 1 && !loop.safe, "then they are of another clock");
    for (int i = 0; i < 20000; ++i) { /* their clock falls back by half a second */
        offset = i < 10000 ? i * 50000 : 500 * MS;
        states(1, 0.2);
    }
    tick(100 * MS);
    steady += 50 * MS;
    sent = 0;
    state_at(0.2, 0.0, steady - 590 * MS);
    expect(sent == 1 && !loop.safe, "a clock that falls back is followed");
    tick(100 * MS);
    sent = 0;
    state_at(0.2, 0.0, steady - 700 * MS);
    expect(sent == 0 && loop.safe, "and states are old by it");
    state_at(0.2, 0.0, 0);
    expect(sent == 1 && !loop.safe, "states without a stamp are not judged");
    offset = 0;
    begin(&settings, 0);
    states(5, 0.2);
    expect(loop.ahead == steady - (int64_t)(1e9 * core->time) && loop.shown_ahead == loop.ahead, "clocks are compared");
    state_at(0.2, 0.0, INT64_C(3000000000) * S);
    expect(loop.ahead == RD_NO_EPOCH, "but not with one of another time");
}

static void simulations(void)
{
    const double place = 0.2, still = 0.0;
    int64_t simulated = 5 * (int64_t)S;
    begin(&settings, 0);
    loop.time.used = 1;
    for (int i = 0; i < 10; ++i) {
        steady += MS;
        atomic_store(&loop.front_seen, steady);
        rd_loop_clock(&loop, simulated += MS, steady);
        rd_loop_state(&loop, i % 2 ? 0 : simulated, steady, &place, &still);
    }
    expect(core->phase == RD_HOLDING && near(core->time, 0.009), "states without a stamp are of the clock's time");
    for (int i = 0; i < 500; ++i) {
        tick(MS);
    }
    expect(!loop.safe, "in a pause nothing is lost");
    latest(RD_STATES_LOST);
    steady += MS;
    atomic_store(&loop.front_seen, steady);
    rd_loop_clock(&loop, simulated += 150 * MS, steady);
    tick(0);
    expect(loop.safe && near(core->unseen, 0.0), "states are lost by the clock, and the robot is where it was");
    expect(near(latest(RD_STATES_LOST)->age, 0.15), "for as long as it says");
    rd_loop_state(&loop, simulated, steady, &place, &still);
    expect(!loop.safe, "until the next state");
    const int64_t stood = steady;
    for (int i = 0; i < 300; ++i) {
        steady += MS;
        atomic_store(&loop.front_seen, steady);
        rd_loop_state(&loop, simulated + 200 * (int64_t)MS + i, steady, &place, &still);
        if (loop.safe) {
            break;
        }
    }
    expect(steady - stood == 200 * MS, "states that run away from the clock are lost after two timeouts");
    expect(near(latest(RD_CLOCK_STANDS)->age, 0.2), "the clock has stood so long");
    begin(&settings, 0);
    loop.time.used = 1;
    for (int i = 0; i < 102; ++i) {
        steady += MS;
        rd_loop_state(&loop, simulated + i * MS, steady, &place, &still);
        if (i == 99) {
            expect(latest(RD_CLOCK_STANDS)->kind == -1, "without a clock nothing is reported before the timeout");
        }
    }
    expect(near(latest(RD_CLOCK_STANDS)->age, -1.0) && !loop.safe && core->phase == RD_WAITING, "then that there is none");
}

static void estimates(void)
{
    double place = 0.3;
    begin(&settings, 0);
    states(5, place);
    for (int i = 0; i < 50; ++i) {
        steady += MS;
        place += 0.001;
        atomic_store(&loop.front_seen, steady);
        rd_loop_state(&loop, steady, steady, &place, NULL);
    }
    expect(fabs(core->state.velocity[0] - 1.0) < 1e-3, "velocities that no state has are those of the positions");
}

static void hangs(void)
{
    const double left = 2.5, rest[2] = {0.25, 0.5};
    begin(&settings, 0);
    states(5, 0.3);
    steady += 300 * MS;
    rd_loop_hung(&loop, steady, steady - 200 * MS, 0.3, &left, rest);
    expect(loop.safe == session && core->phase == RD_STALE && near(core->left[0], 2.5), "a watchdog has taken over");
    expect(near(latest(RD_LOOP_HUNG)->age, 0.3), "which is reported");
    tick(0);
    expect(near(last_effort, 3.0 * 0.8), "its safe output goes on");
    rd_loop_hung(&loop, steady, steady, 0.3, &left, rest);
    tick(0);
    expect(near(last_effort, 3.0 * 0.8), "also where it was active already");
    rd_settings drives = settings;
    drives.command = RD_COMMAND_VELOCITY;
    drives.setpoint_deceleration = 1.0;
    begin(&drives, 0);
    states(5, 0.3);
    rd_loop_hung(&loop, steady, steady, 0.3, &left, rest);
    expect(near(core->setpoints.position[0], 0.25) && near(core->setpoints.velocity[0], 0.5), "from its setpoints");
    rd_loop_request(&loop, RD_HALT); /* setpoints stop within 0.5 s, and have done so for a while when it ends */
    silence(&loop, 1.1);
    expect(!loop.safe && core->setpoints.velocity[0] == 0.0, "setpoints rest when the safe output ends");
    drives.setpoint_deceleration = 0.1;
    begin(&drives, 0);
    states(5, 0.3);
    rd_loop_hung(&loop, steady, steady, 0.3, &left, rest);
    rd_loop_request(&loop, RD_HALT);
    silence(&loop, 4.9);
    expect(loop.safe == session && core->setpoints.velocity[0] > 0.0, "it goes on until they do");
    silence(&loop, 0.2);
    expect(!loop.safe && core->setpoints.velocity[0] == 0.0, "and no longer");
    begin(&settings, 0);
    rd_loop_offer(&loop, NULL);
    tick(0);
    rd_loop_hung(&loop, steady, steady, 0.3, &left, rest);
    expect(!loop.safe, "without a core there is nothing to do");
}

static void records(void)
{
    begin(&settings, 0);
    states(5, 0.3);
    latest(RD_ANSWERED);
    expect(!session->ring.urgent, "answers are not urgent");
    states(1, 0.5);
    expect(session->ring.urgent, "a jump is");
    states(5, 0.5);
    expect(session->ring.urgent, "until somebody has looked");
    session->ring.urgent = 0;
    moving_states(1, 0.5, 20.0);
    expect(session->ring.urgent, "no effort is");
    states(2, 0.5);
    session->ring.urgent = 0;
    tick(101 * MS);
    expect(session->ring.urgent, "a loss is");
    session->ring.urgent = 0;
    states(1, 0.5);
    expect(session->ring.urgent, "its end is");
    session->ring.urgent = 0;
    rd_core_protect(core, RD_DISPUTE);
    rd_note_trip(core, RD_DISPUTE, 0, 1.0, 0.5, 1);
    latest(RD_ANSWERED);
    states(1, 0.5);
    expect(session->ring.urgent, "a trip is");
    expect(latest(RD_ANSWERED)->trip.rule == RD_DISPUTE, "which is in its record");
    states(1, 0.5);
    expect(latest(RD_ANSWERED)->trip.rule == RD_NO_RULE, "and in no other one");
    const size_t size = rd_session_record_size(session);
    static uint8_t many[100 * 256];
    states(7, 0.5);
    expect(rd_session_read_many(session, many, 4) == 4, "at most as many as there is room for");
    const double first = ((rd_record *)many)->time;
    expect(near(((rd_record *)(many + 3 * size))->time, first + 0.003), "one behind the other");
    expect(rd_session_read_many(session, many, 100) == 3, "the others");
    expect(rd_session_read_many(session, many, 100) == 0, "no more");
    const int slots[3] = {64, 1000, 4096}, asked[3] = {1, 1000, 100000};
    for (int i = 0; i < 3; ++i) {
        rd_session *other = rd_session_new(core, (size_t)asked[i] * size);
        expect((int)other->ring.count == slots[i], "a ring has 64 to 4096 records");
        for (int k = 0; k < 5000; ++k) {
            const rd_record about = {.kind = k < 4500 ? RD_ANSWERED : RD_STATES_LOST, .discontinuity = k > 4200 && k < 4500};
            rd_session_note(other, &about);
        }
        int plain = 0, jumps = 0, lost = 0;
        while (rd_session_read(other, (rd_record *)record)) {
            const rd_record *one = (const rd_record *)record;
            plain += one->kind == RD_ANSWERED && !one->discontinuity;
            jumps += one->discontinuity != 0;
            lost += one->kind == RD_STATES_LOST;
        }
        /* The first one has a trip, which nothing is kept from. */
        expect(plain == slots[i] - 32 && jumps == 16 && lost == 16, "room is kept for jumps, and for losses");
        expect((int)rd_session_lost(other) == 5000 - slots[i], "what found no room is counted");
        rd_session_free(other);
    }
    rd_session_free(NULL);
}

int main(void)
{
    make_settings();
    losses();
    troubles();
    halts();
    requests();
    fronts();
    ages();
    simulations();
    estimates();
    hangs();
    records();
    printf("%d expectations\n", expected);
    rd_session_free(session);
    rd_core_free(core);
    return 0;
}
