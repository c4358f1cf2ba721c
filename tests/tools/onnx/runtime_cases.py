"""runtime_cases.py FOLDER: models of the ops that onnxruntime's optimizer and quantizers write,
with random inputs and onnxruntime's outputs, as cases of ONNX's test set. Prints their
names."""
import os
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T, helper, numpy_helper

warnings.filterwarnings("ignore")
rng = np.random.default_rng(7)
folder = sys.argv[1] + "/onnxruntime"
MS = "com.microsoft"


def f32(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def u8(*shape, low=0, high=256):
    return rng.integers(low, high, shape).astype(np.uint8)


def i8(*shape):
    return rng.integers(-128, 128, shape).astype(np.int8)


def scalar(x, dtype=np.float32):
    return np.array(x, dtype)


def session(path, level=onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, optimized=None):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if optimized:
        options.optimized_model_filepath = optimized
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def write(name, feed, judge=None):
    """Adds inputs and onnxruntime's outputs to the model that is in the case's folder."""
    case = folder + "/" + name
    data = case + "/test_data_set_0"
    os.makedirs(data, exist_ok=True)
    model = judge or case + "/model.onnx"
    try:
        s = session(model)
    except Exception as e:
        print("onnxruntime refuses", name, str(e)[-300:], file=sys.stderr)
        os.remove(case + "/model.onnx")
        return
    names = [i.name for i in onnx.load(case + "/model.onnx").graph.input]
    results = s.run(None, {n: feed[n] for n in names})
    for kind, values in (("input", [feed[n] for n in names]), ("output", results)):
        for i, value in enumerate(values):
            with open(f"{data}/{kind}_{i}.pb", "wb") as f:
                f.write(numpy_helper.from_array(np.asarray(value)).SerializeToString())
    print("onnxruntime/" + name)


def save(name, nodes, feed, weights, outputs, opset=17):
    os.makedirs(folder + "/" + name, exist_ok=True)
    info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for n, v in feed.items()]
    graph = helper.make_graph(nodes, "g", info,
                              [helper.make_tensor_value_info(n, t, None) for n, t in outputs],
                              [numpy_helper.from_array(v, n) for n, v in weights.items()])
    sets = [helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)]
    model = helper.make_model(graph, opset_imports=sets, ir_version=8)
    onnx.save(model, folder + "/" + name + "/model.onnx")


def case(name, op, inputs, outputs=("y",), types=None, domain=MS, opset=17, constant=(), more=None,
         **attrs):
    """A model of one node. inputs: pairs of a name and a value; those in capitals are weights, and
    so are those in `constant`; None: absent."""
    feed = {n: v for n, v in inputs if v is not None and n == n.lower() and n not in constant}
    weights = {n: v for n, v in inputs if v is not None and n not in feed}
    names = [n if v is not None else "" for n, v in inputs]
    node = helper.make_node(op, names, list(outputs), domain=domain, **attrs, **(more or {}))
    types = types or [T.FLOAT] * len(outputs)
    save(name, [node], feed, weights, [(o, t) for o, t in zip(outputs, types) if o], opset)
    write(name, feed)


# ---- Activations and normalizations ------------------------------------------------------------

x = f32(2, 5, 16)
case("gelu", "Gelu", [("x", x)])
case("bias_gelu", "BiasGelu", [("x", x), ("B", f32(16))])
case("fast_gelu", "FastGelu", [("x", x)])
case("fast_gelu_bias", "FastGelu", [("x", x), ("B", f32(16))])
case("quick_gelu", "QuickGelu", [("x", x)])
case("quick_gelu_alpha", "QuickGelu", [("x", x)], alpha=0.7)
for names, tag in ((("y",), ""), (("y", "", "", "sum"), "_sum")):
    for shape in ((2, 5, 16), (1, 5, 16), (5, 16)):
        case("skip_norm%s_%d_%d" % (tag, len(shape), shape[0]), "SkipLayerNormalization",
             [("x", x), ("skip", f32(*shape)), ("GAMMA", f32(16)), ("BETA", f32(16)),
              ("BIAS", f32(16))], names, epsilon=1e-5)
    case("skip_rms" + tag, "SkipSimplifiedLayerNormalization",
         [("x", x), ("skip", f32(2, 5, 16)), ("GAMMA", f32(16)), ("BIAS", f32(16))], names,
         epsilon=1e-6)
