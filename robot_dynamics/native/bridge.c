/* Calls from Python to a kernel, at the cost of a few pointer comparisons.
 *
 * Needs neither Python's nor numpy's headers: it uses functions of Python's stable ABI, and of numpy the
 * memory layout of an array and PyArray_New, both fixed parts of numpy's ABI. bridge.py checks the layout
 * against arrays of known content before any of this is used.
 *
 * A call whose arguments are C-contiguous float64 arrays of the right shapes goes straight to the kernel;
 * any other one, and one whose result is not finite, is handed to a Python callable, which converts the
 * arguments or explains what is wrong with them.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void object;
typedef ptrdiff_t py_size;
typedef int (*single_kernel)(const double *const *in, double *out);
typedef int (*batch_kernel)(size_t count, const double *const *in, double *out);

enum { FASTCALL = 0x80, KEYWORDS = 0x02 };
enum { CONTIGUOUS = 0x1, ALIGNED = 0x100, WRITEABLE = 0x400, FLOAT64 = 12 };
enum { MOST_INPUTS = 5, MOST_AXES = 2, WRENCH = 6 };

/* Batches from this size on let other Python threads run. */
enum { LONG_BATCH = 256 };

typedef struct {
    const char *name;
    object *(*call)(object *self, object *const *arguments, py_size count, object *keywords);
    int flags;
    const char *documentation;
} method_definition;

typedef struct {
    py_size references;
    object *type;
    char *data;
    int axes;
    py_size *shape;
    py_size *strides;
    object *base;
    object *element_type;
    int flags;
} array;

/* What bridge.py describes; the structure there must match. */
typedef struct {
    const char *name;
    const char *documentation;
    int states;                 /* arrays that every call has */
    int takes_wrench;
    py_size joints;             /* length of every state */
    int axes;                   /* of one result */
    py_size shape[MOST_AXES];
    int takes_gravity;          /* whether the kernels' last input is the vector below */
    double gravity[3];
    object *general;            /* called for everything unusual */
} description;

typedef struct {
    method_definition method;
    description about;
    single_kernel single[2];    /* without and with a wrench; NULL until loaded */
    batch_kernel batch[2];
} function;

extern object *PyCFunction_NewEx(method_definition *method, object *self, object *module);
extern object *PyCapsule_New(void *pointer, const char *name, void (*destructor)(object *));
extern void *PyCapsule_GetPointer(object *capsule, const char *name);
extern void Py_IncRef(object *value);
extern void Py_DecRef(object *value);
extern object *PyTuple_New(py_size size);
extern int PyTuple_SetItem(object *tuple, py_size index, object *value);
extern object *PyTuple_GetItem(object *tuple, py_size index);
extern py_size PyTuple_Size(object *tuple);
extern object *PyDict_New(void);
extern int PyDict_SetItem(object *dictionary, object *key, object *value);
extern object *PyObject_Call(object *callable, object *arguments, object *keywords);
extern int PyUnicode_CompareWithASCIIString(object *text, const char *ascii);
extern object *PyErr_NoMemory(void);
extern void *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void *state);

static object *none, *array_type, *float64_type;
static object *(*new_array)(object *type, int axes, const py_size *shape, int element, const py_size *strides,
                            void *data, int size, int flags, object *base);

void bridge_configure(object *none_object, object *ndarray, object *float64, void *py_array_new)
{
    none = none_object;
    array_type = ndarray;
    float64_type = float64;
    *(void **)&new_array = py_array_new;
}

/* What this file believes about an array. */
void bridge_probe(const array *value, int64_t *answers)
{
    answers[0] = (int64_t)(intptr_t)value->type;
    answers[1] = (int64_t)(intptr_t)value->data;
    answers[2] = value->axes;
    for (int i = 0; i < MOST_AXES; ++i) {
        answers[3 + i] = i < value->axes ? value->shape[i] : 0;
    }
    answers[5] = (int64_t)(intptr_t)value->element_type;
    answers[6] = value->flags & (CONTIGUOUS | ALIGNED | WRITEABLE);
}

object *bridge_probe_new(int axes, const py_size *shape)
{
    return new_array(array_type, axes, shape, FLOAT64, NULL, NULL, 0, 0, NULL);
}

static int is_plain(const array *value, int flags)
{
    return value->type == array_type && value->element_type == float64_type && (value->flags & flags) == flags;
}

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

/* Whether writing rows of `row` doubles to `out` could overwrite an input that is still needed. */
static int overlaps(const double *in, size_t in_row, const double *out, size_t row, size_t count)
{
    const uintptr_t a = (uintptr_t)in, b = (uintptr_t)out;
    if (in == out && in_row == row) {
        return 0;
    }
    return a < b + sizeof(double) * row * count && b < a + sizeof(double) * in_row * count;
}

static object *call(object *self, object *const *arguments, py_size count, object *keywords)
{
    const function *f = PyCapsule_GetPointer(self, NULL);
    const description *about = &f->about;
    const int states = about->states;
    const array *wrench = NULL, *out = NULL;
    const double *in[MOST_INPUTS];
    py_size shape[1 + MOST_AXES];
    int inputs = states;

