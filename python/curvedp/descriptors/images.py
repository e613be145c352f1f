"""Region covariance descriptors of images (Tuzel, Porikli and Meer 2006), points of SPD(m)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._guard import quiet
from curvedp._validation import FloatArray, as_choice, as_count, as_float_array, as_positive

#: Pixel features by name. G is the gray image; "intensity" stands for one feature per channel.
FEATURES = (
    "x",
    "y",
    "intensity",
    "gray",
    "dx",
    "dy",
    "dxx",
    "dyy",
    "dxy",
    "abs_dx",
    "abs_dy",
    "abs_dxx",
    "abs_dyy",
    "abs_dxy",
    "gradient_norm",
    "orientation",
)

#: "texture" gives 5 x 5 matrices of gray images; "region", the features of Utpala et al. (2023),
#: gives 9 x 9 of gray and 11 x 11 of colour images.
PRESETS = MappingProxyType(
    {
        "texture": ("intensity", "abs_dx", "abs_dy", "abs_dxx", "abs_dyy"),
        "region": (
            "x",
            "y",
            "intensity",
            "abs_dx",
            "abs_dy",
            "abs_dxx",
            "abs_dyy",
            "gradient_norm",
            "orientation",
        ),
    }
)

#: Below this the rounding of features, which are of order 1, could outweigh the ridge.
SMALLEST_RIDGE = 1e-10

_COLOUR_WEIGHTS = (0.299, 0.587, 0.114)


@quiet
def image_covariance(
    images: ArrayLike,
    *,
    features: str | Sequence[str] = "region",
    ridge: float = 1e-6,
    value_range: tuple[float, float] | None = None,
    gray_weights: ArrayLike | None = None,
) -> FloatArray:
    """Covariance descriptors of images: points of ``SPD(m)``.

    With f(p) the m features at pixel p and f̄ their mean over the N pixels of the image,

        R = 1/N Σ_p (f(p) - f̄)(f(p) - f̄)ᵀ + ridge · I.

    Parameters
    ----------
    images : array-like, shape (n, height, width) or (n, height, width, channels)
        Any number of channels.
    features : str or sequence of str
        A preset, ``"region"`` or ``"texture"``, or names of `FEATURES` in the order wanted:

        - ``x``, ``y``: column divided by the width, row divided by the height;
        - ``intensity``: the level of each channel, ``gray``: that of the gray image G;
        - ``dx``, ``dy``, ``dxx``, ``dyy``, ``dxy``: derivatives of G with the filters [-1 0 1] and
          [-1 2 -1]; the outermost pixels are repeated beyond the border;
        - ``abs_dx`` and so on: their magnitudes;
        - ``gradient_norm``: sqrt(dx² + dy²);
        - ``orientation``: arctan(|dx| / |dy|) in [0, π/2], 0 where both vanish.
    ridge : float
        At least 1e-10. Every eigenvalue of R is at least this, up to rounding.
    value_range : (float, float), optional
        Pixel values of level 0 and level 1, public numbers; pixels beyond are clipped. Left out, it
        is (0, 1) for arrays of a floating-point dtype or bool, (0, 255) for uint8 and (0, 65535)
        for uint16; anything else needs it.
    gray_weights : array-like, shape (channels,), optional
        Weights of the channels in G, not negative and not all 0; they are scaled to sum 1.
        Left out: (0.299, 0.587, 0.114) for three channels (ITU-R BT.601), else equal ones.

    Returns
    -------
    ndarray, shape (n, m, m)
        Symmetric positive definite. An image with a NaN or infinite pixel becomes ``ridge * I``. In
        a constant image only ``x`` and ``y`` vary; without them it becomes ``ridge * I`` too.

    Raises
    ------
    ValueError, TypeError
        If the shape or a parameter is wrong, or the dtype needs `value_range`.

    Notes
    -----
    Levels lie in [0, 1], so features are bounded and the eigenvalues of R lie between ``ridge`` and
    ``ridge + Σ_k r_k²/4``, with r_k the length of the k-th feature's range: 1 for x, y, levels and
    magnitudes of first derivatives, 2 for magnitudes of second ones, twice that for signed
    derivatives, √2 for the gradient's norm, π/2 for the orientation.

    An affine-invariant mean sees only ratios of eigenvalues. A smaller ridge spreads images with
    little texture out and calls for a larger ball.

    References
    ----------
    Tuzel, Porikli and Meer (2006), Region covariance: a fast descriptor for detection and
    classification. Utpala, Vepakomma and Miolane (2023), Differentially private Fréchet mean on the
    manifold of symmetric positive definite matrices; equations 45 and 46 of the conformal
    mechanism's paper are theirs.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> images = np.zeros((2, 28, 28), dtype=np.uint8)
    >>> images[0, 7:21, 7:21] = 255
    >>> cdp.descriptors.image_covariance(images, features="texture").shape
    (2, 5, 5)
    >>> colour = np.random.default_rng(0).uniform(size=(3, 32, 32, 3))
    >>> matrices = cdp.descriptors.image_covariance(colour)
    >>> matrices.shape
    (3, 11, 11)
    >>> bool(cdp.SPD(11).belongs(matrices).all())
    True
    """
    low, high = _value_range(images, value_range)
    pixels = _as_pixels(images)
    names = _as_features(features)
    weights = _gray_weights(gray_weights, pixels.shape[3])
    ridge = as_positive(ridge, "ridge")
    if ridge < SMALLEST_RIDGE:
        raise ValueError(f"ridge must be at least {SMALLEST_RIDGE}, got {ridge}")
    m = len(feature_labels(names, pixels.shape[3]))
    out = np.empty((len(pixels), m, m))
    _core.image_covariance(
        pixels, list(names), weights, (low, high), ridge, out.reshape(len(pixels), m * m)
    )
    return out


def feature_labels(features: str | Sequence[str] = "region", channels: int = 1) -> tuple[str, ...]:
    """Names of the rows of a descriptor.

    Parameters
    ----------
    features : str or sequence of str
        As for `image_covariance`.
    channels : int
        Channels of the images.

    Returns
    -------
    tuple of str
        One for each row; "intensity" is followed by the channel's index if there are several.

    Raises
    ------
    ValueError, TypeError
        For unknown features, or if `channels` is not a positive integer.

    Examples
    --------
    >>> from curvedp.descriptors import feature_labels
    >>> feature_labels("texture")
    ('intensity', 'abs_dx', 'abs_dy', 'abs_dxx', 'abs_dyy')
    >>> len(feature_labels("region", channels=3))
    11
    """
    count = as_count(channels, "channels")
    labels: list[str] = []
    for name in _as_features(features):
        if name == "intensity" and count > 1:
            labels += [f"intensity_{channel}" for channel in range(count)]
        else:
            labels.append(name)
    return tuple(labels)


def _as_features(features: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(features, str):
        return PRESETS[as_choice(features, tuple(PRESETS), "features")]
    try:
        names = tuple(features)
    except TypeError:
        raise TypeError(
            f"features must be a preset or names of features, got {type(features).__name__}"
        ) from None
    if not names:
        raise ValueError("features is empty: name at least one")
    for name in names:
        as_choice(name, FEATURES, "every entry of features")
    if len(set(names)) < len(names):
        raise ValueError("features has a name twice: name each feature once")
    return names


def _value_range(images: Any, value_range: tuple[float, float] | None) -> tuple[float, float]:
    """Range of levels, chosen by an array's dtype and never by a value; the dtype of a list depends
    on its entries and is not used."""
    if value_range is None:
        dtype = images.dtype if isinstance(images, np.ndarray) else None
        if dtype is not None and dtype.kind in "fb":
            return 0.0, 1.0
        if dtype == np.uint8 or dtype == np.uint16:
            return 0.0, float(np.iinfo(dtype).max)
        what = "images that are not a NumPy array" if dtype is None else f"images of dtype {dtype}"
        raise ValueError(f"{what} need value_range=(low, high), the pixel values of level 0 and 1")
    try:
        low, high = (float(bound) for bound in value_range)
    except (TypeError, ValueError):
        raise TypeError("value_range must be two numbers (low, high)") from None
    if not (low < high and math.isfinite(low) and math.isfinite(high - low)):
        raise ValueError(f"value_range must be finite with low < high, got ({low}, {high})")
    return low, high


def _as_pixels(images: ArrayLike) -> NDArray[np.uint8] | FloatArray:
    """C-contiguous (n, height, width, channels), bytes as they are and all else as float64."""
    pixels: NDArray[np.uint8] | FloatArray
    if isinstance(images, np.ndarray) and images.dtype == np.bool_:
        images = images.astype(np.uint8)
    if type(images) is np.ndarray and images.dtype == np.uint8:
        pixels = np.ascontiguousarray(images)
    else:
        pixels = as_float_array(images, "images")
    if pixels.ndim not in (3, 4):
        raise ValueError(
            "images must have shape (n, height, width) or (n, height, width, channels), "
            f"got {pixels.shape}"
        )
    if pixels.size == 0:
        raise ValueError(f"images is empty: got shape {pixels.shape}")
    return pixels[..., None] if pixels.ndim == 3 else pixels


def _gray_weights(gray_weights: ArrayLike | None, channels: int) -> FloatArray:
    if gray_weights is None:
        gray_weights = _COLOUR_WEIGHTS if channels == 3 else np.ones(channels)
    weights = as_float_array(gray_weights, "gray_weights")
    if weights.shape != (channels,):
        raise ValueError(f"gray_weights must have shape ({channels},), got {weights.shape}")
    if not (np.all(np.isfinite(weights)) and weights.min() >= 0 and weights.max() > 0):
        raise ValueError("gray_weights must be finite and not negative, and not all 0")
    relative: FloatArray = weights / weights.max()
    shares: FloatArray = relative / relative.sum()
    return shares
