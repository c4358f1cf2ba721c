// make_text_folder GOLDEN FOLDER: see text_folder.h.
#include "tests/lib/text_folder.h"

int main(int argc, char **argv)
{
    return argc != 3 || !make_text_folder(argv[1], argv[2]);
}
