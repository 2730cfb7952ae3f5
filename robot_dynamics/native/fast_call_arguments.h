/* From the arguments of a call to the inputs of a kernel. */
#ifndef FAST_CALL_ARGUMENTS_H
#define FAST_CALL_ARGUMENTS_H

#include "fast_call_objects.h"

/* The inputs of one call, as its kernel takes them. */
typedef struct {
    int axes;                               /* 1 for one state, 2 for a batch */
    int given;                              /* number of inputs that the call gives */
    int variant;
    size_t samples;
    const double *in[MOST_INPUTS];
    size_t rows[MOST_INPUTS];               /* entries of a row of those that the call gives */
} call_inputs;

static object *call_general(const function *f, object *const *arguments, py_size count, object *keywords)
{
    object *result = NULL, *named = NULL, *positional = PyTuple_New(count);
    if (!positional) {
        return NULL;
    }
    for (py_size i = 0; i < count; ++i) {
        Py_IncRef(arguments[i]);
        PyTuple_SetItem(positional, i, arguments[i]);
    }
    if (keywords) {
        named = PyDict_New();
        for (py_size i = 0; named && i < PyTuple_Size(keywords); ++i) {
            if (PyDict_SetItem(named, PyTuple_GetItem(keywords, i), arguments[count + i]) < 0) {
                goto done;
            }
        }
        if (!named) {
            goto done;
        }
    }
    result = PyObject_Call(f->about.general, positional, named);
done:
    Py_DecRef(positional);
    if (named) {
        Py_DecRef(named);
    }
    return result;
}

static int is_called(object *name, object *other)
{
    return name == other || PyUnicode_Compare(name, other) == 0;
}

/* Find the optional inputs and `out` among the arguments, NULL where they are not given; whether every argument
 * has its place. */
static inline int sort_options(const description *about, object *const *arguments, py_size count, object *keywords,
                               const array **options, object **out)
{
    const py_size inputs = about->states + about->optional;
    for (py_size i = about->states; i < inputs; ++i) {
        options[i - about->states] = i < count ? arguments[i] : NULL;
    }
    *out = count > inputs ? arguments[inputs] : NULL;
    const py_size named = keywords ? PyTuple_Size(keywords) : 0;
    for (py_size k = 0; k < named; ++k) {
        object *name = PyTuple_GetItem(keywords, k);
        int place = 0;
        if (count <= inputs && is_called(name, out_name)) {
            *out = arguments[count + k];
            continue;
        }
        while (place < about->optional && !is_called(name, about->names[place])) {
            ++place;
        }
        if (place == about->optional || about->states + place < count) {
            return 0;
        }
        options[place] = arguments[count + k];
    }
    for (int i = 0; i < about->optional; ++i) {
        if (options[i] == none) {
            options[i] = NULL;
        }
    }
    if (*out == none) {
        *out = NULL;
    }
    return 1;
}

static inline int is_input(const array *value, int axes, py_size samples, py_size size)
{
    return is_plain(value, CONTIGUOUS | ALIGNED) && value->axes == axes && value->shape[axes - 1] == size
        && (axes == 1 || value->shape[0] == samples);
}

/* Take the inputs and find `out`; whether a kernel can be called with them as they are. */
static inline int take_inputs(const function *f, object *const *arguments, py_size count, object *keywords,
                              call_inputs *taken, object **out)
{
    const description *about = &f->about;
    const int states = about->states;
    const array *options[MOST_OPTIONAL];
    int optional = 0;

    *out = NULL;
    if (count != states || keywords) {
        optional = about->optional;
        if (count < states || count > states + optional + 1
            || !sort_options(about, arguments, count, keywords, options, out)) {
            return 0;
        }
    }
    const array *first = arguments[0];
    if (!is_plain(first, CONTIGUOUS | ALIGNED) || first->axes < 1 || first->axes > 2) {
        return 0;
    }
    const int axes = first->axes;
    const py_size samples = axes == 2 ? first->shape[0] : 1;
    for (int i = 0; i < states; ++i) {
        const array *state = arguments[i];
        if (!is_input(state, axes, samples, about->sizes[i])) {
            return 0;
        }
        taken->in[i] = (const double *)state->data;
        taken->rows[i] = (size_t)about->sizes[i];
    }
    int inputs = states, variant = 0;
    for (int i = 0; i < optional; ++i) {
        if (options[i]) {
            if (!is_input(options[i], axes, samples, about->sizes[states + i])) {
                return 0;
            }
            taken->in[inputs] = (const double *)options[i]->data;
            taken->rows[inputs++] = (size_t)about->sizes[states + i];
            variant |= 1 << i;
        }
    }
    taken->axes = axes;
    taken->given = inputs;
    taken->variant = variant;
    taken->samples = (size_t)samples;
    for (int i = 0; i < about->constants; ++i) {
        taken->in[inputs + i] = about->values[i];
    }
    return f->single[variant] && samples > 0;
}

#endif
