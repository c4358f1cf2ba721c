# judge.py FOLDER...: what onnx.checker and onnxruntime say of cases as ONNX's test set has them:
# model.onnx and test_data_set_0. Says "agrees" with the largest difference, or fails.
import sys
import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper


def tensor(path):
    t = onnx.TensorProto()
    with open(path, "rb") as f:
        t.ParseFromString(f.read())
    return numpy_helper.to_array(t)


failed = 0
for folder in sys.argv[1:]:
    path = folder + "/model.onnx"
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    data = folder + "/test_data_set_0/"
    feed = {v.name: tensor(data + "input_%d.pb" % i) for i, v in enumerate(model.graph.input)}
    got = session.run([v.name for v in model.graph.output], feed)
    worst = 0.0
    for i, y in enumerate(got):
        want = tensor(data + "output_%d.pb" % i)
        if y.shape != want.shape or y.dtype != want.dtype:
            print("%s: output %d is %s %s, not %s %s" % (folder, i, y.dtype, y.shape, want.dtype,
                                                         want.shape))
            failed = 1
            continue
        if want.size:
            size = np.abs(want.astype(np.float64))      # sums of large terms may be near zero
            error = np.abs(y.astype(np.float64) - want) / (1e-12 + size + 0.01 * size.max())
            worst = max(worst, float(error.max()) if np.isfinite(error).all() else np.inf)
    bad = not worst <= 1e-3
    failed = failed or bad
    print("%s: %s, largest difference %.1e; %d nodes, %d outputs" %
          (folder, "DIFFERS" if bad else "agrees", worst, len(model.graph.node), len(got)))
sys.exit(1 if failed else 0)
