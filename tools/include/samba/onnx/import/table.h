/* table.h - of onnx_import.h: one row for each op of ONNX. */

/* From version `first` of the op set to `last` the definition is the one that is implemented. */
typedef struct ox_row {
    const char *op;
    int32_t first, last;
    bool (*run)(ox_node *k);
    int32_t arg;
    bool whole; /* has a graph inside: never computed at once as a whole */
} ox_row;

enum { OX_LATEST = 28 }; /* of ai.onnx */

/* ---- Known, but refused ---- */

static bool ox_op_random(ox_node *k)
{
    return ox_refuse(k, "draws random numbers, which are not those of any other program");
}

static bool ox_op_strings(ox_node *k)
{
    return ox_refuse(k, "works on strings");
}

/* ---- The table ---- */

static const ox_row ox_rows[] = {
    /* elementwise.h */
    { "Abs", 1, OX_LATEST, ox_op_map, OX_ABS, false },
    { "Neg", 1, OX_LATEST, ox_op_map, OX_NEG, false },
    { "Exp", 1, OX_LATEST, ox_op_map, OX_EXP, false },
    { "Log", 1, OX_LATEST, ox_op_map, OX_LOG, false },
    { "Sqrt", 1, OX_LATEST, ox_op_map, OX_SQRT, false },
    { "Relu", 1, OX_LATEST, ox_op_map, OX_RELU, false },
    { "Sigmoid", 1, OX_LATEST, ox_op_map, OX_SIGMOID, false },
    { "Tanh", 1, OX_LATEST, ox_op_map, OX_TANH, false },
    { "Softplus", 1, OX_LATEST, ox_op_map, OX_SOFTPLUS, false },
    { "Reciprocal", 1, OX_LATEST, ox_op_map, OX_RECIPROCAL, false },
    { "Softsign", 1, OX_LATEST, ox_op_map, OX_SOFTSIGN, false },
    { "HardSwish", 14, OX_LATEST, ox_op_map, OX_HARD_SWISH, false },
    { "Mish", 18, OX_LATEST, ox_op_map, OX_MISH, false },
    { "Sin", 7, OX_LATEST, ox_op_unary, OX_SIN, false },
    { "Cos", 7, OX_LATEST, ox_op_unary, OX_COS, false },
    { "Tan", 7, OX_LATEST, ox_op_unary, OX_TAN, false },
    { "Asin", 7, OX_LATEST, ox_op_unary, OX_ASIN, false },
    { "Acos", 7, OX_LATEST, ox_op_unary, OX_ACOS, false },
    { "Atan", 7, OX_LATEST, ox_op_unary, OX_ATAN, false },
    { "Sinh", 9, OX_LATEST, ox_op_unary, OX_SINH, false },
    { "Cosh", 9, OX_LATEST, ox_op_unary, OX_COSH, false },
    { "Asinh", 9, OX_LATEST, ox_op_unary, OX_ASINH, false },
    { "Acosh", 9, OX_LATEST, ox_op_unary, OX_ACOSH, false },
    { "Atanh", 9, OX_LATEST, ox_op_unary, OX_ATANH, false },
    { "Erf", 9, OX_LATEST, ox_op_erf, OX_ERF, false },
    { "Floor", 1, OX_LATEST, ox_op_unary, OX_FLOOR, false },
    { "Ceil", 1, OX_LATEST, ox_op_unary, OX_CEIL, false },
    { "Round", 11, OX_LATEST, ox_op_unary, OX_ROUND, false },
    { "Sign", 9, OX_LATEST, ox_op_unary, OX_SIGN, false },
    { "Elu", 1, OX_LATEST, ox_op_elu, 0, false },
    { "Selu", 1, OX_LATEST, ox_op_selu, 0, false },
    { "Celu", 12, OX_LATEST, ox_op_celu, 0, false },
    { "Gelu", 20, OX_LATEST, ox_op_gelu, 0, false },
    { "LeakyRelu", 1, OX_LATEST, ox_op_leaky_relu, 0, false },
    { "HardSigmoid", 1, OX_LATEST, ox_op_hard_sigmoid, 0, false },
    { "ThresholdedRelu", 10, OX_LATEST, ox_op_thresholded_relu, 0, false },
    { "Shrink", 9, OX_LATEST, ox_op_shrink, 0, false },
    { "PRelu", 1, OX_LATEST, ox_op_prelu, 0, false },
    { "Clip", 1, OX_LATEST, ox_op_clip, 0, false },
    { "Not", 1, OX_LATEST, ox_op_not, 0, false },
    { "IsNaN", 9, OX_LATEST, ox_op_is_nan, 0, false },
    { "IsInf", 10, OX_LATEST, ox_op_is_inf, 0, false },
    { "Add", 1, OX_LATEST, ox_op_pair_of_any, OX_ADD, false },
    { "Sub", 1, OX_LATEST, ox_op_pair, OX_SUB, false },
    { "Mul", 1, OX_LATEST, ox_op_pair_of_any, OX_MUL, false },
    { "Div", 1, OX_LATEST, ox_op_pair_of_any, OX_DIV, false },
    { "Equal", 1, OX_LATEST, ox_op_pair, OX_EQ, false },
    { "Less", 1, OX_LATEST, ox_op_pair, OX_LT, false },
    { "LessOrEqual", 12, OX_LATEST, ox_op_pair, OX_LE, false },
    { "Greater", 1, OX_LATEST, ox_op_pair, OX_GT, false },
    { "GreaterOrEqual", 12, OX_LATEST, ox_op_pair, OX_GE, false },
    { "Pow", 1, OX_LATEST, ox_op_pow, 0, false },
    { "Mod", 10, OX_LATEST, ox_op_mod, 0, false },
    { "And", 1, OX_LATEST, ox_op_logic, OX_AND, false },
    { "Or", 1, OX_LATEST, ox_op_logic, OX_OR, false },
    { "Xor", 1, OX_LATEST, ox_op_logic, OX_XOR, false },
    { "BitwiseAnd", 18, OX_LATEST, ox_op_bitwise, OX_AND, false },
    { "BitwiseOr", 18, OX_LATEST, ox_op_bitwise, OX_OR, false },
    { "BitwiseXor", 18, OX_LATEST, ox_op_bitwise, OX_XOR, false },
    { "BitwiseNot", 18, OX_LATEST, ox_op_bitwise_not, 0, false },
    { "BitShift", 11, OX_LATEST, ox_op_bit_shift, 0, false },
    { "Max", 1, OX_LATEST, ox_op_variadic, OX_MAX, false },
    { "Min", 1, OX_LATEST, ox_op_variadic, OX_MIN, false },
    { "Sum", 1, OX_LATEST, ox_op_variadic, OX_ADD, false },
    { "Mean", 1, OX_LATEST, ox_op_variadic, OX_MEAN, false },
    { "Where", 9, OX_LATEST, ox_op_where, 0, false },
    { "Identity", 1, OX_LATEST, ox_op_identity, 0, true },
    { "Cast", 1, OX_LATEST, ox_op_cast_of_any, 0, false },
    { "CastLike", 15, OX_LATEST, ox_op_cast_like, 0, false },
    { "Dropout", 1, OX_LATEST, ox_op_dropout, 0, true },
    /* shape.h */
    { "Reshape", 1, OX_LATEST, ox_op_reshape, 0, false },
    { "Flatten", 1, OX_LATEST, ox_op_flatten, 0, false },
    { "Squeeze", 1, OX_LATEST, ox_op_squeeze, 0, false },
    { "Unsqueeze", 1, OX_LATEST, ox_op_unsqueeze, 0, false },
    { "Transpose", 1, OX_LATEST, ox_op_transpose, 0, false },
    { "Concat", 1, OX_LATEST, ox_op_concat, 0, false },
    { "Split", 2, OX_LATEST, ox_op_split, 0, false },
    { "Slice", 1, OX_LATEST, ox_op_slice, 0, false },
    { "Pad", 1, OX_LATEST, ox_op_pad, 0, false },
    { "CenterCropPad", 18, OX_LATEST, ox_op_center_crop_pad, 0, false },
    { "Tile", 6, OX_LATEST, ox_op_tile, 0, false },
    { "Expand", 8, OX_LATEST, ox_op_expand, 0, false },
    { "Shape", 1, OX_LATEST, ox_op_shape, 0, true },
    { "Size", 1, OX_LATEST, ox_op_size, 0, true },
    { "Constant", 1, OX_LATEST, ox_op_constant, 0, false },
    { "ConstantOfShape", 9, OX_LATEST, ox_op_constant_of_shape, 0, false },
    { "Range", 11, OX_LATEST, ox_op_range, 0, false },
    { "EyeLike", 9, OX_LATEST, ox_op_eye_like, 0, true },
    { "Trilu", 14, OX_LATEST, ox_op_trilu, 0, false },
    { "DepthToSpace", 1, OX_LATEST, ox_op_depth_to_space, 0, false },
    { "SpaceToDepth", 1, OX_LATEST, ox_op_space_to_depth, 0, false },
    /* index.h */
    { "Gather", 1, OX_LATEST, ox_op_gather, 0, false },
    { "GatherElements", 11, OX_LATEST, ox_op_gather_elements, 0, false },
    { "GatherND", 11, OX_LATEST, ox_op_gather_nd, 0, false },
    { "Scatter", 9, OX_LATEST, ox_op_scatter_elements, 0, false },
    { "ScatterElements", 11, OX_LATEST, ox_op_scatter_elements, 0, false },
    { "ScatterND", 11, OX_LATEST, ox_op_scatter_nd, 0, false },
    { "OneHot", 9, OX_LATEST, ox_op_one_hot, 0, false },
    { "ReverseSequence", 10, OX_LATEST, ox_op_reverse_sequence, 0, false },
    { "TopK", 1, OX_LATEST, ox_op_top_k, 0, false },
    { "Compress", 9, OX_LATEST, ox_op_compress, 0, false },
    /* select.h */
    { "NonZero", 9, OX_LATEST, ox_op_non_zero, 0, false },
    { "Unique", 11, OX_LATEST, ox_op_unique, 0, false },
    { "NonMaxSuppression", 10, OX_LATEST, ox_op_non_max_suppression, 0, false },
    /* reduce.h */
    { "ReduceSum", 1, OX_LATEST, ox_op_reduce, OX_R_SUM, false },
    { "ReduceMean", 1, OX_LATEST, ox_op_reduce, OX_R_MEAN, false },
    { "ReduceMax", 1, OX_LATEST, ox_op_reduce, OX_R_MAX, false },
    { "ReduceMin", 1, OX_LATEST, ox_op_reduce, OX_R_MIN, false },
    { "ReduceProd", 1, OX_LATEST, ox_op_reduce, OX_R_PROD, false },
    { "ReduceL1", 1, OX_LATEST, ox_op_reduce, OX_R_L1, false },
    { "ReduceL2", 1, OX_LATEST, ox_op_reduce, OX_R_L2, false },
    { "ReduceLogSum", 1, OX_LATEST, ox_op_reduce, OX_R_LOG_SUM, false },
    { "ReduceLogSumExp", 1, OX_LATEST, ox_op_reduce, OX_R_LOG_SUM_EXP, false },
    { "ReduceSumSquare", 1, OX_LATEST, ox_op_reduce, OX_R_SUM_SQUARE, false },
    { "ArgMax", 1, OX_LATEST, ox_op_arg, OX_FOLD_ARGMAX, false },
    { "ArgMin", 1, OX_LATEST, ox_op_arg, OX_FOLD_ARGMIN, false },
    { "CumSum", 11, OX_LATEST, ox_op_cum_sum, 0, false },
    { "CumProd", 26, OX_LATEST, ox_op_cum_sum, 1, false },
    /* product.h */
    { "MatMul", 1, OX_LATEST, ox_op_mat_mul_of_any, 0, false },
    { "Gemm", 1, OX_LATEST, ox_op_gemm_of_any, 0, false },
    { "Einsum", 12, OX_LATEST, ox_op_einsum, 0, false },
    { "Det", 11, OX_LATEST, ox_op_det, 0, false },
    /* window.h */
    { "Conv", 1, OX_LATEST, ox_op_conv_of_any, 0, false },
    { "ConvTranspose", 1, OX_LATEST, ox_op_conv_transpose, 0, false },
    { "MaxPool", 1, OX_LATEST, ox_op_max_pool, 0, false },
    { "AveragePool", 1, OX_LATEST, ox_op_average_pool, 0, false },
    { "LpPool", 2, OX_LATEST, ox_op_lp_pool, 0, false },
    { "GlobalAveragePool", 1, OX_LATEST, ox_op_global_pool, OX_R_MEAN, false },
    { "GlobalMaxPool", 1, OX_LATEST, ox_op_global_pool, OX_R_MAX, false },
    { "GlobalLpPool", 2, OX_LATEST, ox_op_global_pool, OX_R_L2, false },
    { "MaxUnpool", 9, OX_LATEST, ox_op_max_unpool, 0, false },
    /* resize.h */
    { "Resize", 10, OX_LATEST, ox_op_resize, 0, false },
    { "Upsample", 7, 9, ox_op_resize, 0, false },
    { "GridSample", 16, OX_LATEST, ox_op_grid_sample, 0, false },
    { "RoiAlign", 10, OX_LATEST, ox_op_roi_align, 0, false },
    /* norm.h */
    { "Softmax", 1, OX_LATEST, ox_op_softmax, OX_SOFTMAX, false },
    { "LogSoftmax", 1, OX_LATEST, ox_op_softmax, OX_LOG_SOFTMAX, false },
    { "Hardmax", 1, OX_LATEST, ox_op_softmax, OX_HARDMAX, false },
    { "BatchNormalization", 6, OX_LATEST, ox_op_batch_norm, 0, false },
    { "InstanceNormalization", 6, OX_LATEST, ox_op_instance_norm, 0, false },
    { "LayerNormalization", 1, OX_LATEST, ox_op_layer_norm, 0, false },
    { "SimplifiedLayerNormalization", 1, OX_LATEST, ox_op_simple_norm, 0, false },
    { "LRN", 1, OX_LATEST, ox_op_lrn, 0, false },
    { "MeanVarianceNormalization", 9, OX_LATEST, ox_op_mean_variance, 0, false },
    { "LpNormalization", 1, OX_LATEST, ox_op_lp_normalization, 0, false },
    { "NegativeLogLikelihoodLoss", 12, OX_LATEST, ox_op_nll_loss, 0, false },
    { "SoftmaxCrossEntropyLoss", 12, OX_LATEST, ox_op_softmax_loss, 0, false },
    /* transformer.h */
    { "RMSNormalization", 23, OX_LATEST, ox_op_rms_norm, 0, false },
    { "GroupNormalization", 18, OX_LATEST, ox_op_group_norm, 0, false },
    { "Swish", 24, OX_LATEST, ox_op_swish, 0, false },
    { "SwiGLU", 28, OX_LATEST, ox_op_swiglu, 0, false },
    { "RotaryEmbedding", 23, OX_LATEST, ox_op_rotary, 0, false },
    { "Attention", 23, OX_LATEST, ox_op_attention, 0, false },
    /* recurrent.h */
    { "RNN", 7, OX_LATEST, ox_op_recurrent, 1, false },
    { "GRU", 7, OX_LATEST, ox_op_recurrent, 3, false },
    { "LSTM", 7, OX_LATEST, ox_op_recurrent, 4, false },
    /* quantize.h */
    { "QuantizeLinear", 10, OX_LATEST, ox_op_quantize, 0, false },
    { "DequantizeLinear", 10, OX_LATEST, ox_op_dequantize, 0, false },
    { "DynamicQuantizeLinear", 11, OX_LATEST, ox_op_dynamic_quantize, 0, false },
    { "MatMulInteger", 10, OX_LATEST, ox_op_mat_mul_integer, 0, false },
    { "ConvInteger", 10, OX_LATEST, ox_op_conv_integer, 0, false },
    { "QLinearMatMul", 10, OX_LATEST, ox_op_q_linear_mat_mul, 0, false },
    { "QLinearConv", 10, OX_LATEST, ox_op_q_linear_conv, 0, false },
    /* signal.h */
    { "HannWindow", 17, OX_LATEST, ox_op_window, OX_HANN, false },
    { "HammingWindow", 17, OX_LATEST, ox_op_window, OX_HAMMING, false },
    { "BlackmanWindow", 17, OX_LATEST, ox_op_window, OX_BLACKMAN, false },
    { "MelWeightMatrix", 17, OX_LATEST, ox_op_mel, 0, false },
    { "DFT", 17, OX_LATEST, ox_op_dft, 0, false },
    { "STFT", 17, OX_LATEST, ox_op_stft, 0, false },
    { "TfIdfVectorizer", 9, OX_LATEST, ox_op_tf_idf, 0, false },
    /* sequence.h */
    { "SequenceEmpty", 11, OX_LATEST, ox_op_sequence_empty, 0, true },
    { "SequenceConstruct", 11, OX_LATEST, ox_op_sequence_construct, 0, true },
    { "SequenceInsert", 11, OX_LATEST, ox_op_sequence_insert, 0, true },
    { "SequenceErase", 11, OX_LATEST, ox_op_sequence_erase, 0, true },
    { "SequenceAt", 11, OX_LATEST, ox_op_sequence_at, 0, true },
    { "SequenceLength", 11, OX_LATEST, ox_op_sequence_length, 0, true },
    { "ConcatFromSequence", 11, OX_LATEST, ox_op_concat_from_sequence, 0, false },
    { "SplitToSequence", 11, OX_LATEST, ox_op_split_to_sequence, 0, false },
    { "Optional", 15, OX_LATEST, ox_op_optional, 0, true },
    { "OptionalHasElement", 15, OX_LATEST, ox_op_optional_has_element, 0, true },
    { "OptionalGetElement", 15, OX_LATEST, ox_op_optional_get_element, 0, true },
    /* control.h */
    { "If", 1, OX_LATEST, ox_op_if, 0, true },
    { "Loop", 1, OX_LATEST, ox_op_loop, 0, true },
    { "Scan", 8, OX_LATEST, ox_op_scan, 0, true },
    { "SequenceMap", 17, OX_LATEST, ox_op_sequence_map, 0, true },
    /* refused */
    { "RandomNormal", 1, OX_LATEST, ox_op_random, 0, false },
    { "RandomNormalLike", 1, OX_LATEST, ox_op_random, 0, false },
    { "RandomUniform", 1, OX_LATEST, ox_op_random, 0, false },
    { "RandomUniformLike", 1, OX_LATEST, ox_op_random, 0, false },
    { "Bernoulli", 15, OX_LATEST, ox_op_random, 0, false },
    { "Multinomial", 7, OX_LATEST, ox_op_random, 0, false },
    { "StringNormalizer", 10, OX_LATEST, ox_op_strings, 0, false },
};

