/* Reads messages (length, bytes) from stdin, each into a block of exactly its size, and decodes them. */
#include "cdr.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static const uint32_t lengths[] = {8, 5, 2};
    static const rd_names joints = {3, lengths, "shoulderelbowj3", 0};
    uint32_t places[3];
    uint32_t size;
    unsigned messages = 0, taken = 0;
    double sum = 0.0;
    while (fread(&size, sizeof size, 1, stdin) == 1) {
        uint8_t *bytes = malloc(size);
        rd_joint_state state;
        if (fread(bytes, 1, size, stdin) != size) {
            return 1;
        }
        ++messages;
        if (rd_cdr_read_joint_state(bytes, size, &joints, places, &state) == RD_READ) {
            const uint8_t *fields[] = {state.position, state.velocity, state.effort};
            ++taken;
            for (int i = 0; i < 3; ++i) {
                double values[3];
                if (fields[i] && rd_cdr_pick(fields[i], places, 3, values)) {
                    sum += values[0] + values[2];
                }
            }
        }
        free(bytes);
    }
    printf("%u messages, %u taken\n", messages, taken);
    return sum != sum;
}
