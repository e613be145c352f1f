"""Records in the forms that people have, read as points of a manifold."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._hints import hinting
from curvedp._validation import (
    FloatArray,
    as_array,
    as_float_array,
    as_points,
    of_cell,
    refuse_texts,
)
from curvedp.manifolds.reading import PLAIN, Reading, Written


class RecordReader(abc.ABC):
    """A space whose points are read: their shape, and the forms they are written in."""

    #: What the shorter form of a point is.
    _short_form: ClassVar[str] = ""

    #: Compiled maps of the space.
    kernels: _core.Manifold
    point_shape: tuple[int, ...]

    @property
    @abc.abstractmethod
    def spec(self) -> str:
        """Text that names the manifold."""

    @property
    @abc.abstractmethod
    def written(self) -> Written:
        """Forms in which its points may be written."""

    @property
    @abc.abstractmethod
    def point_size(self) -> int:
        """Number of float64 entries of a point."""

    @hinting
    def as_points(
        self,
        records: ArrayLike,
        *,
        order: str | None = None,
        scalar_first: bool | None = None,
        angle_units: str | None = None,
        mask: ArrayLike | None = None,
    ) -> FloatArray:
        """The points that records stand for, as every release reads them.

        A record is a point, up to 1e-5 relative, as an array or flat, or its shorter form: the
        upper triangle of a symmetric matrix row by row (of a correlation matrix the entries above
        the diagonal; lower triangles need `order`: of 3 rows or more they have as many numbers, in
        another order), longitude and latitude in degrees on the
        2-sphere, a quaternion with its scalar last or a SciPy ``Rotation``, a point of the Poincaré
        ball, the projector on a subspace. Directions, axes and quaternions may have any length,
        landmarks any place and size, angles any number of turns; a subspace is the span of any
        basis. Numbers that are written otherwise are read by the keywords; columns of a table,
        pandas or polars, by their names, where these say what they hold: ``lat, lon``;
        ``w, x, y, z``; ``Dxx, Dyy, ...``; ``lon_rad, lat_rad``; ``time_hours``.

        Parameters
        ----------
        records : array-like, shape (..., *point_shape), (..., point_size) or (..., short form)
            Landmarks also as an array of complex numbers, shape (..., k_landmarks), complex
            matrices as one of shape (..., m, m).
        order : {"fsl", "dipy", "mrtrix", "lower", "nilearn"}, optional
            Of the six numbers of a diffusion tensor: xx, xy, xz, yy, yz, zz, as FSL's dtifit has
            them and as they are read by default; xx, xy, yy, xz, yz, zz, dipy's lower triangle;
            xx, yy, zz, xy, xz, yz, MRtrix's. Of a symmetric or correlation matrix of any size:
            "lower", its lower triangle row by row; "nilearn", as nilearn's ``vectorize=True`` and
            ``sym_matrix_to_vec`` have it, with a diagonal that is divided by √2. Of correlations
            with the diagonal or without.
        scalar_first : bool, optional
            True for quaternions w, x, y, z, as MNE, pyquaternion and Eigen's constructor have
            them; by default the scalar is last, as in SciPy and ROS.
        angle_units : {"radians", "degrees", "hours"}, optional
            Of longitude and latitude, degrees by default, and of angles on a torus, radians by
            default; 24 hours are a turn.
        mask : array-like of bool, optional
            For volumes: the public region whose voxels are records, of the shape of the leading
            axes of `records`. One that was made from the records is not public.

        Returns
        -------
        ndarray, shape (..., *point_shape), with `mask` (n, *point_shape)
            NaN for what stands for no point; releases count it as the centre of their ball.

        Raises
        ------
        ValueError, TypeError
            For another shape or dtype, for a keyword that says nothing of this manifold, and for
            names of columns that contradict it.

        Examples
        --------
        >>> import curvedp as cdp
        >>> cdp.Sphere(2).as_points([[90.0, 0.0], [0.0, 90.0]]).tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        >>> cdp.Sphere(2).as_points([[0.0, 0.0, 5.0], [0.0, 0.0, 0.0]]).tolist()
        [[0.0, 0.0, 1.0], [nan, nan, nan]]
        >>> volume = np.full((2, 2, 2, 6), [1.0, 2.0, 3.0, 0.0, 0.0, 0.0])  # MRtrix's order
        >>> brain = np.arange(8).reshape(2, 2, 2) < 3
        >>> cdp.SPD(3).as_points(volume, order="mrtrix", mask=brain).shape
        (3, 3, 3)
        """
        reading = Reading(order, scalar_first, angle_units).check(self.written)
        numbers = self._numbers(records, "records", reading)
        if mask is not None:
            numbers = as_masked(numbers, mask)
        if self.point_shape == (1,) and numbers.ndim == 1 and len(numbers) != 1:
            numbers = numbers[:, None]  # numbers, each of them a point
        return self._snapped(self._shaped(numbers, "records"))

    def _snapped(self, records: FloatArray) -> FloatArray:
        """Points of records of shape (..., *point_shape), NaN for what stands for none."""
        points = np.array(records)
        valid = np.zeros(self._lead(points), dtype=np.bool_)
        if valid.size:
            self.kernels.snap(self._flat(points), valid.reshape(-1))
        points[~valid] = np.nan
        return points

    def read_records(
        self,
        value: ArrayLike,
        name: str = "records",
        *,
        least: int = 1,
        reading: Reading = PLAIN,
    ) -> FloatArray:
        """Records, shape (n, *point_shape) with n >= least, whatever form they come in.

        Parameters
        ----------
        value : array-like
            Points, flat points or a shorter form of them; no value raises.
        name : str
            For messages.
        least : {0, 1}
            With 0 an empty container of any dtype is no records.
        reading : Reading
            How their numbers are written.

        Raises
        ------
        ValueError, TypeError
            For another shape or dtype, and for no record unless `least` is 0.
        """
        if least == 0 and _is_empty(value):
            shape = getattr(value, "shape", (0,))
            columns = shape if len(shape) > 1 and 0 not in shape[1:] else (0, *self.point_shape)
            return self._shaped(np.empty(columns), name)
        array = self._numbers(value, name, reading)
        if self.point_shape == (1,) and array.ndim == 1:
            array = array[:, None]  # numbers, each of them a point
        if array.shape == self.point_shape and array.shape[1:] == (self.kernels.short_size,):
            array = array[:, None, :]  # rows of short forms, not one point
            points = self._complete(array.reshape(len(array), -1))
            assert points is not None
            array = points.reshape(len(points), *self.point_shape)
        array = self._shaped(array, name, is_n_public=least > 0)
        if array.ndim != len(self.point_shape) + 1:
            wanted, got = _shape(("n", *self.point_shape)), _shape(array.shape, least > 0)
            further = "; of a volume take the points of a public mask: as_points(volume, mask=mask)"
            if isinstance(value, list | tuple):
                further = "; a list of arrays of records is joined by numpy.concatenate"
            is_volume = array.ndim > len(self.point_shape) + 1
            raise ValueError(f"{name} must have shape {wanted}, got {got}{further * is_volume}")
        if len(array) < least:
            raise ValueError(f"{name} is empty: a data set needs at least one record")
        return array

    def _whole(self, value: Any, name: str) -> FloatArray:
        """Records of any form in that of points, shape (..., *point_shape); values stay theirs."""
        return self._shaped(self._numbers(value, name), name)

    def _shaped(self, array: FloatArray, name: str, *, is_n_public: bool = True) -> FloatArray:
        """Points, shape (..., *point_shape), of an array of numbers in any of their forms."""
        size = len(self.point_shape)
        if array.ndim >= size and array.shape[array.ndim - size :] == self.point_shape:
            return array
        lead, rows = array.shape[:-1], None
        if array.ndim > 0:
            rows = self._complete(array.reshape(math.prod(lead), array.shape[-1]))
        if rows is None:
            wanted, got = _shape(("...", *self.point_shape)), _shape(array.shape, is_n_public)
            entries = f"; {self._expected_entries}" if self.kernels.short_size else ""
            entries += self._meant(array.shape)
            if array.ndim == size + 1 and array.shape[:-1] == self.point_shape:
                entries += "; records come first: numpy.moveaxis(records, -1, 0)"
            raise ValueError(f"{name} must have shape {wanted}, got {got}{entries}")
        return rows.reshape(*lead, *self.point_shape)

    def _numbers(self, value: Any, name: str, reading: Reading = PLAIN) -> FloatArray:
        """An array of real numbers from what users of this manifold have.

        A table's by the names of its columns.
        """
        order, reading = self.named(value, reading)
        refuse_texts(value, name)
        if hasattr(value, "to_numpy"):
            column = as_array(value, name)
            if column.dtype == np.dtype(object) and column.ndim == 1:  # cells hold lists or arrays
                return self._of_cells([of_cell(cell) for cell in column], reading)
        numbers = as_float_array(value, name)
        numbers = numbers if order is None else numbers[..., order]
        if reading == PLAIN:
            return np.ascontiguousarray(numbers)
        return np.ascontiguousarray(reading.of_rows(numbers, self.written, name))

    def named(self, value: Any, reading: Reading = PLAIN) -> tuple[list[int] | None, Reading]:
        """The order of a table's columns by their names, and how their numbers are written.

        Parameters
        ----------
        value : Any
            None and the reading for what has no names.
        reading : Reading
            What is said.

        Returns
        -------
        list of int or None
        Reading

        Raises
        ------
        ValueError
            As in `Reading.of_columns`.
        """
        if hasattr(value, "to_numpy"):
            if len(names := getattr(value, "columns", ())):
                return reading.of_columns([str(own) for own in names], self.written)
            named = getattr(value, "name", None)
            if self.point_size == 1 and isinstance(named, str):
                return None, reading.of_columns([named], self.written)[1]
        return None, reading

    def _of_cells(self, cells: Sequence[FloatArray | None], reading: Reading) -> FloatArray:
        """Points from flat lists of numbers of any lengths, each a function of its own list."""
        size = self.point_size
        rows = np.full((len(cells), size), np.nan)
        for length in {size, self.kernels.short_size or size, *reading.widths(self.written)}:
            own = [k for k, cell in enumerate(cells) if cell is not None and len(cell) == length]
            block = np.array([cells[k] for k in own]).reshape(len(own), length)
            if not reading.reads(length, self.written):
                continue  # of another form than is said: no point
            whole = self._complete(reading.of_rows(block, self.written))
            if whole is not None:
                rows[own] = whole
        return rows.reshape(len(cells), *self.point_shape)

    def _points(self, value: Any, name: str) -> FloatArray:
        """Points or tangent vectors, shape (..., *point_shape)."""
        return as_points(self._numbers(value, name), self.point_shape, name)

    def _complete(self, rows: FloatArray) -> FloatArray | None:
        """Flat rows of whole points, given flat or short ones; None for another width."""
        if rows.shape[1] == self.point_size:
            return rows
        if rows.shape[1] != self.kernels.short_size:
            return None
        points = np.empty((len(rows), self.point_size))
        if points.size:
            self.kernels.from_short(np.ascontiguousarray(rows), points)
        return points

    def _meant(self, shape: tuple[int, ...]) -> str:
        """Where records of a refused shape are served, after a colon; nothing if nowhere."""
        return ""

    @property
    def _expected_entries(self) -> str:
        short = self.kernels.short_size
        other = f", or {short} for {self._short_form}" if short else ""
        return f"a point of {self.spec} has {self.point_size} entries{other}"

    def _lead(self, points: FloatArray) -> tuple[int, ...]:
        return points.shape[: points.ndim - len(self.point_shape)]

    def _flat(self, points: FloatArray) -> FloatArray:
        return points.reshape(-1, self.point_size)


def _shape(sizes: tuple[object, ...], is_n_public: bool = True) -> str:
    """A shape as text, without the number of records where that is protected."""
    shown = sizes if is_n_public else ("n", *sizes[1:])
    return f"({', '.join(map(str, shown))}{',' if len(shown) == 1 else ''})"


def as_masked(records: FloatArray, mask: ArrayLike) -> FloatArray:
    """The records of a volume where a public mask is True, shape (n, ...).

    Raises
    ------
    ValueError, TypeError
        For a mask of other values or of another shape than the leading axes of records, and for
        one that is False everywhere.
    """
    chosen = np.asarray(mask)
    if chosen.dtype.kind in "iuf" and np.isin(chosen, (0, 1)).all():
        chosen = chosen.astype(np.bool_)
    if chosen.dtype != np.bool_:
        raise TypeError("mask must be of bool, or of 0 and 1")
    if chosen.ndim == 0 or chosen.shape != records.shape[: chosen.ndim]:
        shapes = f"{records.shape}, got {chosen.shape}"
        each = ": of a volume for each subject take records[:, mask], and leave mask out"
        each *= chosen.shape == records.shape[1 : 1 + chosen.ndim]
        raise ValueError(f"mask must have the shape of the leading axes of records, {shapes}{each}")
    if not chosen.any():
        raise ValueError("mask is False everywhere: a data set needs at least one record")
    return np.ascontiguousarray(records[chosen])


def _is_empty(value: Any) -> bool:
    """True for a container of nothing."""
    try:
        return len(value) == 0
    except TypeError:  # it has no length
        return False