/* training.h */
static const ox_row ox_training_rows[] = {
    { "Adagrad", 1, 1, ox_op_adagrad, 0, false },
    { "Adam", 1, 1, ox_op_adam, 0, false },
    { "Momentum", 1, 1, ox_op_momentum, 0, false },
    { "Gradient", 1, 1, ox_op_gradient, 0, true },
};

/* com.microsoft: nbits.h, microsoft.h, microsoft_attention.h */
static const ox_row ox_microsoft_rows[] = {
    { "MatMulNBits", 1, 1, ox_op_mat_mul_nbits, 0, false },
    { "GatherBlockQuantized", 1, 1, ox_op_gather_nbits, 0, false },
    { "Gelu", 1, 1, ox_op_gelu, 0, false },
    { "BiasGelu", 1, 1, ox_op_bias_gelu, 0, false },
    { "FastGelu", 1, 1, ox_op_fast_gelu, 0, false },
    { "QuickGelu", 1, 1, ox_op_quick_gelu, 0, false },
    { "BiasSoftmax", 1, 1, ox_op_bias_softmax, 0, false },
    { "FusedMatMul", 1, 1, ox_op_fused_mat_mul, 0, false },
    { "TransposeMatMul", 1, 1, ox_op_fused_mat_mul, 0, false },
    { "FusedGemm", 1, 1, ox_op_fused_gemm, 0, false },
    { "FusedConv", 1, 1, ox_op_fused_conv, 0, false },
    { "SkipLayerNormalization", 1, 1, ox_op_skip_norm, 0, false },
    { "SkipSimplifiedLayerNormalization", 1, 1, ox_op_skip_norm, 1, false },
    { "SimplifiedLayerNormalization", 1, 1, ox_op_simple_norm, 0, false },
    { "EmbedLayerNormalization", 1, 1, ox_op_embed_norm, 0, false },
    { "Attention", 1, 1, ox_op_bert_attention, 0, false },
    { "MultiHeadAttention", 1, 1, ox_op_multi_head, 0, false },
    { "GroupQueryAttention", 1, 1, ox_op_group_query, 0, false },
    { "RotaryEmbedding", 1, 1, ox_op_rotary_of_ids, 0, false },
    { "QuantizeLinear", 1, 1, ox_op_quantize, 0, false },
    { "DequantizeLinear", 1, 1, ox_op_dequantize, 0, false },
    { "QLinearAdd", 1, 1, ox_op_q_linear_pair, OX_ADD, false },
    { "QLinearMul", 1, 1, ox_op_q_linear_pair, OX_MUL, false },
    { "QLinearSigmoid", 1, 1, ox_op_q_linear_map, OX_Q_SIGMOID, false },
    { "QLinearLeakyRelu", 1, 1, ox_op_q_linear_map, OX_Q_LEAKY_RELU, false },
    { "QLinearSoftmax", 1, 1, ox_op_q_linear_map, OX_Q_SOFTMAX, false },
    { "QLinearAveragePool", 1, 1, ox_op_q_linear_average, 0, false },
    { "QLinearGlobalAveragePool", 1, 1, ox_op_q_linear_mean, 1, false },
    { "QLinearReduceMean", 1, 1, ox_op_q_linear_mean, 0, false },
    { "QLinearConcat", 1, 1, ox_op_q_linear_concat, 0, false },
    { "QLinearWhere", 1, 1, ox_op_q_linear_where, 0, false },
    { "QGemm", 1, 1, ox_op_q_gemm, 0, false },
    { "QAttention", 1, 1, ox_op_q_attention, 0, false },
    { "MatMulIntegerToFloat", 1, 1, ox_op_mat_mul_integer_to_float, 0, false },
    { "DynamicQuantizeMatMul", 1, 1, ox_op_dynamic_mat_mul, 0, false },
    { "DynamicQuantizeLSTM", 1, 1, ox_op_dynamic_lstm, 4, false },
};

