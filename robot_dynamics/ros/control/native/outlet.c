/* What the front hands to the thread and reads from it: see node.h. */
#include "node.h"

#include <stdlib.h>

static int copy_message(rcl_serialized_message_t *message, const uint8_t *bytes, size_t size)
{
    rcutils_allocator_t allocator = rcutils_get_default_allocator();
    *message = rcutils_get_zero_initialized_uint8_array();
    if (rcutils_uint8_array_init(message, size, &allocator) != RCUTILS_RET_OK) {
        rcutils_reset_error();
        return 0;
    }
    memcpy(message->buffer, bytes, size);
    message->buffer_length = size;
    return 1;
}

void rd_release(rcl_serialized_message_t *message)
{
    if (message->buffer && rcutils_uint8_array_fini(message) != RCUTILS_RET_OK) {
        rcutils_reset_error();
    }
}

rd_outlet *rd_outlet_new(uint32_t n, const uint8_t *stamped, size_t stamped_size, size_t stamped_effort,
                         const uint8_t *command, size_t command_size, size_t command_effort)
{
    rd_outlet *outlet = calloc(1, sizeof *outlet);
    if (!outlet) {
        return NULL;
    }
    outlet->stamped_effort = stamped_effort;
    outlet->command_effort = command_effort;
    outlet->position = calloc(3 * (size_t)n + 1, sizeof(double));
    outlet->velocity = outlet->position ? outlet->position + n : NULL;
    outlet->offset = outlet->position ? outlet->position + 2 * n : NULL;
    if (!outlet->position || !copy_message(&outlet->stamped, stamped, stamped_size)
        || !copy_message(&outlet->command, command, command_size)) {
        rd_outlet_free(outlet);
        return NULL;
    }
    return outlet;
}

void rd_outlet_tell_state(rd_outlet *outlet, uint32_t n, size_t position, size_t velocity, const double *offset)
{
    outlet->stamped_position = position;
    outlet->stamped_velocity = velocity;
    memcpy(outlet->offset, offset, sizeof(double) * n);
}

void rd_outlet_fill_state(rd_outlet *outlet, const rd_core *core)
{
    if (!outlet->stamped_position) {
        return;
    }
    uint8_t *place = outlet->stamped.buffer + outlet->stamped_position;
    for (int j = 0; j < core->n; ++j, place += sizeof(double)) {
        const double position = core->state.position[j] + outlet->offset[j];
        memcpy(place, &position, sizeof position);
    }
    memcpy(outlet->stamped.buffer + outlet->stamped_velocity, core->state.velocity, sizeof(double) * (size_t)core->n);
}

void rd_outlet_free(rd_outlet *outlet)
{
    if (!outlet) {
        return;
    }
    rd_release(&outlet->stamped);
    rd_release(&outlet->command);
    free(outlet->position);
    free(outlet);
}

void rd_outlet_know(rd_outlet *outlet, unsigned place, const rd_layout *layout)
{
    atomic_store_explicit(&outlet->layouts[place % RD_LAYOUTS], layout, memory_order_release);
}

void rd_node_give(rd_node *node, const rd_given_state *state)
{
    atomic_store_explicit(&node->given, state, memory_order_release);
}

int rd_node_given_pending(rd_node *node)
{
    return atomic_load_explicit(&node->given, memory_order_acquire) != NULL;
}

void rd_node_seen(rd_node *node, int64_t steady)
{
    atomic_store_explicit(&node->loop.front_seen, steady, memory_order_release);
}

size_t rd_node_foreign(rd_node *node, uint8_t *bytes)
{
    rd_foreign *foreign = &node->foreign;
    const size_t read = atomic_load_explicit(&foreign->read, memory_order_relaxed);
    if (read == atomic_load_explicit(&foreign->written, memory_order_acquire)) {
        return 0;
    }
    const size_t size = foreign->sizes[read % RD_FOREIGN_SLOTS];
    memcpy(bytes, foreign->bytes[read % RD_FOREIGN_SLOTS], size);
    atomic_store_explicit(&foreign->read, read + 1, memory_order_release);
    return size;
}

void rd_node_status(rd_node *node, struct rd_node_status *status)
{
    rd_loop *loop = &node->loop;
    const uint_fast32_t done = atomic_load(&loop->done); /* before what has become of the requests */
    *status = (struct rd_node_status){
        .states = atomic_load(&loop->states),
        .answered = atomic_load(&loop->answered),
        .foreign_lost = atomic_load(&node->foreign.lost),
        .last_state = atomic_load(&loop->shown_last_state),
        .session = atomic_load(&loop->shown_session),
        .safe = atomic_load(&loop->shown_safe),
        .asked = (uint32_t)atomic_load(&loop->asked),
        .done = (uint32_t)done,
        .active = atomic_load(&loop->shown_active),
        .halting = atomic_load(&loop->shown_halting),
        .failed = atomic_load(&node->failed),
        .priority_error = atomic_load(&node->priority_error),
        .cpu_error = atomic_load(&node->cpu_error),
    };
}

void rd_node_sizes(size_t *sizes)
{
    sizes[0] = sizeof(rd_given_state);
    sizes[1] = sizeof(rd_record);
    sizes[2] = sizeof(struct rd_node_status);
}

rd_loop *rd_node_loop(rd_node *node)
{
    return &node->loop;
}
