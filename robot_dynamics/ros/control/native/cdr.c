/* See cdr.h. Every length is checked against what is left before it is used. */
#include "cdr.h"

#include <math.h>
#include <string.h>

enum { ENCAPSULATION = 4 };

typedef struct {
    const uint8_t *bytes;   /* behind the encapsulation */
    size_t size, place;
} reader;

/* Step over padding; whether `count` bytes follow. */
static int align(reader *r, size_t boundary, size_t count)
{
    const size_t place = (r->place + boundary - 1) & ~(boundary - 1);
    if (place > r->size || r->size - place < count) {
        return 0;
    }
    r->place = place;
    return 1;
}

static int read_u32(reader *r, uint32_t *value)
{
    if (!align(r, 4, 4)) {
        return 0;
    }
    memcpy(value, r->bytes + r->place, 4);
    r->place += 4;
    return 1;
}

/* The characters of a string, whose length counts a zero at the end; strings without one are not usual. */
static const uint8_t *read_string(reader *r, uint32_t *length)
{
    uint32_t size;
    if (!read_u32(r, &size) || size == 0 || size > r->size - r->place || r->bytes[r->place + size - 1] != 0) {
        return NULL;
    }
    const uint8_t *text = r->bytes + r->place;
    r->place += size;
    *length = size - 1;
    return text;
}

static int is_plain(const uint8_t *text, uint32_t length)
{
    for (uint32_t i = 0; i < length; ++i) {
        if (text[i] == 0 || text[i] >= 0x80) {
            return 0;
        }
    }
    return 1;
}

/* A name's place among the joints, or their number; `next` is tried first and becomes the one behind it. */
typedef struct {
    uint32_t joint;
    const char *text;
} name_cursor;

static uint32_t find(const rd_names *joints, const uint8_t *name, uint32_t length, name_cursor *next)
{
    name_cursor at = *next;
    for (uint32_t tried = 0; tried <= joints->count; ++tried) {
        if (at.joint < joints->count) {
            const uint32_t size = joints->lengths[at.joint];
            const int same = size == length && memcmp(name, at.text, length) == 0;
            at = (name_cursor){at.joint + 1, at.text + size};
            if (same) {
                *next = at;
                return at.joint - 1;
            }
        } else {
            at = (name_cursor){0, joints->text};
        }
    }
    return joints->count;
}

/* A zero inside a name ends it for some decoders. */
static int read_names(reader *r, const rd_names *joints, uint32_t *places, uint32_t *count)
{
    const uint32_t own = joints->count - joints->measured;
    uint32_t length, found = 0;
    name_cursor next = {0, joints->text};
    if (!read_u32(r, count) || *count == 0) {
        return RD_UNUSUAL;
    }
    for (uint32_t j = 0; j < joints->count; ++j) {
        places[j] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < *count; ++i) {
        const uint8_t *name = read_string(r, &length);
        if (!name || memchr(name, 0, length)) {
            return RD_UNUSUAL;
        }
        const uint32_t joint = find(joints, name, length, &next);
        if (joint < joints->count) {
            if (places[joint] != UINT32_MAX) {
                return RD_UNUSUAL;
            }
            places[joint] = i;
            found += joint < own;
        }
    }
    return found == 0 ? RD_OTHER_JOINTS : found == own ? RD_READ : RD_UNUSUAL;
}

/* `count` doubles or none; an empty sequence has no padding behind its length. */
static int read_doubles(reader *r, uint32_t count, const uint8_t **doubles)
{
    uint32_t given;
    *doubles = NULL;
    if (!read_u32(r, &given) || (given != 0 && given != count)) {
        return 0;
    }
    if (given == 0) {
        return 1;
    }
    if (!align(r, 8, 8) || (r->size - r->place) / 8 < given) {
        return 0;
    }
    *doubles = r->bytes + r->place;
    r->place += 8 * (size_t)given;
    return 1;
}

int rd_cdr_read_joint_state(const uint8_t *bytes, size_t size, const rd_names *joints, uint32_t *places,
                            rd_joint_state *state)
{
    if (size < ENCAPSULATION || bytes[0] != 0 || bytes[1] != 1) {
        return RD_UNUSUAL;
    }
    reader r = {bytes + ENCAPSULATION, size - ENCAPSULATION, 0};
    uint32_t seconds, nanoseconds, length, count;
    if (!read_u32(&r, &seconds) || !read_u32(&r, &nanoseconds)) {
        return RD_UNUSUAL;
    }
    state->stamp = (int64_t)(int32_t)seconds * 1000000000 + (int64_t)nanoseconds;
    const uint8_t *frame = read_string(&r, &length);
    if (!frame || !is_plain(frame, length)) {
        return RD_UNUSUAL;
    }
    const int reading = read_names(&r, joints, places, &count);
    state->position = NULL;
    if (reading == RD_UNUSUAL || (reading == RD_OTHER_JOINTS && !joints->measured)) {
        return reading;
    }
    const int complete = read_doubles(&r, count, &state->position) && read_doubles(&r, count, &state->velocity)
                         && read_doubles(&r, count, &state->effort) && state->position != NULL;
    if (reading == RD_OTHER_JOINTS) {
        state->position = complete ? state->position : NULL;
        return reading;
    }
    return complete ? RD_READ : RD_UNUSUAL;
}