case("skip_norm_plain", "SkipLayerNormalization", [("x", x), ("skip", x), ("GAMMA", f32(16))])
case("rms", "SimplifiedLayerNormalization", [("x", x), ("S", f32(16))], domain="", epsilon=1e-6,
     axis=-1, stash_type=1)
case("rms_stats", "SimplifiedLayerNormalization", [("x", x), ("S", f32(16))], ("y", "inv"),
     domain="", epsilon=1e-6, axis=-1, stash_type=1)
ids, segments = rng.integers(0, 30, (2, 5)).astype(np.int32), np.zeros((2, 5), np.int32)
segments[:, 3:] = 1
mask = np.ones((2, 5), np.int32)
mask[1, 3:] = 0
tables = [("WORD", f32(30, 16)), ("PLACE", f32(9, 16)), ("SEGMENT", f32(2, 16)),
          ("GAMMA", f32(16)), ("BETA", f32(16))]
case("embed_norm", "EmbedLayerNormalization", [("ids", ids), ("segments", segments)] + tables +
     [("mask", mask)], ("y", "n"), [T.FLOAT, T.INT32])
places = np.array([[3, 1, 4, 1, 5], [2, 0, 8, 7, 6]], np.int32)
case("embed_norm_places", "EmbedLayerNormalization", [("ids", ids), ("segments", segments)] +
     tables + [("mask", None), ("places", places)], ("y", "n", "sum"),
     [T.FLOAT, T.INT32, T.FLOAT])
case("embed_norm_no_segments", "EmbedLayerNormalization", [("ids", ids), ("segments", None)] +
     tables[:2] + [("SEGMENT", None)] + tables[3:], ("y", "n"), [T.FLOAT, T.INT32])

# ---- Products ----------------------------------------------------------------------------------

for ta in (0, 1):
    for tb in (0, 1):
        a = f32(3, 7, 4) if ta else f32(3, 4, 7)
        b = f32(3, 5, 7) if tb else f32(3, 7, 5)
        case("fused_mat_mul_%d%d" % (ta, tb), "FusedMatMul", [("a", a), ("b", b)], transA=ta,
             transB=tb, alpha=0.3)
case("fused_mat_mul_batch", "FusedMatMul", [("a", f32(4, 3, 7)), ("b", f32(3, 7, 5))],
     transBatchA=1, alpha=2.0)
case("fused_mat_mul_batch_b", "FusedMatMul", [("a", f32(2, 3, 4, 7)), ("b", f32(5, 2, 3, 7))],
     transBatchB=1, transB=1)
