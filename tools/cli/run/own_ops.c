// Ops that are not samba.h's: those of imported ONNX models. The importer is a part of the tool
// where it can be built: see the Makefile.
#include "program.h"
#include <string.h>

#if defined(SAMBA_RUN_ONNX)
#include "onnx.pb-c.h"
#define SAMBA_ONNX_IMPORT_IMPLEMENTATION
#include "tools/include/samba/onnx_import.h"

bool register_own_ops(samba_session *s)
{
    return onnx_register_ops(s);
}
#else
bool register_own_ops(samba_session *s)
{
    return samba_ok(s);
}
#endif

bool fail_to_load(samba_session *s, fault *why)
{
    const char *reason = samba_error(s);
    if (!strstr(reason, "register it")) return fail(why, "%s", reason);
#if defined(SAMBA_RUN_ONNX)
    return fail(why,
                "%s. tools/samba has the ops of samba.h and of its ONNX importer; a program with "
                "ops of its own runs what it has compiled itself",
                reason);
#else
    return fail(why,
                "%s. If it is an imported ONNX model: this tool was built where the importer "
                "cannot be; tools/dev/install.sh onnx, and run this again",
                reason);
#endif
}
