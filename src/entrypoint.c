/* R calls R_init_rhocap when it loads the library; everything else is registered from there. The
 * reference also makes the linker take the static Rust library in. */
#include <R_ext/Rdynload.h>

void R_init_rhocap_extendr(DllInfo *dll);

void R_init_rhocap(DllInfo *dll)
{
    R_init_rhocap_extendr(dll);
}
