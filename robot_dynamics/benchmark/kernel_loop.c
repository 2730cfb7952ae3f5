/* A kernel called again and again, as a C program would call it. */
typedef int (*kernel)(const double *const *in, void *out);

int repeat(kernel function, const double *const *in, void *out, long count)
{
    int finite = 1;
    for (long i = 0; i < count; ++i) {
        finite &= function(in, out);
    }
    return finite;
}
