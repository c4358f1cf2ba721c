// A Cortex-M33 on the board MPS2 with AN505. It starts as board_arm.c says; only its memory lies
// elsewhere, which board_an505.ld tells.
#include "board_arm.c"
