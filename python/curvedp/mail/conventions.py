"""scikit-learn's conventions, without scikit-learn: parameters, tags, repr."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self


class Conventions:
    """An estimator whose attributes are named as the parameters of its constructor.

    It may hold a `Ledger`: `sklearn.base.clone`, pipelines and searches hand on the ledger itself,
    so that every fit of every copy is charged to the one account.
    """

    #: Facts that scikit-learn asks for: "regressor" or None, True if `fit` needs y, and True if
    #: there is a `transform` (or `fit_transform`).
    _estimator_type: ClassVar[str | None] = None
    _needs_target: ClassVar[bool] = False
    _transforms: ClassVar[bool] = False

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
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=self._estimator_type,
            target_tags=TargetTags(required=self._needs_target),
            transformer_tags=TransformerTags() if self._transforms else None,
            regressor_tags=RegressorTags() if self._estimator_type == "regressor" else None,
            input_tags=InputTags(allow_nan=True),
            non_deterministic=True,
        )

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        return tuple(inspect.signature(cls).parameters)
