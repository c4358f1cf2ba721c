"""cases.py FOLDER: onnx's own cases for every op, of the onnx package that is installed, as files:
what Debian's libonnx-testdata has for onnx 1.12. Prints the newest op set."""
import sys
import types
import warnings

warnings.filterwarnings("ignore")
import onnx
import onnx.backend.test.case.node as node
from onnx.backend.test import cmd_tools

cmd_tools.model_test = types.SimpleNamespace(collect_testcases=node.collect_testcases)
cmd_tools.generate_data(types.SimpleNamespace(output=sys.argv[1]))
print("op set", onnx.defs.onnx_opset_version())
