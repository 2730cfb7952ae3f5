/* Layout of Python's and numpy's objects as fast_call.c uses them, and the data of one function.
 *
 * Neither Python's nor numpy's headers are needed: fast_call.c uses functions of Python's stable ABI, and of numpy
 * the memory layout of an array and PyArray_New, both fixed parts of numpy's ABI. fast_call.py checks the layouts
 * against objects of known content before any of this is used.
 */
#ifndef FAST_CALL_OBJECTS_H
#define FAST_CALL_OBJECTS_H

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
enum { MOST_INPUTS = 12, MOST_OPTIONAL = 2, MOST_OUTPUTS = 6, MOST_AXES = 3 };

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
    object *weak_references;
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

/* Function as fast_call.py describes it; the structure there must match. */
typedef struct {
    const char *name;
    const char *documentation;
    int states;                             /* inputs that every call gives */
    int optional;                           /* inputs that it may give */
    int constants;                          /* inputs that no call gives */
    int outputs;
    py_size sizes[MOST_INPUTS];             /* of states and optional inputs, for one state */
    object *names[MOST_OPTIONAL];           /* of the optional inputs */
    const double *values[MOST_INPUTS];      /* of the constants; fast_call.py keeps them as long as `general` */
    output results[MOST_OUTPUTS];           /* for one state */
    object *general;                        /* called for everything unusual */
} description;

/* Results for one state that a function remembers: while a caller holds the last one, there is another to fill. */
enum { KEPT = 2 };

typedef struct {
    single_kernel single[1 << MOST_OPTIONAL];   /* by the optional inputs that are given; NULL until loaded */
    batch_kernel batch[1 << MOST_OPTIONAL];
    object *kept[KEPT];
    int oldest;                                 /* of them */
    description about;
    method_definition method;
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

static inline object *made_array(int axes, const py_size *shape)
{
    return new_array(array_type, axes, shape, FLOAT64, NULL, NULL, 0, 0, NULL);
}

static inline int is_plain(const array *value, int flags)
{
    return value->type == array_type && value->element_type == float64_type && (value->flags & flags) == flags;
}

/* Number of references to an object. Newer Pythons use the upper half for other things. */
static inline uint32_t references(const object *value)
{
    return (uint32_t)*(const py_size *)value;
}

#endif
