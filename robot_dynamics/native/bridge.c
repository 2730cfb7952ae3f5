/* Calls from Python to a kernel, at the cost of a few pointer comparisons.
 *
 * Needs neither Python's nor numpy's headers: it uses functions of Python's stable ABI, and of numpy the
 * memory layout of an array and PyArray_New, both fixed parts of numpy's ABI. bridge.py checks the layout
 * against arrays of known content, and where a capsule keeps its pointer, before any of this is used.
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
    py_size references;
    object *type;
    void *pointer;
} capsule;

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
    object *names[MOST_OPTIONAL];           /* of the optional inputs */
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
extern int PyUnicode_Compare(object *left, object *right);
extern object *PyErr_NoMemory(void);
extern void *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void *state);

static object *none, *array_type, *float64_type, *out_name;
static object *(*new_array)(object *type, int axes, const py_size *shape, int element, const py_size *strides,
                            void *data, int size, int flags, object *base);

void bridge_configure(object *none_object, object *ndarray, object *float64, object *out, void *py_array_new)
{
    none = none_object;
    out_name = out;
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

/* Whether a capsule holds its pointer where this file believes. */
int bridge_probe_capsule(object *value)
{
    return ((const capsule *)value)->pointer == PyCapsule_GetPointer(value, NULL);
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

/* The inputs of one call, as its kernel takes them. */
typedef struct {
    int axes;                               /* 1 for one state, 2 for a batch */
    int given;                              /* number of inputs that the call gives */
    int variant;
    size_t samples;
    const double *in[MOST_INPUTS];
    size_t rows[MOST_INPUTS];               /* entries of a row of those that the call gives */
} call_inputs;

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
    for (int i = 0; i < about->held; ++i) {
        taken->in[inputs + i] = about->values[i];
    }
    return f->single[variant] && samples > 0;
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

/* Whether a result of this shape can be written to `target`. */
static inline int fits(const array *target, int axes, const py_size *shape, const output *wanted,
                       const call_inputs *taken)
{
    if (!is_plain(target, CONTIGUOUS | ALIGNED | WRITEABLE) || target->axes != axes) {
        return 0;
    }
    for (int i = 0; i < axes; ++i) {
        if (target->shape[i] != shape[i]) {
            return 0;
        }
    }
    for (int i = 0; i < taken->given; ++i) {
        if (overlaps(taken->in[i], taken->rows[i], (const double *)target->data, wanted->row, taken->samples)) {
            return 0;
        }
    }
    return 1;
}

/* Whether all results are finite. */
static inline int run(const function *f, const call_inputs *taken, void *out)
{
    if (taken->axes == 1) {
        return f->single[taken->variant](taken->in, out);
    }
    if (taken->samples < LONG_BATCH) {
        return f->batch[taken->variant](taken->samples, taken->in, out);
    }
    void *thread = PyEval_SaveThread();
    const int finite = f->batch[taken->variant](taken->samples, taken->in, out);
    PyEval_RestoreThread(thread);
    return finite;
}

/* A call of a function with one output.
 *
 * It competes with long kernels for the lines of the instruction cache, and loses up to a fifth of a call where it
 * comes to lie unluckily; a multiple of 512 bytes is a good place.
 */
static __attribute__((aligned(512))) object *call(object *self, object *const *arguments, py_size count,
                                                  object *keywords)
{
    const function *f = ((const capsule *)self)->pointer;
    const output *wanted = f->about.results;
    call_inputs taken;
    object *result;
    py_size shape[1 + MOST_AXES];

    if (!take_inputs(f, arguments, count, keywords, &taken, &result)) {
        return call_general(f, arguments, count, keywords);
    }
    const int axes = shape_of(wanted, &taken, shape);
    if (!result) {
        result = new_array(array_type, axes, shape, FLOAT64, NULL, NULL, 0, 0, NULL);
        if (!result) {
            return NULL;
        }
    } else if (fits((array *)result, axes, shape, wanted, &taken)) {
        Py_IncRef(result);
    } else {
        return call_general(f, arguments, count, keywords);
    }
    if (run(f, &taken, ((array *)result)->data)) {
        return result;
    }
    Py_DecRef(result);
    return call_general(f, arguments, count, keywords);
}

/* Whether the place of output `next` lies over that of an earlier one. */
static int meets_another(double *const *places, const output *wanted, int next, size_t samples)
{
    for (int i = 0; i < next; ++i) {
        if (meet(places[i], wanted[i].row * samples, places[next], wanted[next].row * samples)) {
            return 1;
        }
    }
    return 0;
}

/* A call of a function with several outputs, which are returned as a tuple. */
static object *call_several(object *self, object *const *arguments, py_size count, object *keywords)
{
    const function *f = ((const capsule *)self)->pointer;
    const int outputs = f->about.outputs;
    call_inputs taken;
    object *out;
    double *places[MOST_OUTPUTS];

    if (!take_inputs(f, arguments, count, keywords, &taken, &out)
        || (out && (((array *)out)->type != (object *)&PyTuple_Type || PyTuple_Size(out) != outputs))) {
        return call_general(f, arguments, count, keywords);
    }
    object *results = out ? out : PyTuple_New(outputs);
    if (!results) {
        return NULL;
    }
    if (out) {
        Py_IncRef(out);
    }
    for (int i = 0; i < outputs; ++i) {
        const output *wanted = &f->about.results[i];
        py_size shape[1 + MOST_AXES];
        const int axes = shape_of(wanted, &taken, shape);
        if (!out) {
            object *made = new_array(array_type, axes, shape, FLOAT64, NULL, NULL, 0, 0, NULL);
            if (!made || PyTuple_SetItem(results, i, made) != 0) {
                Py_DecRef(results);
                return NULL;
            }
        }
        const array *target = PyTuple_GetItem(results, i);
        if (out && !fits(target, axes, shape, wanted, &taken)) {
            goto general;
        }
        places[i] = (double *)target->data;
        if (meets_another(places, f->about.results, i, taken.samples)) {
            goto general;
        }
    }
    if (run(f, &taken, places)) {
        return results;
    }
general:
    Py_DecRef(results);
    return call_general(f, arguments, count, keywords);
}

static void release(function *f)
{
    Py_DecRef(f->about.general);
    free((char *)f->method.name);
    free((char *)f->method.documentation);
    for (int i = 0; i < f->about.optional; ++i) {
        Py_DecRef(f->about.names[i]);
    }
    free(f);
}

static void destroy(object *holder)
{
    release(PyCapsule_GetPointer(holder, NULL));
}

/* A new Python function; NULL with an exception set on failure. The capsule owns what it needs. */
object *bridge_function(const description *about)
{
    function *f = calloc(1, sizeof *f);
    if (!f) {
        return PyErr_NoMemory();
    }
    f->about = *about;
    f->method = (method_definition){strdup(about->name), about->outputs == 1 ? call : call_several,
                                    FASTCALL | KEYWORDS, strdup(about->documentation)};
    for (int i = 0; i < about->optional; ++i) {
        Py_IncRef(about->names[i]);
    }
    Py_IncRef(about->general);
    object *holder = PyCapsule_New(f, NULL, destroy);
    if (!holder) {
        release(f);
        return NULL;
    }
    object *result = PyCFunction_NewEx(&f->method, holder, NULL);
    Py_DecRef(holder);
    return result;
}

/* Give a function (by its capsule, its __self__) the kernel for the optional inputs whose bits are set. */
void bridge_set_kernel(object *holder, int variant, void *single, void *batch)
{
    function *f = PyCapsule_GetPointer(holder, NULL);
    *(void **)&f->batch[variant] = batch;
    *(void **)&f->single[variant] = single;
}