int rd_cdr_read_time(const uint8_t *bytes, size_t size, int64_t *time)
{
    uint32_t seconds, nanoseconds;
    if (size < ENCAPSULATION || bytes[0] != 0 || bytes[1] != 1) {
        return 0;
    }
    reader r = {bytes + ENCAPSULATION, size - ENCAPSULATION, 0};
    if (!read_u32(&r, &seconds) || !read_u32(&r, &nanoseconds)) {
        return 0;
    }
    *time = (int64_t)(int32_t)seconds * 1000000000 + (int64_t)nanoseconds;
    return 1;
}

int rd_cdr_pick(const uint8_t *doubles, const uint32_t *places, uint32_t n, double *values)
{
    double total = 0.0;
    for (uint32_t j = 0; j < n; ++j) {
        memcpy(&values[j], doubles + 8 * (size_t)places[j], 8);
        total += 0.0 * values[j];
    }
    return total == 0.0;
}

void rd_cdr_pick_some(const uint8_t *doubles, const uint32_t *places, uint32_t n, double *values)
{
    for (uint32_t j = 0; j < n; ++j) {
        values[j] = NAN;
        if (doubles && places[j] != UINT32_MAX) {
            memcpy(&values[j], doubles + 8 * (size_t)places[j], 8);
        }
    }
}

/* Writing: what does not fit is counted and left out. */

typedef struct {
    uint8_t *bytes;
    size_t capacity, place;     /* place counts from behind the encapsulation */
} writer;

static void put(writer *w, const void *value, size_t size)
{
    const size_t end = ENCAPSULATION + w->place + size;
    if (end <= w->capacity && size) {
        memcpy(w->bytes + ENCAPSULATION + w->place, value, size);
    }
    w->place += size;
}

static void put_padding(writer *w, size_t boundary)
{
    static const uint8_t zeros[8] = {0};
    put(w, zeros, (boundary - w->place % boundary) % boundary);
}

static void put_u32(writer *w, uint32_t value)
{
    put_padding(w, 4);
    put(w, &value, 4);
}

static void put_string(writer *w, const char *text, uint32_t length)
{
    put_u32(w, length + 1);
    put(w, text, length);
    put(w, "", 1);
}

/* Append n zeros; their place counts from the first byte of the message. */
static size_t put_zeros(writer *w, uint32_t n)
{
    const double zero = 0.0;
    put_u32(w, n);
    if (n) {
        put_padding(w, 8);
    }
    const size_t begin = ENCAPSULATION + w->place;
    for (uint32_t j = 0; j < n; ++j) {
        put(w, &zero, 8);
    }
    return begin;
}

static writer begin(uint8_t *bytes, size_t capacity)
{
    static const uint8_t head[ENCAPSULATION] = {0, 1, 0, 0};
    if (capacity >= ENCAPSULATION) {
        memcpy(bytes, head, ENCAPSULATION);
    }
    return (writer){bytes, capacity, 0};
}

/* The head of a JointState, and its names. */
static void put_names(writer *w, uint32_t n, const uint32_t *lengths, const char *text)
{
    put_u32(w, 0);
    put_u32(w, 0);
    put_string(w, "", 0);
    put_u32(w, n);
    for (uint32_t j = 0; j < n; ++j) {
        put_string(w, text, lengths[j]);
        text += lengths[j];
    }
}

size_t rd_cdr_write_joint_state(uint8_t *bytes, size_t capacity, uint32_t n, const uint32_t *lengths,
                                const char *text, size_t places[3])
{
    writer w = begin(bytes, capacity);
    put_names(&w, n, lengths, text);
    for (int i = 0; i < 3; ++i) {
        places[i] = put_zeros(&w, n);
    }
    return ENCAPSULATION + w.place;
}

size_t rd_cdr_write_float64_array(uint8_t *bytes, size_t capacity, uint32_t n, size_t *data)
{
    writer w = begin(bytes, capacity);
    put_u32(&w, 0);
    put_u32(&w, 0);
    *data = put_zeros(&w, n);
    return ENCAPSULATION + w.place;
}

void rd_cdr_set_stamp(uint8_t *joint_state, int64_t stamp)
{
    int64_t seconds = stamp / 1000000000, rest = stamp % 1000000000;
    if (rest < 0) {
        --seconds;
        rest += 1000000000;
    }
    const int32_t whole = (int32_t)seconds;
    const uint32_t nanoseconds = (uint32_t)rest;
    memcpy(joint_state + ENCAPSULATION, &whole, 4);
    memcpy(joint_state + ENCAPSULATION + 4, &nanoseconds, 4);
}
