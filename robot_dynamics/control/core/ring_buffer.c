/* Sessions and their records: a ring that one thread writes and another reads, without locks. */
#include "loop.h"

#include <stdlib.h>

enum { LEAST_SLOTS = 64, MOST_SLOTS = 4096 };

rd_session *rd_session_new(rd_core *core, size_t ring_bytes)
{
    rd_session *session = calloc(1, sizeof *session);
    const size_t n = (size_t)core->n;
    if (!session) {
        return NULL;
    }
    session->core = core;
    atomic_init(&session->epoch, RD_NO_EPOCH);
    rd_ring *ring = &session->ring;
    ring->size = sizeof(rd_record) + (RD_RECORD_ARRAYS * n + rd_telemetry(core->settings->machine, core->n)) * sizeof(double);
    ring->count = ring_bytes / ring->size;
    ring->count = ring->count < LEAST_SLOTS ? LEAST_SLOTS : ring->count > MOST_SLOTS ? MOST_SLOTS : ring->count;
    ring->slots = calloc(ring->count, ring->size);
    if (!ring->slots) {
        rd_session_free(session);
        return NULL;
    }
    return session;
}

void rd_session_free(rd_session *session)
{
    if (session) {
        free(session->ring.slots);
        free(session);
    }
}

/* The slot to fill next; NULL where the reader is so far behind that no more than `spare` slots are free. */
rd_record *rd_ring_slot(rd_ring *ring, size_t spare)
{
    const size_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
    if (written - atomic_load_explicit(&ring->read, memory_order_acquire) + spare >= ring->count) {
        atomic_fetch_add_explicit(&ring->lost, 1, memory_order_relaxed);
        return NULL;
    }
    return (rd_record *)(ring->slots + (written % ring->count) * ring->size);
}

void rd_ring_commit(rd_ring *ring)
{
    atomic_fetch_add_explicit(&ring->written, 1, memory_order_release);
}

/* Slots that a record leaves free. A reader that hangs for long misses cycles; that states jumped it misses only after
 * many of them, and that the safe output began or ended not at all: those come no faster than their timeouts. */
static size_t spare(const rd_record *about, int tripped)
{
    enum { FOR_JUMPS = 16, FOR_LOSSES = 16 };
    if (about->kind >= RD_STATES_LOST || about->back || tripped) {
        return 0;
    }
    return about->discontinuity ? FOR_LOSSES : FOR_JUMPS + FOR_LOSSES;
}

void rd_session_note(rd_session *session, const rd_record *about)
{
    const rd_core *core = session->core;
    const int tripped = core->trip.count != session->trips;
    rd_record *slot = rd_ring_slot(&session->ring, spare(about, tripped));
    if (!slot) {
        return;
    }
    const double *arrays[RD_RECORD_ARRAYS] = {
        core->state.position, core->state.velocity, core->reference.position, core->reference.velocity,
        core->reference.acceleration, core->unlimited, core->effort,
    };
    *slot = *about;
    if (tripped) {
        slot->trip = core->trip;
        session->trips = core->trip.count;
    }
    double *place = (double *)(slot + 1);
    for (int i = 0; i < RD_RECORD_ARRAYS; ++i, place += core->n) {
        rd_copy(place, arrays[i], core->n);
    }
    if (core->settings->machine->report) {
        core->settings->machine->report(core, place);
    }
    rd_ring_commit(&session->ring);
    session->ring.urgent |= about->kind >= RD_NO_EFFORT || about->back || about->discontinuity || tripped;
}

int rd_ring_read(rd_ring *ring, rd_record *record)
{
    const size_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);
    if (read == atomic_load_explicit(&ring->written, memory_order_acquire)) {
        return 0;
    }
    memcpy(record, ring->slots + (read % ring->count) * ring->size, ring->size);
    atomic_store_explicit(&ring->read, read + 1, memory_order_release);
    return 1;
}

/* For callers that do not know the structures. */

int rd_session_read(rd_session *session, rd_record *record)
{
    return rd_ring_read(&session->ring, record);
}

size_t rd_session_read_many(rd_session *session, void *records, size_t most)
{
    uint8_t *place = records;
    size_t count = 0;
    while (count < most && rd_ring_read(&session->ring, (rd_record *)place)) {
        place += session->ring.size;
        ++count;
    }
    return count;
}

uint64_t rd_session_lost(rd_session *session)
{
    return atomic_load(&session->ring.lost);
}

size_t rd_session_record_size(rd_session *session)
{
    return session->ring.size;
}

int64_t rd_session_epoch(rd_session *session)
{
    return atomic_load(&session->epoch);
}

void rd_session_attach(rd_session *session, void *messages)
{
    session->messages = messages;
}
