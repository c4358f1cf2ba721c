#!/bin/sh
# tests/lib/targets.sh: the emulated processors, with the compiler, the board and the machine of
# QEMU for each. Scripts read it with `. tests/lib/targets.sh`, after `out=FOLDER`. A new processor
# is a line here; a new board a C file and a linker script in examples/devices/board, which `board`
# names for its processors.
board_folder=examples/devices/board

# processor NAME: sets tools (what the names of its programs begin with), cross (its compiler, with
# the flags of the processor), clang (the flags for clang), specs (its C library, when linking),
# board (path of its C file and linker script, without the ends), emulator.
processor() {
    arm='' riscv='' machine=virt thumb=thumbv7em board=$board_folder/board_arm
    case $1 in
    m0) arm='-mcpu=cortex-m0' machine=microbit thumb=thumbv6m ;;
    m3) arm='-mcpu=cortex-m3' machine=mps2-an385 thumb=thumbv7m ;;
    m4f) arm='-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16' machine=mps2-an386 ;;
    m7) arm='-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16' machine=mps2-an500 ;;
    m33)
        arm='-mcpu=cortex-m33 -mfloat-abi=hard -mfpu=fpv5-sp-d16' machine=mps2-an505
        thumb=thumbv8m.main board=$board_folder/board_an505
        ;;
    rv32imc) riscv='-march=rv32imc -mabi=ilp32' ;;
    rv32imafc) riscv='-march=rv32imafc -mabi=ilp32f' ;;
    *) echo "there is no processor $1"; return 1 ;;
    esac
    if [ -n "$arm" ]; then
        tools=arm-none-eabi specs=--specs=nano.specs
        cross="$tools-gcc -mthumb $arm" emulator="qemu-system-arm -M $machine"
        clang="--target=$thumb-none-eabi $arm -fshort-enums"        # as in the C library
        return
    fi
    tools=riscv64-unknown-elf board=$board_folder/board_riscv specs=''
    cross="$tools-gcc --specs=picolibc.specs $riscv -mcmodel=medany"
    emulator="qemu-system-riscv32 -M $machine -bios none"
    # clang 14 has constants of float among the small variables, in RAM.
    clang="--target=riscv32-unknown-elf $riscv -mcmodel=medany -msmall-data-limit=0"
    # Newer compilers count csr and rdinstret apart from the base instructions.
    if echo 'int x;' | $cross -misa-spec=2.2 -c -x c - -o "$out/spec.o" 2>/dev/null; then
        cross="$cross -misa-spec=2.2"
    fi
}

# link_board FLASH RAM STACK ARGUMENT...: a firmware, of objects, for the board of the processor.
link_board() {
    flash_ram_stack="-Wl,--defsym=FLASH_SIZE=$1,--defsym=RAM_SIZE=$2,--defsym=STACK_SIZE=$3"
    shift 3
    $cross -nostartfiles -nostdlib -T $board.ld -Wl,--gc-sections "$flash_ram_stack" "$@" -lc -lgcc
}

# emulate SECONDS FIRMWARE ARGUMENT...: runs it; nothing is printed but its own lines.
emulate() {
    seconds=$1 firmware=$2
    shift 2
    timeout "$seconds" $emulator -nographic -monitor none -serial none \
        -semihosting-config enable=on,target=native "$@" -kernel "$firmware"
}
