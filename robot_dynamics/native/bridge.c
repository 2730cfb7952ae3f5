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
/* `out` is the only output's array, or an array of the outputs' arrays. */
typedef int (*single_kernel)(const double *const *in, void *out);
typedef int (*batch_kernel)(size_t count, const double *const *in, void *out);

enum { FASTCALL = 0x80, KEYWORDS = 0x02 };
enum { CONTIGUOUS = 0x1, ALIGNED = 0x100, WRITEABLE = 0x400, FLOAT64 = 12 };
enum { MOST_INPUTS = 12, MOST_OPTIONAL = 2, MOST_OUTPUTS = 6, MOST_AXES = 3, PROBED_AXES = 2 };

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

typedef struct {
    int axes;
    py_size shape[MOST_AXES];
    size_t row;                             /* number of entries */
} output;

/* What bridge.py describes; the structure there must match. */
typedef struct {
    const char *name;
    const char *documentation;
    int states;                             /* inputs that every call gives */
    int optional;                           /* inputs that it may give */
    int held;                               /* inputs that no call gives */
    int outputs;
    py_size sizes[MOST_INPUTS];             /* of states and optional inputs, for one state */
    const char *names[MOST_OPTIONAL];       /* of the optional inputs */
    const double *values[MOST_INPUTS];      /* of the held inputs; bridge.py keeps them as long as `general` */
    output results[MOST_OUTPUTS];           /* for one state */
    object *general;                        /* called for everything unusual */
} description;

typedef struct {
    method_definition method;
    description about;
    single_kernel single[1 << MOST_OPTIONAL];   /* by the optional inputs that are given; NULL until loaded */
    batch_kernel batch[1 << MOST_OPTIONAL];
} function;

