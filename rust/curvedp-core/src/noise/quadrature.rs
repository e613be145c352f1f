//! Gauss-Legendre quadrature on an interval and on a list of panels.

use std::f64::consts::PI;

/// Nodes and weights of the `N`-point Gauss-Legendre rule on [-1, 1].
#[derive(Clone)]
pub(super) struct GaussLegendre<const N: usize> {
    nodes: [(f64, f64); N],
}

impl<const N: usize> GaussLegendre<N> {
    /// Newton's iteration on the Legendre polynomial from Tricomi's starting points.
    pub(super) fn new() -> Self {
        let mut nodes = [(0.0, 0.0); N];
        for (i, node) in nodes.iter_mut().enumerate() {
            let mut x = libm::cos(PI * (i as f64 + 0.75) / (N as f64 + 0.5));
            for _ in 0..6 {
                let (value, slope) = legendre(N, x);
                x -= value / slope;
            }
            let (_, slope) = legendre(N, x);
            *node = (x, 2.0 / ((1.0 - x * x) * slope * slope));
        }
        Self { nodes }
    }

    /// Nodes and weights on [a, b].
    pub(super) fn on(&self, a: f64, b: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        let (centre, half) = (0.5 * (a + b), 0.5 * (b - a));
        self.nodes.iter().map(move |&(x, w)| (centre + half * x, half * w))
    }

    /// Nodes and weights on `count` equal panels of [a, b].
    pub(super) fn on_panels(
        &self,
        a: f64,
        b: f64,
        count: usize,
    ) -> impl Iterator<Item = (f64, f64)> + '_ {
        let width = (b - a) / count as f64;
        (0..count).flat_map(move |k| self.on(a + width * k as f64, a + width * (k + 1) as f64))
    }

    /// The integral of `f` over [a, b].
    pub(super) fn integrate(&self, a: f64, b: f64, f: impl Fn(f64) -> f64) -> f64 {
        self.on(a, b).map(|(x, w)| w * f(x)).sum()
    }
}

/// The Legendre polynomial of degree `n` and its derivative, |x| < 1.
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut previous, mut value) = (1.0, x);
    for k in 2..=n {
        let k = k as f64;
        (previous, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * previous) / k);
    }
    (value, n as f64 * (x * value - previous) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_up_to_twice_the_order_are_integrated_exactly() {
        let rule = GaussLegendre::<20>::new();
        for degree in 0..40 {
            let exact = (2f64.powi(degree + 1) - 1.0) / f64::from(degree + 1);
            let found = rule.integrate(1.0, 2.0, |x| x.powi(degree));
            assert!((found / exact - 1.0).abs() < 1e-13, "{degree}");
        }
    }

    #[test]
    fn panels_tile_the_interval() {
        let rule = GaussLegendre::<16>::new();
        let found: f64 = rule.on_panels(0.0, 9.0, 3).map(|(x, w)| w * libm::exp(-x)).sum();
        assert!((found + libm::expm1(-9.0)).abs() < 1e-15);
    }
}
