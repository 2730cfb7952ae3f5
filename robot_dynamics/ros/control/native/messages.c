/* The messages of a controller: see host.h. */
#include "host.h"

#include <stdlib.h>

static int make_stamped(rd_template *message, uint32_t n, const uint32_t *lengths, const char *text)
{
    size_t places[3] = {0};
    for (int pass = 0; pass < 2; ++pass) {
        const size_t size = rd_cdr_write_joint_state(message->bytes, message->size, n, lengths, text, places);
        if (pass == 0 && !(message->bytes = malloc(size))) {
            return 0;
        }
        message->size = size;
    }
    message->position = places[0];
    message->velocity = places[1];
    message->effort = places[2];
    return 1;
}

static int make_command(rd_template *message, uint32_t n)
{
    const size_t size = rd_cdr_write_float64_array(NULL, 0, n, &message->effort);
    if (!(message->bytes = malloc(size))) {
        return 0;
    }
    message->size = rd_cdr_write_float64_array(message->bytes, size, n, &message->effort);
    return 1;
}

/* A copy of the names, and room for the places of the joints. */
static int copy_names(rd_messages *messages, uint32_t n, uint32_t m, const uint32_t *lengths, const char *text)
{
    size_t size = 0;
    for (uint32_t j = 0; j < n; ++j) {
        size += lengths[j];
    }
    uint32_t *numbers = malloc(2 * (size_t)n * sizeof *numbers + size + 1);
    if (!numbers) {
        return 0;
    }
    messages->places = numbers + n;
    memcpy(numbers, lengths, n * sizeof *numbers);
    memcpy(messages->places + n, text, size);
    messages->joints = (rd_names){n, numbers, (char *)(messages->places + n), m};
    return 1;
}

rd_messages *rd_messages_new(uint32_t n, uint32_t m, const uint32_t *lengths, const char *text, const double *offset)
{
    rd_messages *messages = calloc(1, sizeof *messages);
    double *store = calloc(16 * (size_t)n + 2 * (size_t)m + 1, sizeof(double));
    if (!messages || !store) {
        free(messages);
        free(store);
        return NULL;
    }
    double **const arrays[] = {
        &messages->position, &messages->velocity, &messages->offset, &messages->load, &messages->left,
        &messages->steps, &messages->limits, &messages->next_load, &messages->safe,
        &messages->moving, NULL, &messages->rest, NULL, &messages->range, NULL, &messages->effort,
    };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) {
        if (arrays[i]) {
            *arrays[i] = store + i * n; /* NULL: the second half of the array before */
        }
    }
    messages->beside = store + 16 * (size_t)n;
    if (!copy_names(messages, n + m, m, lengths, text)
        || !make_stamped(&messages->stamped, n, lengths, text) || !make_command(&messages->command, n)
        || !make_stamped(&messages->safe_stamped, n, lengths, text) || !make_command(&messages->safe_command, n)) {
        rd_messages_free(messages);
        return NULL;
    }
    messages->measured = offset != NULL;
    if (offset) {
        memcpy(messages->offset, offset, sizeof(double) * n);
    }
    return messages;
}

void rd_messages_free(rd_messages *messages)
{
    if (messages) {
        free(messages->stamped.bytes);
        free(messages->command.bytes);
        free(messages->safe_stamped.bytes);
        free(messages->safe_command.bytes);
        free(messages->position);
        free((uint32_t *)messages->joints.lengths);
        free(messages);
    }
}

void rd_messages_fill(rd_messages *messages, const rd_core *core, int64_t stamp, const double *effort)
{
    const size_t size = sizeof(double) * (size_t)core->n;
    const rd_template *stamped = &messages->stamped;
    const int command = core->settings->command;
    rd_cdr_set_stamp(stamped->bytes, stamp);
    memcpy(stamped->bytes + stamped->effort, effort, size);
    double *const position = messages->moving, *const velocity = position + core->n;
    if (messages->measured && command == RD_COMMAND_EFFORT) {
        for (int j = 0; j < core->n; ++j) {
            position[j] = core->state.position[j] + messages->offset[j];
        }
        rd_copy(velocity, core->state.velocity, core->n);
    } else {
        rd_core_drive_reference(core, position, velocity);
    }
    memcpy(stamped->bytes + stamped->position, position, size);
    memcpy(stamped->bytes + stamped->velocity, velocity, size);
    memcpy(messages->command.bytes + messages->command.effort,
           command == RD_COMMAND_POSITION ? position : command == RD_COMMAND_VELOCITY ? velocity : effort, size);
}