/* ai.onnx.ml: ml.h */
static const ox_row ox_ml_rows[] = {
    { "TreeEnsembleRegressor", 1, 5, ox_op_tree_regressor, 0, false },
    { "TreeEnsembleClassifier", 1, 5, ox_op_tree_classifier, 0, false },
    { "TreeEnsemble", 5, 5, ox_op_tree_ensemble, 0, false },
    { "LinearRegressor", 1, 5, ox_op_linear_regressor, 0, false },
    { "LinearClassifier", 1, 5, ox_op_linear_classifier, 0, false },
    { "SVMRegressor", 1, 5, ox_op_svm_regressor, 0, false },
    { "SVMClassifier", 1, 5, ox_op_svm_classifier, 0, false },
    { "Scaler", 1, 5, ox_op_scaler, 0, false },
    { "Normalizer", 1, 5, ox_op_normalizer, 0, false },
    { "Binarizer", 1, 5, ox_op_binarizer, 0, false },
    { "Imputer", 1, 5, ox_op_imputer, 0, false },
    { "FeatureVectorizer", 1, 5, ox_op_feature_vectorizer, 0, false },
    { "ArrayFeatureExtractor", 1, 5, ox_op_feature_extractor, 0, false },
    { "LabelEncoder", 2, 5, ox_op_label_encoder, 0, false },
    { "OneHotEncoder", 1, 5, ox_op_one_hot_encoder, 0, false },
    { "ZipMap", 1, 5, ox_op_zip_map, 0, false },
    { "CategoryMapper", 1, 5, ox_op_strings, 0, false },
    { "CastMap", 1, 5, ox_op_strings, 0, false },
    { "DictVectorizer", 1, 5, ox_op_strings, 0, false },
};

