"""scikit-learn's conventions, without scikit-learn: parameters, tags, two-dimensional input."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_array, as_float_array


class Conventions:
    """An estimator whose attributes are named as the parameters of its constructor."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Sets parameters of the constructor."""
        for name, value in params.items():
            if name not in self._parameters():
                raise ValueError(
                    f"Invalid parameter {name!r}: choose from {list(self._parameters())}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        given = ", ".join(
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name].default and value != defaults[name].default
        )
        return f"{type(self).__name__}({given})"

    def __sklearn_tags__(self) -> Any:
        """Read by scikit-learn alone."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(allow_nan=True),
            non_deterministic=True,
        )

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        return tuple(inspect.signature(cls).parameters)


def as_rows(X: ArrayLike) -> FloatArray:
    """A float64 array of n >= 1 rows and m >= 1 columns; the words are scikit-learn's."""
    if scipy.sparse.issparse(X):
        raise TypeError("sparse input is not supported: pass X.toarray()")
    # a masked array knows more than the array of its numbers
    array = X if isinstance(X, np.ma.MaskedArray) else as_array(X, "X")
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers")
    if array.dtype.kind == "O":
        try:
            array = as_float_array(array.tolist(), "X")
        except TypeError:
            raise TypeError(
                "X must hold real numbers, got dtype object: every argument must be a real number, "
                "not a string or another object that is no number"
            ) from None
    rows = as_float_array(X if array.dtype.kind != "f" else array, "X")
    if rows.ndim != 2:
        raise ValueError(
            f"X must have shape (n, m), got {rows.shape}. Reshape your data with X.reshape(-1, 1) "
            "for one feature or X.reshape(1, -1) for one row"
        )
    if rows.shape[1] == 0:
        raise ValueError(f"0 feature(s) (shape={rows.shape}) while a minimum of 1 is required.")
    if len(rows) == 0:
        raise ValueError(f"0 sample(s) (shape={rows.shape}) while a minimum of 2 is required.")
    return rows
