/* The arrays that results are written to: those of the caller, new ones, or earlier results that nobody holds. */
#ifndef FAST_CALL_RESULTS_H
#define FAST_CALL_RESULTS_H

#include "fast_call_arguments.h"

/* The largest result that a function remembers [entries]. */
enum { MOST_KEPT = 8192 };

static int meet(const double *first, size_t first_size, const double *second, size_t second_size)
{
    const uintptr_t a = (uintptr_t)first, b = (uintptr_t)second;
    return a < b + sizeof(double) * second_size && b < a + sizeof(double) * first_size;
}

/* True if writing rows of `row` doubles to `out` could overwrite an input that is still needed. */
static int overlaps(const double *in, size_t in_row, const double *out, size_t row, size_t count)
{
    return !(in == out && in_row == row) && meet(in, in_row * count, out, row * count);
}

/* Shape of a result; its number of axes. */
static inline int shape_of(const output *wanted, const call_inputs *taken, py_size *shape)
{
    int axes = 0;
    if (taken->axes == 2) {
        shape[axes++] = (py_size)taken->samples;
    }
    for (int i = 0; i < wanted->axes; ++i) {
        shape[axes++] = wanted->shape[i];
    }
    return axes;
}

/* True if an array is one that numpy would make for a result of this shape, and may be written to. */
static inline int has_shape(const array *target, int axes, const py_size *shape)
{
    if (!is_plain(target, CONTIGUOUS | ALIGNED | WRITEABLE) || target->axes != axes) {
        return 0;
    }
    for (int i = 0; i < axes; ++i) {
        if (target->shape[i] != shape[i]) {
            return 0;
        }
    }
    return 1;
}

/* True if a result can be written to an array of the caller. */
static inline int fits(const array *target, const output *wanted, const call_inputs *taken)
{
    py_size shape[1 + MOST_AXES];
    if (!has_shape(target, shape_of(wanted, taken, shape), shape)) {
        return 0;
    }
    for (int i = 0; i < taken->given; ++i) {
        if (overlaps(taken->in[i], taken->rows[i], (const double *)target->data, wanted->row, taken->samples)) {
            return 0;
        }
    }
    return 1;
}

/* True if the place of output `next` lies over that of an earlier one. */
static int meets_another(double *const *places, const output *wanted, int next, size_t samples)
{
    for (int i = 0; i < next; ++i) {
        if (meet(places[i], wanted[i].row * samples, places[next], wanted[next].row * samples)) {
            return 1;
        }
    }
    return 0;
}

/* True if an earlier result can be filled again: nobody but the function refers to it, weakly or by a view, and
 * nobody has made another array of it. */
static inline int is_free(const array *earlier, const output *wanted)
{
    return references(earlier) == 1 && !earlier->weak_references && !earlier->base
        && has_shape(earlier, wanted->axes, wanted->shape);
}

static inline int all_are_free(object *earlier, const description *about)
{
    if (references(earlier) != 1) {
        return 0;
    }
    for (int i = 0; i < about->outputs; ++i) {
        if (!is_free(PyTuple_GetItem(earlier, i), &about->results[i])) {
            return 0;
        }
    }
    return 1;
}

/* Remember a result for one state instead of the one that has been remembered longest. */
static void keep(function *f, object *result)
{
    object *forgotten = f->kept[f->oldest];
    Py_IncRef(result);
    f->kept[f->oldest] = result;
    f->oldest = (f->oldest + 1) % KEPT;
    if (forgotten) {
        Py_DecRef(forgotten);               /* last: it may run what a weak reference calls */
    }
}

/* An array for the only result; NULL with an exception set on failure. */
static inline object *array_for(function *f, const call_inputs *taken)
{
    const output *wanted = f->about.results;
    py_size shape[1 + MOST_AXES];
    if (taken->axes == 1) {
        for (int i = 0; i < KEPT; ++i) {
            if (f->kept[i] && is_free(f->kept[i], wanted)) {
                Py_IncRef(f->kept[i]);
                return f->kept[i];
            }
        }
    }
    object *made = made_array(shape_of(wanted, taken, shape), shape);
    if (made && taken->axes == 1 && wanted->row <= MOST_KEPT) {
        keep(f, made);
    }
    return made;
}

/* A tuple of arrays for several results; NULL with an exception set on failure. */
static inline object *arrays_for(function *f, const call_inputs *taken)
{
    const description *about = &f->about;
    size_t entries = 0;
    if (taken->axes == 1) {
        for (int i = 0; i < KEPT; ++i) {
            if (f->kept[i] && all_are_free(f->kept[i], about)) {
                Py_IncRef(f->kept[i]);
                return f->kept[i];
            }
        }
    }
    object *results = PyTuple_New(about->outputs);
    for (int i = 0; results && i < about->outputs; ++i) {
        py_size shape[1 + MOST_AXES];
        object *made = made_array(shape_of(&about->results[i], taken, shape), shape);
        if (!made || PyTuple_SetItem(results, i, made) != 0) {
            Py_DecRef(results);
            return NULL;
        }
        entries += about->results[i].row;
    }
    if (results && taken->axes == 1 && entries <= MOST_KEPT) {
        keep(f, results);
    }
    return results;
}

#endif