/* ---- Domains ---- */

typedef struct ox_domain {
    const char *name; /* "": ai.onnx */
    const ox_row *row;
    int32_t n_rows;
} ox_domain;

#define OX_DOMAIN(name, rows) \
    { \
        name, rows, (int32_t)(sizeof rows / sizeof *rows) \
    }

static const ox_domain ox_domains[] = {
    OX_DOMAIN("", ox_rows),
    OX_DOMAIN("ai.onnx.preview.training", ox_training_rows),
    OX_DOMAIN("ai.onnx.ml", ox_ml_rows),
    OX_DOMAIN("com.microsoft", ox_microsoft_rows),
};

enum { OX_N_DOMAINS = sizeof ox_domains / sizeof *ox_domains };

static const ox_row *ox_find_row(const char *domain, const char *op)
{
    for (int d = 0; d < OX_N_DOMAINS; d++) {
        if (strcmp(ox_domains[d].name, domain)) continue;
        for (int32_t i = 0; i < ox_domains[d].n_rows; i++)
            if (!strcmp(ox_domains[d].row[i].op, op)) return &ox_domains[d].row[i];
    }
    return NULL;
}

SAMBA_ONNX_API void onnx_print_ops(samba_emit_fn emit, void *user)
{
    char line[120];
    for (int d = 0; d < OX_N_DOMAINS; d++) {
        const ox_domain *domain = &ox_domains[d];
        for (int32_t i = 0; i < domain->n_rows; i++) {
            const ox_row *row = &domain->row[i];
            if (row->run == ox_op_random || row->run == ox_op_strings) continue;
            snprintf(line, sizeof line, "%s%s%s %d\n", domain->name, *domain->name ? "." : "",
                     row->op, row->first);
            emit(line, user);
        }
    }
}

SAMBA_ONNX_API bool onnx_register_ops(samba_session *s)
{
    bool fine = samba_ok(s);
    for (size_t i = 0; fine && i < sizeof ox_kernels / sizeof *ox_kernels; i++)
        fine = samba_register_op(s, &ox_kernels[i]);
    for (size_t i = 0; fine && i < sizeof ox_sampling_kernels / sizeof *ox_sampling_kernels; i++)
        fine = samba_register_op(s, &ox_sampling_kernels[i]);
    for (size_t i = 0; fine && i < sizeof ox_nbits_kernels / sizeof *ox_nbits_kernels; i++)
        fine = samba_register_op(s, &ox_nbits_kernels[i]);
    for (size_t i = 0; fine && i < sizeof ox_ml_kernels / sizeof *ox_ml_kernels; i++)
        fine = samba_register_op(s, &ox_ml_kernels[i]);
    for (size_t i = 0; fine && i < sizeof ox_signal_kernels / sizeof *ox_signal_kernels; i++)
        fine = samba_register_op(s, &ox_signal_kernels[i]);
    return fine;
}