extern object *PyCFunction_NewEx(method_definition *method, object *self, object *module);
extern object *PyCapsule_New(void *pointer, const char *name, void (*destructor)(object *));
extern void *PyCapsule_GetPointer(object *capsule, const char *name);
extern void Py_IncRef(object *value);
extern void Py_DecRef(object *value);
extern object *PyTuple_New(py_size size);
extern int PyTuple_SetItem(object *tuple, py_size index, object *value);
extern char PyTuple_Type;
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
    for (int i = 0; i < PROBED_AXES; ++i) {
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

/* Find the optional inputs and `out` among the arguments, NULL where they are not given; whether every argument
 * has its place. */
static inline __attribute__((always_inline)) int sort_options(const description *about, object *const *arguments, py_size count, object *keywords,
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
        if (count <= inputs && PyUnicode_CompareWithASCIIString(name, "out") == 0) {
            *out = arguments[count + k];
            continue;
        }
        while (place < about->optional && PyUnicode_CompareWithASCIIString(name, about->names[place]) != 0) {
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

static inline __attribute__((always_inline)) int is_input(const array *value, int axes, py_size samples, py_size size)
{
    return is_plain(value, CONTIGUOUS | ALIGNED) && value->axes == axes && value->shape[axes - 1] == size
        && (axes == 1 || value->shape[0] == samples);
}

static int meet(const double *first, size_t first_size, const double *second, size_t second_size)
{
    const uintptr_t a = (uintptr_t)first, b = (uintptr_t)second;
    return a < b + sizeof(double) * second_size && b < a + sizeof(double) * first_size;
}

/* Whether writing rows of `row` doubles to `out` could overwrite an input that is still needed. */
static int overlaps(const double *in, size_t in_row, const double *out, size_t row, size_t count)
{
    return !(in == out && in_row == row) && meet(in, in_row * count, out, row * count);
}

/* The arrays of one call. */
typedef struct {
    int inputs, outputs;
    size_t samples;
    const double *in[MOST_INPUTS];
    size_t in_rows[MOST_INPUTS];
    object *results[MOST_OUTPUTS];
    double *places[MOST_OUTPUTS];
} call_arrays;

/* Whether `target` can take the next output, of shape `shape`. */
static inline __attribute__((always_inline)) int fits(const array *target, int axes, const py_size *shape, const output *wanted, const description *about,
                const call_arrays *arrays)
{
    const double *place = (const double *)target->data;
    if (!is_plain(target, CONTIGUOUS | ALIGNED | WRITEABLE) || target->axes != axes) {
        return 0;
    }
    for (int i = 0; i < axes; ++i) {
        if (target->shape[i] != shape[i]) {
            return 0;
        }
    }
    for (int i = 0; i < arrays->inputs - about->held; ++i) {
        if (overlaps(arrays->in[i], arrays->in_rows[i], place, wanted->row, arrays->samples)) {
            return 0;
        }
    }
    for (int i = 0; i < arrays->outputs; ++i) {
        if (meet(arrays->places[i], about->results[i].row * arrays->samples, place, wanted->row * arrays->samples)) {
            return 0;
        }
    }
    return 1;
}

static void forget(object *const *results, int count)
{
    for (int i = 0; i < count; ++i) {
        Py_DecRef(results[i]);
    }
}

/* A tuple that takes over the results; NULL with an exception set on failure. */
static object *packed(object *const *results, int count)
{
    object *tuple = PyTuple_New(count);
    if (!tuple) {
        forget(results, count);
        return NULL;
    }
    for (int i = 0; i < count; ++i) {
        PyTuple_SetItem(tuple, i, results[i]);
    }
    return tuple;
}

static object *call(object *self, object *const *arguments, py_size count, object *keywords)
{
    const function *f = PyCapsule_GetPointer(self, NULL);
    const description *about = &f->about;
    const int states = about->states, several = about->outputs > 1;
    const array *options[MOST_OPTIONAL];
    object *out = NULL;
    call_arrays arrays;
    int variant = 0, optional = 0;

    if (count != states || keywords) {
        optional = about->optional;
        if (count < states || count > states + optional + 1
            || !sort_options(about, arguments, count, keywords, options, &out)) {
            goto general;
        }
    }
    const array *first = arguments[0];
    if (!is_plain(first, CONTIGUOUS | ALIGNED) || first->axes < 1 || first->axes > 2) {
        goto general;
    }
    const int axes = first->axes;
    const py_size samples = axes == 2 ? first->shape[0] : 1;
    int inputs = states;
    for (int i = 0; i < states; ++i) {
        const array *state = arguments[i];
        if (!is_input(state, axes, samples, about->sizes[i])) {
            goto general;
        }
        arrays.in[i] = (const double *)state->data;
        arrays.in_rows[i] = (size_t)about->sizes[i];
    }
    for (int i = 0; i < optional; ++i) {
        if (options[i]) {
            if (!is_input(options[i], axes, samples, about->sizes[states + i])) {
                goto general;
            }
            arrays.in[inputs] = (const double *)options[i]->data;
            arrays.in_rows[inputs++] = (size_t)about->sizes[states + i];
            variant |= 1 << i;
        }
    }
    for (int i = 0; i < about->held; ++i) {
        arrays.in[inputs++] = about->values[i];
    }
    if (!f->single[variant] || samples < 1) {
        goto general;
    }
    if (several && out && (((array *)out)->type != (object *)&PyTuple_Type || PyTuple_Size(out) != about->outputs)) {
        goto general;
    }
    arrays.inputs = inputs;
    arrays.samples = (size_t)samples;
    for (arrays.outputs = 0; arrays.outputs < about->outputs; ++arrays.outputs) {
        const output *wanted = &about->results[arrays.outputs];
        py_size shape[1 + MOST_AXES];
        int result_axes = 0;
        if (axes == 2) {
            shape[result_axes++] = samples;
        }
        for (int i = 0; i < wanted->axes; ++i) {
            shape[result_axes++] = wanted->shape[i];
        }
        object *result;
        if (out) {
            result = several ? PyTuple_GetItem(out, arrays.outputs) : out;
            if (!fits((array *)result, result_axes, shape, wanted, about, &arrays)) {
                forget(arrays.results, arrays.outputs);
                goto general;
            }
            Py_IncRef(result);
        } else {
            result = new_array(array_type, result_axes, shape, FLOAT64, NULL, NULL, 0, 0, NULL);
            if (!result) {
                forget(arrays.results, arrays.outputs);
                return NULL;
            }
        }
        arrays.results[arrays.outputs] = result;
        arrays.places[arrays.outputs] = (double *)((array *)result)->data;
    }

    void *target = several ? (void *)arrays.places : (void *)arrays.places[0];
    int finite;
    if (axes == 1) {
        finite = f->single[variant](arrays.in, target);
    } else if (samples < LONG_BATCH) {
        finite = f->batch[variant]((size_t)samples, arrays.in, target);
    } else {
        void *thread = PyEval_SaveThread();
        finite = f->batch[variant]((size_t)samples, arrays.in, target);
        PyEval_RestoreThread(thread);
    }
    if (!finite) {
        forget(arrays.results, arrays.outputs);
        goto general;
    }
    if (!several) {
        return arrays.results[0];
    }
    if (out) {
        forget(arrays.results, arrays.outputs);
        Py_IncRef(out);
        return out;
    }
    return packed(arrays.results, arrays.outputs);
general:
    return call_general(f, arguments, count, keywords);
}

static void release(function *f)
{
    Py_DecRef(f->about.general);
    free((char *)f->method.name);
    free((char *)f->method.documentation);
    for (int i = 0; i < f->about.optional; ++i) {
        free((char *)f->about.names[i]);
    }
    free(f);
}

static void destroy(object *capsule)
{
    release(PyCapsule_GetPointer(capsule, NULL));
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
    for (int i = 0; i < about->optional; ++i) {
        f->about.names[i] = strdup(about->names[i]);
    }
    Py_IncRef(about->general);
    object *capsule = PyCapsule_New(f, NULL, destroy);
    if (!capsule) {
        release(f);
        return NULL;
    }
    object *result = PyCFunction_NewEx(&f->method, capsule, NULL);
    Py_DecRef(capsule);
    return result;
}

/* Give a function (by its capsule, its __self__) the kernel for the optional inputs whose bits are set. */
void bridge_set_kernel(object *capsule, int variant, void *single, void *batch)
{
    function *f = PyCapsule_GetPointer(capsule, NULL);
    *(void **)&f->batch[variant] = batch;
    *(void **)&f->single[variant] = single;
}