for act, params in (("Relu", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.7]), ("Sigmoid", []),
                    ("Tanh", []), ("HardSigmoid", [0.3, 0.4])):
    attrs = dict(activation=act, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    if params:
        attrs["activation_params"] = params
    case("fused_conv_" + act.lower(), "FusedConv",
         [("x", f32(2, 3, 6, 6)), ("W", f32(4, 3, 3, 3)), ("B", f32(4))], **attrs)
    attrs = dict(activation=act, transB=1, alpha=0.5, beta=2.0)
    if params:
        attrs["activation_alpha"] = params[0]
    if len(params) > 1 and act == "HardSigmoid":
        attrs["activation_beta"] = params[1]
    if act not in ("Clip",):
        case("fused_gemm_" + act.lower(), "FusedGemm",
             [("x", f32(4, 6)), ("W", f32(5, 6)), ("B", f32(5))], **attrs)
case("fused_conv_sum", "FusedConv",
     [("x", f32(2, 3, 6, 6)), ("W", f32(4, 3, 3, 3)), ("B", f32(4)), ("z", f32(2, 4, 4, 4))],
     activation="Relu", kernel_shape=[3, 3])

for bits in (2, 4, 8):
    for block, k in ((16, 64), (32, 96), (32, 75), (128, 300)):
        for zeros in ("none", "packed", "float"):
            n, blocks = 24, (k + block - 1) // block
            zero = {"none": None, "packed": u8(n, (blocks * bits + 7) // 8),
                    "float": (rng.random((n, blocks)) * 2**bits).astype(np.float32)}[zeros]
            case("nbits_%d_%d_%d_%s" % (bits, block, k, zeros), "MatMulNBits",
                 [("x", f32(2, 3, k)), ("W", u8(n, blocks, block * bits // 8)),
                  ("SCALE", (rng.random((n, blocks)) * 0.1).astype(np.float32)), ("ZERO", zero),
                  ("GROUPS", None), ("BIAS", f32(n) if block == 32 else None)],
                 N=n, K=k, bits=bits, block_size=block) if (bits, zeros) != (8, "float") else None
for bits in (4, 8):
    case("gather_nbits_%d" % bits, "GatherBlockQuantized",
         [("W", u8(20, 64 * bits // 8)), ("ids", rng.integers(0, 20, (2, 3)).astype(np.int64)),
          ("SCALE", f32(20, 4, scale=0.1)), ("ZERO", u8(20, (4 * bits + 7) // 8))],
         bits=bits, block_size=16, gather_axis=0, quantize_axis=1)

# ---- Attention ---------------------------------------------------------------------------------

B, S, I, H, D = 2, 5, 24, 4, 6
w, b = ("W", f32(I, 3 * H * D, scale=0.3)), ("B", f32(3 * H * D))
x = f32(B, S, I)
m2 = np.ones((B, S), np.int32)
m2[1, 3:] = 0
m3 = (rng.random((B, S, S)) > 0.3).astype(np.int32)
for tag, m in (("none", None), ("rows", m2), ("square", m3), ("ends", np.array([5, 3], np.int32)),
               ("both", np.array([5, 4, 0, 2], np.int32))):
    for causal in (0, 1):
        case("attention_%s_%d" % (tag, causal), "Attention",
             [("x", x), w, b, ("mask", m)], num_heads=H, unidirectional=causal)
past = ("past", f32(2, B, H, 3, D))
for causal in (0, 1):
    case("attention_past_%d" % causal, "Attention", [("x", x), w, b, ("mask", None), past],
         ("y", "present"), num_heads=H, unidirectional=causal)
case("attention_bias", "Attention",
     [("x", x), w, b, ("mask", None), ("past", None), ("added", f32(1, H, S, S))], num_heads=H,
     scale=0.7)
case("attention_wide_v", "Attention",
     [("x", x), ("W", f32(I, 16 + 16 + 32)), ("B", f32(64))], num_heads=4,
     qkv_hidden_sizes=[16, 16, 32])

q, k, v = f32(B, S, H * D), f32(B, 7, H * D), f32(B, 7, H * D)
bias = ("BIAS", f32(3 * H * D))
m = np.ones((B, 7), np.int32)
m[0, 4:] = 0
case("heads", "MultiHeadAttention", [("q", q), ("k", k), ("v", v)], num_heads=H)
case("heads_bias_mask", "MultiHeadAttention",
     [("q", q), ("k", k), ("v", v), bias, ("mask", m), ("added", f32(B, H, S, 7))], num_heads=H,
     scale=0.5)
case("heads_lengths", "MultiHeadAttention",
     [("q", q), ("k", k), ("v", v), bias, ("mask", np.array([4, 7], np.int32))], num_heads=H)
case("heads_causal", "MultiHeadAttention", [("q", q), ("k", f32(B, S, H * D)),
                                            ("v", f32(B, S, H * D))], num_heads=H,
     unidirectional=1)
case("heads_cross", "MultiHeadAttention",
     [("q", q), ("k", f32(B, H, 7, D)), ("v", f32(B, H, 7, D))], num_heads=H)
case("heads_past", "MultiHeadAttention",
     [("q", q), ("k", f32(B, S, H * D)), ("v", f32(B, S, H * D)), ("BIAS", None), ("mask", None),
      ("added", None), ("pk", f32(B, H, 3, D)), ("pv", f32(B, H, 3, D))],
     ("y", "key", "value"), num_heads=H)

cos, sin = ("COS", f32(32, 4)), ("SIN", f32(32, 4))
for inter in (0, 1):
    case("rotary_%d" % inter, "RotaryEmbedding",
         [("x", f32(2, 5, 24)), ("ids", np.array([7], np.int64)), cos, sin], interleaved=inter)
    case("rotary_ids_%d" % inter, "RotaryEmbedding",
         [("x", f32(2, 3, 5, 8)), ("ids", rng.integers(0, 32, (2, 5)), ), cos, sin],
         interleaved=inter)
case("rotary_part", "RotaryEmbedding",
     [("x", f32(2, 5, 48)), ("ids", np.array([2], np.int64)), cos, sin], num_heads=3,
     rotary_embedding_dim=8)


def group(name, past, total, new, batch=1, heads=4, kv=2, d=16, packed=False, ends=None, **attrs):
    ends = np.full((batch,), total - 1, np.int32) if ends is None else np.array(ends, np.int32)
    if packed:
        parts = [("q", f32(batch, new, (heads + 2 * kv) * d)), ("k", None), ("v", None)]
    else:
        parts = [("q", f32(batch, new, heads * d)), ("k", f32(batch, new, kv * d)),
                 ("v", f32(batch, new, kv * d))]
    old = [("pk", f32(batch, kv, past, d) if past else None),
           ("pv", f32(batch, kv, past, d) if past else None)]
    extra = attrs.pop("extra", [])
    rotary = [("COS", f32(64, d // 2)), ("SIN", f32(64, d // 2))]
    if not attrs.get("do_rotary") and not extra:
        rotary = []
    elif not attrs.get("do_rotary"):
        rotary = [("COS", None), ("SIN", None)]
    case(name, "GroupQueryAttention",
         parts + old + [("ends", ends), ("TOTAL", np.array([total], np.int32))] + rotary + extra,
         ("y", "key", "value"), num_heads=heads, kv_num_heads=kv, **attrs)


group("group_prompt", 0, 6, 6)
group("group_prompt_rotary", 0, 6, 6, batch=2, do_rotary=1)
group("group_prompt_inter", 0, 6, 6, batch=2, do_rotary=1, rotary_interleaved=1)
group("group_packed", 0, 6, 6, packed=True, do_rotary=1)
group("group_token", 6, 7, 1, do_rotary=1)
group("group_token_batch", 6, 7, 1, batch=2, do_rotary=1, ends=[6, 4])
group("group_chunk", 6, 9, 3, do_rotary=1)
group("group_window", 0, 9, 9, local_window_size=3)
group("group_window_token", 8, 9, 1, local_window_size=4, do_rotary=1)
group("group_softcap", 0, 6, 6, softcap=5.0, scale=0.4)
group("group_smooth", 0, 6, 6, smooth_softmax=1)
group("group_sink", 0, 6, 6, extra=[("places", None), ("added", None), ("SINK", f32(4))])
group("group_added", 0, 6, 6, extra=[("places", None), ("added", f32(1, 4, 6, 6))])

# ---- 8 bits ------------------------------------------------------------------------------------

for tag, draw, dtype, t in (("u8", u8, np.uint8, T.UINT8), ("i8", i8, np.int8, T.INT8)):
    zero = scalar(3, dtype)
    pair = [("a", draw(2, 3, 8)), ("AS", scalar(0.03)), ("AZ", scalar(5, dtype)),
            ("b", draw(3, 8)), ("BS", scalar(0.02)), ("BZ", zero), ("CS", scalar(0.06)),
            ("CZ", zero)]
    one = [("x", draw(2, 3, 6, 6)), ("XS", scalar(0.03)), ("XZ", zero), ("YS", scalar(0.021)),
           ("YZ", zero)]
    case("q_add_" + tag, "QLinearAdd", pair, types=[t])
    case("q_mul_" + tag, "QLinearMul", pair, types=[t])
    unit = one[:3] + [("YS", scalar(1 / 256)), ("YZ", scalar(0 if tag == "u8" else -128, dtype))]
    case("q_sigmoid_" + tag, "QLinearSigmoid", unit, types=[t])
    case("q_softmax_" + tag, "QLinearSoftmax", unit, types=[t], axis=-1, more={"opset": 17})
    case("q_leaky_" + tag, "QLinearLeakyRelu", one, types=[t], alpha=0.2)
    case("q_global_" + tag, "QLinearGlobalAveragePool", one, types=[t], channels_last=0)
    case("q_average_" + tag, "QLinearAveragePool", one, types=[t], kernel_shape=[3, 3],
         strides=[2, 2], pads=[1, 1, 1, 1])
    case("q_concat_" + tag, "QLinearConcat",
         [("YS", scalar(0.05)), ("YZ", zero), ("a", draw(2, 3)), ("AS", scalar(0.03)),
          ("AZ", scalar(7, dtype)), ("b", draw(2, 4)), ("BS", scalar(0.07)), ("BZ", zero)],
         types=[t], axis=1)
    case("q_where_" + tag, "QLinearWhere",
         [("c", rng.random((2, 3, 8)) > 0.5), ("a", draw(2, 3, 8)), ("AS", scalar(0.03)),
          ("AZ", zero), ("b", draw(3, 8)), ("BS", scalar(0.05)), ("BZ", scalar(1, dtype)),
          ("ZS", scalar(0.06)), ("ZZ", zero)], types=[t])
    for tb in (0, 1):
        shape = (6, 20) if tb else (20, 6)
        gemm = [("x", draw(4, 20)), ("AS", scalar(0.03)), ("AZ", zero), ("W", draw(*shape)),
                ("WS", f32(6) ** 2 * 0.01 + np.float32(0.01)), ("WZ", np.zeros(6, dtype)),
                ("C", rng.integers(-900, 900, 6).astype(np.int32))]
        case("q_gemm_%s_%d" % (tag, tb), "QGemm",
             gemm + [("YS", scalar(0.5)), ("YZ", zero)], types=[t], transB=tb)
        case("q_gemm_float_%s_%d" % (tag, tb), "QGemm", gemm, transB=tb)
    case("int_to_float_" + tag, "MatMulIntegerToFloat",
         [("x", u8(2, 4, 20)), ("W", draw(20, 6)), ("XS", scalar(0.03)), ("WS", f32(6) ** 2),
          ("XZ", scalar(9, np.uint8)), ("WZ", draw(6)), ("BIAS", f32(6))])
    case("dynamic_mat_mul_" + tag, "DynamicQuantizeMatMul",
         [("x", f32(2, 4, 20)), ("W", draw(20, 6)), ("WS", scalar(0.02)),
          ("WZ", scalar(3, dtype)), ("BIAS", f32(6))])
case("q_attention", "QAttention",
     [("x", u8(B, S, I)), ("W", i8(I, 3 * H * D)), ("B", f32(3 * H * D)), ("XS", scalar(0.02)),
      ("WS", scalar(0.01)), ("mask", np.array([5, 3], np.int32)), ("XZ", scalar(120, np.uint8)),
      ("WZ", scalar(0, np.int8))], num_heads=H)

H = 8
for tag, draw, dtype in (("u8", u8, np.uint8), ("i8", i8, np.int8)):
    for directions in (1, 2):
        for columns in (1, 4 * H):
            size = (directions,) if columns == 1 else (directions, columns)
            zero = np.full(size, 128 if tag == "u8" else 0, dtype)
            case("dynamic_lstm_%s_%d_%d" % (tag, directions, columns), "DynamicQuantizeLSTM",
                 [("x", f32(5, 2, 6)), ("W", draw(directions, 6, 4 * H)),
                  ("R", draw(directions, H, 4 * H)), ("B", f32(directions, 8 * H)),
                  ("lengths", np.array([5, 3], np.int32)), ("h", f32(directions, 2, H)),
                  ("c", f32(directions, 2, H)), ("P", None),
                  ("WS", (rng.random(size) * 0.004 + 0.001).astype(np.float32)), ("WZ", zero),
                  ("RS", (rng.random(size) * 0.004 + 0.001).astype(np.float32)), ("RZ", zero)],
                 ("y", "yh", "yc"), hidden_size=H,
                 direction="bidirectional" if directions == 2 else "forward")

# A product of codes, whose bias is made of integers and has more dimensions than it needs.
one = np.array([1], np.float32)
weights = {"XS": one * np.float32(0.02), "XZ": np.array([128], np.uint8), "W": i8(20, 6),
           "WS": one * np.float32(0.01), "WZ": np.array([0], np.int8), "YS": one * np.float32(0.1),
           "YZ": np.array([120], np.uint8), "BS": scalar(0.001),
           "B": rng.integers(-900, 900, (1, 1, 6)).astype(np.int32)}
nodes = [helper.make_node("QuantizeLinear", ["x", "XS", "XZ"], ["xq"]),
         helper.make_node("DequantizeLinear", ["xq", "XS", "XZ"], ["xd"]),
         helper.make_node("DequantizeLinear", ["W", "WS", "WZ"], ["wd"]),
         helper.make_node("DequantizeLinear", ["B", "BS"], ["bd"]),
         helper.make_node("MatMul", ["xd", "wd"], ["m"]),
         helper.make_node("Add", ["m", "bd"], ["p"]),
         helper.make_node("QuantizeLinear", ["p", "YS", "YZ"], ["y"])]
feed = {"x": f32(2, 4, 20)}
save("qdq_bias", nodes, feed, weights, [("y", T.UINT8)])
write("qdq_bias", feed)
