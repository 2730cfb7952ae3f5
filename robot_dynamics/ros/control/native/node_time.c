/* Simulated time, and who else is there: see node.h. */
#include "node.h"

#include <rcl/error_handling.h>

static const int64_t LOOK_PERIOD = 50000000;    /* between two looks at who publishes states [ns] */
enum { MOST_CLOCKS = 64 };                      /* messages of a burst */

int rd_take(const rcl_subscription_t *from, rcl_serialized_message_t *message)
{
    const rcl_ret_t result = rcl_take_serialized_message(from, message, NULL, NULL);
    if (result != RCL_RET_OK && result != RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
        rcl_reset_error();
    }
    return result == RCL_RET_OK;
}

/* What time it is, where that is told; the newest message counts. */
void rd_node_take_clock(rd_node *node, int64_t steady)
{
    for (int i = 0; i < MOST_CLOCKS && rd_take(node->clock, &node->newer); ++i) {
        int64_t now;
        if (rd_cdr_read_time(node->newer.buffer, node->newer.buffer_length, &now)) {
            rd_loop_clock(&node->loop, now, steady);
        }
    }
}

void rd_node_look_around(rd_node *node, int64_t steady)
{
    size_t publishers = 1;
    if (!node->clock || steady - node->looked_around < LOOK_PERIOD) {
        return;
    }
    node->looked_around = steady;
    if (rcl_subscription_get_publisher_count(node->states, &publishers) != RCL_RET_OK) {
        rcl_reset_error();
    }
    node->loop.time.alone = publishers == 0;
}
