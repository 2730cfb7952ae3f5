/* Calls from Python to a kernel, at the cost of a few pointer comparisons.
 *
 * A call whose arguments are C-contiguous float64 arrays of the right shapes goes straight to the kernel;
 * any other one, and one whose result is not finite, is handed to a Python callable, which converts the
 * arguments or explains what is wrong with them.
 */
#include "fast_call_results.h"

/* Batches from this size on let other Python threads run. */
enum { LONG_BATCH = 256 };
enum { PROBED_AXES = 2 };

void fast_call_configure(object *none_object, object *ndarray, object *float64, object *out, void *py_array_new)
{
    none = none_object;
    out_name = out;
    array_type = ndarray;
    float64_type = float64;
    *(void **)&new_array = py_array_new;
}

/* Layout of an array as this file believes it to be. */
void fast_call_probe(const array *value, int64_t *answers)
{
    answers[0] = (int64_t)(intptr_t)value->type;
    answers[1] = (int64_t)(intptr_t)value->data;
    answers[2] = value->axes;
    for (int i = 0; i < PROBED_AXES; ++i) {
        answers[3 + i] = i < value->axes ? value->shape[i] : 0;
    }
    answers[5] = (int64_t)(intptr_t)value->element_type;
    answers[6] = value->flags & (CONTIGUOUS | ALIGNED | WRITEABLE);
    answers[7] = value->weak_references != NULL;
    answers[8] = (int64_t)(intptr_t)value->base;
}

object *fast_call_probe_new(int axes, const py_size *shape)
{
    return made_array(axes, shape);
}

/* True if references are counted where this file believes, from 1. */
int fast_call_probe_references(void)
{
    const py_size shape = 1;
    object *made = made_array(1, &shape);
    if (!made) {
        return 0;
    }
    const int alone = references(made) == 1;
    Py_IncRef(made);
    const int shared = references(made) == 2;
    Py_DecRef(made);
    Py_DecRef(made);
    return alone && shared;
}

/* True if a capsule holds its pointer where this file believes. */
int fast_call_probe_capsule(object *value)
{
    return ((const capsule *)value)->pointer == PyCapsule_GetPointer(value, NULL);
}

/* True if all results are finite. */
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
    function *f = ((const capsule *)self)->pointer;
    call_inputs taken;
    object *result;

    if (!take_inputs(f, arguments, count, keywords, &taken, &result)) {
        return call_general(f, arguments, count, keywords);
    }
    if (!result) {
        result = array_for(f, &taken);
        if (!result) {
            return NULL;
        }
    } else if (fits((array *)result, f->about.results, &taken)) {
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

/* A call of a function with several outputs, which are returned as a tuple. */
static object *call_several(object *self, object *const *arguments, py_size count, object *keywords)
{
    function *f = ((const capsule *)self)->pointer;
    const int outputs = f->about.outputs;
    call_inputs taken;
    object *out;
    double *places[MOST_OUTPUTS];

    if (!take_inputs(f, arguments, count, keywords, &taken, &out)
        || (out && (((array *)out)->type != (object *)&PyTuple_Type || PyTuple_Size(out) != outputs))) {
        return call_general(f, arguments, count, keywords);
    }
    object *results = out ? out : arrays_for(f, &taken);
    if (!results) {
        return NULL;
    }
    if (out) {
        Py_IncRef(out);
    }
    for (int i = 0; i < outputs; ++i) {
        const array *target = PyTuple_GetItem(results, i);
        if (out && !fits(target, &f->about.results[i], &taken)) {
            goto general;
        }
        places[i] = (double *)target->data;
        if (out && meets_another(places, f->about.results, i, taken.samples)) {
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
    for (int i = 0; i < KEPT; ++i) {
        if (f->kept[i]) {
            Py_DecRef(f->kept[i]);
        }
    }
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
object *fast_call_function(const description *about)
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
void fast_call_set_kernel(object *holder, int variant, void *single, void *batch)
{
    function *f = PyCapsule_GetPointer(holder, NULL);
    *(void **)&f->batch[variant] = batch;
    *(void **)&f->single[variant] = single;
}