    if (count < states || count > states + about->takes_wrench + 1) {
        goto general;
    }
    for (py_size i = states; i < count; ++i) {
        if (about->takes_wrench && i == states) {
            wrench = arguments[i];
        } else {
            out = arguments[i];
        }
    }
    if (keywords) {
        const py_size named = PyTuple_Size(keywords);
        for (py_size i = 0; i < named; ++i) {
            object *name = PyTuple_GetItem(keywords, i);
            if (!out && PyUnicode_CompareWithASCIIString(name, "out") == 0) {
                out = arguments[count + i];
            } else if (about->takes_wrench && !wrench && PyUnicode_CompareWithASCIIString(name, "wrench") == 0) {
                wrench = arguments[count + i];
            } else {
                goto general;
            }
        }
    }
    if (wrench == none) {
        wrench = NULL;
    }
    if (out == none) {
        out = NULL;
    }

    const array *first = arguments[0];
    if (!is_plain(first, CONTIGUOUS | ALIGNED) || first->axes < 1 || first->axes > 2) {
        goto general;
    }
    const int axes = first->axes;
    const py_size samples = axes == 2 ? first->shape[0] : 1;
    for (int i = 0; i < states; ++i) {
        const array *state = arguments[i];
        if (!is_plain(state, CONTIGUOUS | ALIGNED) || state->axes != axes
            || state->shape[axes - 1] != about->joints || (axes == 2 && state->shape[0] != samples)) {
            goto general;
        }
        in[i] = (const double *)state->data;
    }
    if (wrench) {
        if (!is_plain(wrench, CONTIGUOUS | ALIGNED) || wrench->axes != axes || wrench->shape[axes - 1] != WRENCH
            || (axes == 2 && wrench->shape[0] != samples)) {
            goto general;
        }
        in[inputs++] = (const double *)wrench->data;
    }
    const int variant = wrench != NULL;
    if (!f->single[variant] || samples < 1) {
        goto general;
    }

    int result_axes = 0;
    size_t row = 1;
    if (axes == 2) {
        shape[result_axes++] = samples;
    }
    for (int i = 0; i < about->axes; ++i) {
        shape[result_axes++] = about->shape[i];
        row *= (size_t)about->shape[i];
    }
    object *result;
    if (out) {
        if (!is_plain(out, CONTIGUOUS | ALIGNED | WRITEABLE) || out->axes != result_axes
            || memcmp(out->shape, shape, sizeof(py_size) * (size_t)result_axes) != 0) {
            goto general;
        }
        for (int i = 0; i < inputs; ++i) {
            const size_t in_row = i < states ? (size_t)about->joints : WRENCH;
            if (overlaps(in[i], in_row, (const double *)out->data, row, (size_t)samples)) {
                goto general;
            }
        }
        Py_IncRef((object *)out);
        result = (object *)out;
    } else {
        result = new_array(array_type, result_axes, shape, FLOAT64, NULL, NULL, 0, 0, NULL);
        if (!result) {
            return NULL;
        }
    }

    if (about->takes_gravity) {
        in[inputs] = about->gravity;
    }
    double *values = (double *)((array *)result)->data;
    int finite;
    if (axes == 1) {
        finite = f->single[variant](in, values);
    } else if (samples < LONG_BATCH) {
        finite = f->batch[variant]((size_t)samples, in, values);
    } else {
        void *thread = PyEval_SaveThread();
        finite = f->batch[variant]((size_t)samples, in, values);
        PyEval_RestoreThread(thread);
    }
    if (finite) {
        return result;
    }
    Py_DecRef(result);
general:
    return call_general(f, arguments, count, keywords);
}

static void destroy(object *capsule)
{
    function *f = PyCapsule_GetPointer(capsule, NULL);
    Py_DecRef(f->about.general);
    free((char *)f->method.name);
    free((char *)f->method.documentation);
    free(f);
}

/* A new Python function; NULL with an exception set on failure. The capsule owns what it needs. */
object *bridge_function(const description *about)
{
    function *f = calloc(1, sizeof *f);
    if (!f) {
        return PyErr_NoMemory();
    }
    f->about = *about;
    f->method = (method_definition){strdup(about->name), call, FASTCALL | KEYWORDS, strdup(about->documentation)};
    object *capsule = PyCapsule_New(f, NULL, destroy);
    if (!capsule) {
        free(f);
        return NULL;
    }
    Py_IncRef(about->general);
    object *result = PyCFunction_NewEx(&f->method, capsule, NULL);
    Py_DecRef(capsule);
    return result;
}

/* Give a function (by its capsule, its __self__) the kernel without (0) or with (1) a wrench. */
void bridge_set_kernel(object *capsule, int variant, void *single, void *batch)
{
    function *f = PyCapsule_GetPointer(capsule, NULL);
    *(void **)&f->batch[variant] = batch;
    *(void **)&f->single[variant] = single;
}
