"""sklearn_cases.py FOLDER: estimators of scikit-learn, converted by skl2onnx, with inputs and what
the estimators themselves predict, as cases of ONNX's test set. Prints their names."""
import os
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from skl2onnx import to_onnx
from sklearn import datasets
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (AdaBoostClassifier, BaggingClassifier, ExtraTreesRegressor,
                              GradientBoostingClassifier, GradientBoostingRegressor,
                              RandomForestClassifier, RandomForestRegressor)
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (ElasticNet, LinearRegression, LogisticRegression, Ridge,
                                  SGDClassifier)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (Binarizer, MinMaxScaler, Normalizer, OneHotEncoder,
                                   PolynomialFeatures, RobustScaler, StandardScaler)
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

warnings.filterwarnings("ignore")
folder = sys.argv[1] + "/sklearn"
rows = 20


def write(name, model, feed, outputs):
    data = f"{folder}/{name}/test_data_set_0"
    os.makedirs(data, exist_ok=True)
    onnx.save(model, f"{folder}/{name}/model.onnx")
    for kind, values in (("input", [feed]), ("output", outputs)):
        for i, value in enumerate(values):
            with open(f"{data}/{kind}_{i}.pb", "wb") as f:
                f.write(numpy_helper.from_array(np.asarray(value)).SerializeToString())
    print("sklearn/" + name)


def case(name, model, x, y):
    """Fits, converts and predicts: labels, then probabilities or decisions."""
    x = x.astype(np.float32)
    model.fit(x, y)
    classifies = hasattr(model, "classes_")
    plain = not classifies or isinstance(model, LinearSVC)
    converted = to_onnx(model, x[:rows], options=None if plain else {id(model): {"zipmap": False}})
    some = x[::len(x) // rows][:rows]
    if classifies:
        decides = model.predict_proba if hasattr(model, "predict_proba") else None
        outputs = [model.predict(some).astype(np.int64)]
        if decides:
            outputs.append(decides(some).astype(np.float32))
        else:
            scores = model.decision_function(some).astype(np.float32)
            outputs.append(scores.reshape(rows, -1))
    elif hasattr(model, "predict"):
        outputs = [model.predict(some).astype(np.float32).reshape(rows, -1)]
    else:
        outputs = [model.transform(some).astype(np.float32)]
    write(name, converted, some, outputs)


three = datasets.load_iris(return_X_y=True)
two = datasets.load_breast_cancer(return_X_y=True)
number = datasets.load_diabetes(return_X_y=True)
scaled = StandardScaler().fit_transform(two[0]), two[1]
gap = three[0].copy()
gap[::7, 1] = np.nan
whole = np.floor(three[0]), three[1]

CASES = [
    ("logistic_3", LogisticRegression(max_iter=500), three),
    ("logistic_2", LogisticRegression(max_iter=500), scaled),
    ("linear", LinearRegression(), number),
    ("ridge", Ridge(), number),
    ("elastic", ElasticNet(alpha=0.01), number),
    ("sgd", SGDClassifier(loss="log_loss", random_state=0), scaled),
    ("tree_3", DecisionTreeClassifier(max_depth=4), three),
    ("tree", DecisionTreeRegressor(max_depth=5), number),
    ("forest_3", RandomForestClassifier(20, random_state=0), three),
    ("forest_2", RandomForestClassifier(20, random_state=0), two),
    ("forest", RandomForestRegressor(20, random_state=0, max_depth=8), number),
    ("extra", ExtraTreesRegressor(10, random_state=0, max_depth=6), number),
    ("boosting_3", GradientBoostingClassifier(n_estimators=20, random_state=0), three),
    ("boosting_2", GradientBoostingClassifier(n_estimators=20, random_state=0), two),
    ("boosting", GradientBoostingRegressor(n_estimators=20, random_state=0), number),
    ("bagging", BaggingClassifier(DecisionTreeClassifier(max_depth=3), 5, random_state=0), three),
    ("ada", AdaBoostClassifier(n_estimators=5, random_state=0), three),
    ("svc_3", SVC(probability=True, random_state=0), three),
    ("svc_2", SVC(probability=True, random_state=0), scaled),
    ("svc_poly", SVC(kernel="poly", probability=True, random_state=0), three),
    ("svc_plain", SVC(kernel="linear", decision_function_shape="ovo"), three),
    ("svr", SVR(C=50), number),
    ("svr_sigmoid", SVR(kernel="sigmoid"), number),
    ("linear_svc", LinearSVC(), scaled),
    ("neighbors_3", KNeighborsClassifier(3), three),
    ("neighbors", KNeighborsRegressor(4), number),
    ("mlp_3", MLPClassifier((12, 8), random_state=0, max_iter=300), three),
    ("mlp", MLPRegressor(hidden_layer_sizes=(12,), random_state=0, max_iter=300), number),
    ("bayes", GaussianNB(), three),
    ("discriminant", LinearDiscriminantAnalysis(), three),
    ("rest", OneVsRestClassifier(LogisticRegression()), three),
    ("pipeline", make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)), two),
    ("pipeline_svr", make_pipeline(MinMaxScaler(), PCA(3), SVR()), number),
    ("pipeline_gap", make_pipeline(SimpleImputer(), RobustScaler(), LogisticRegression()),
     (gap, three[1])),
    ("scaler", StandardScaler(), number),
    ("normalizer_l1", Normalizer("l1"), three),
    ("normalizer_l2", Normalizer("l2"), three),
    ("normalizer_max", Normalizer("max"), three),
    ("binarizer", Binarizer(threshold=2.0), three),
    ("polynomial", PolynomialFeatures(2), three),
    ("one_hot", make_pipeline(OneHotEncoder(sparse_output=False), LogisticRegression()), whole),
]
for name, model, (x, y) in CASES:
    try:
        case(name, model, x, y)
    except Exception as e:
        print("not made:", name, str(e)[-200:], file=sys.stderr)
