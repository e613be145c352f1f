//! Aggregates, the smoothed prolongation and the Galerkin operator.

use super::{System, by_rows};
use crate::graph::Csr;

/// One step down the hierarchy.
pub(super) struct Coarsening {
    /// From coarse to fine; rows add up to 1.
    pub prolongation: Csr,
    /// Its transpose.
    pub restriction: Csr,
    pub coarse: System,
}

const NONE: u32 = u32::MAX;

/// Nodes are strongly tied if w_ij > STRONG sqrt(d_i d_j); only such nodes share an aggregate.
const STRONG: f64 = 0.05;

/// Galerkin coarsening, S_c = P^T S P with shift P^T shift, for a spectrum of D^-1 A up to `top`. None if
/// there would be hardly fewer rows, or more entries.
pub(super) fn coarsen(system: &System, top: f64) -> Option<Coarsening> {
    let (aggregates, count) = aggregate(system);
    if count * 10 > system.size() * 7 {
        return None;
    }
    let prolongation = smoothed(system, &aggregates, count, 4.0 / (3.0 * top));
    let restriction = transpose(&prolongation, count);
    let product = stiffness_times(system, &prolongation, count);
    let coarse = galerkin(&restriction, &product, count);
    if coarse.columns.len() > system.weights.columns.len() {
        return None;
    }
    let shift = (0..count)
        .map(|c| {
            let (rows, values) = restriction.row(c);
            rows.iter().zip(values).map(|(&i, p)| p * system.shift[i as usize]).sum()
        })
        .collect();
    Some(Coarsening { prolongation, restriction, coarse: System { weights: coarse, shift } })
}

/// Disjoint neighbourhoods; what is left over joins the neighbour it is tied to most.
fn aggregate(system: &System) -> (Vec<u32>, usize) {
    let size = system.size();
    let root: Vec<f64> = (0..size).map(|i| (STRONG * system.degree(i)).max(0.0).sqrt()).collect();
    let strong = |i: usize| {
        let (columns, weights) = system.weights.row(i);
        let pairs = columns.iter().zip(weights).map(|(&j, &w)| (j as usize, w));
        let root = &root;
        pairs.filter(move |&(j, w)| w > root[i] * root[j])
    };
    let mut aggregates = vec![NONE; size];
    let mut count = 0;
    for i in 0..size {
        if aggregates[i] == NONE && strong(i).all(|(j, _)| aggregates[j] == NONE) {
            aggregates[i] = count;
            strong(i).for_each(|(j, _)| aggregates[j] = count);
            count += 1;
        }
    }
    let roots = aggregates.clone();
    for i in 0..size {
        if aggregates[i] != NONE {
            continue;
        }
        let tied = strong(i).filter(|&(j, _)| roots[j] != NONE);
        match tied.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))) {
            Some((j, _)) => aggregates[i] = roots[j],
            None => {
                aggregates[i] = count;
                count += 1;
            }
        }
    }
    (aggregates, count as usize)
}

/// Sums by column, in the order in which columns appear.
struct Accumulator {
    place: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Accumulator {
    fn new(size: usize) -> Self {
        Self { place: vec![NONE; size], columns: Vec::new(), values: Vec::new() }
    }

    #[inline(always)]
    fn add(&mut self, column: u32, value: f64) {
        let place = &mut self.place[column as usize];
        if *place == NONE {
            *place = self.columns.len() as u32;
            self.columns.push(column);
            self.values.push(value);
        } else {
            self.values[*place as usize] += value;
        }
    }

    fn clear(&mut self) {
        self.columns.iter().for_each(|&c| self.place[c as usize] = NONE);
        self.columns.clear();
        self.values.clear();
    }
}

/// A matrix of what `fill` accumulates row by row, of which the entries that `keep` names stay.
fn accumulated(
    rows: usize,
    columns: usize,
    fill: impl Fn(usize, &mut Accumulator) + Sync + Send,
    keep: impl Fn(usize, u32) -> bool + Sync + Send,
) -> Csr {
    by_rows(
        rows,
        || Accumulator::new(columns),
        |i, accumulator, part| {
            fill(i, accumulator);
            for (&c, &value) in accumulator.columns.iter().zip(&accumulator.values) {
                if keep(i, c) {
                    part.columns.push(c);
                    part.values.push(value);
                }
            }
            accumulator.clear();
        },
    )
}

/// (1 - omega D^-1 S) T with T the indicator of the aggregates. The rows of S add up to 0, so those of the
/// result add up to 1.
fn smoothed(system: &System, aggregates: &[u32], count: usize, omega: f64) -> Csr {
    accumulated(
        system.size(),
        count,
        |i, row| {
            let (columns, weights) = system.weights.row(i);
            let degree: f64 = weights.iter().sum();
            let own = aggregates[i];
            row.add(own, 1.0);
            if degree <= 0.0 {
                return;
            }
            for (&j, w) in columns.iter().zip(weights) {
                let other = aggregates[j as usize];
                if other != own {
                    row.add(other, omega * w / degree);
                    row.add(own, -omega * w / degree);
                }
            }
        },
        |_, _| true,
    )
}

fn transpose(matrix: &Csr, columns: usize) -> Csr {
    let mut offsets = vec![0; columns + 1];
    matrix.columns.iter().for_each(|&c| offsets[c as usize + 1] += 1);
    for c in 0..columns {
        offsets[c + 1] += offsets[c];
    }
    let mut next = offsets.clone();
    let mut result = Csr {
        offsets,
        columns: vec![0; matrix.columns.len()],
        values: vec![0.0; matrix.columns.len()],
    };
    for i in 0..matrix.size() {
        let (columns, values) = matrix.row(i);
        for (&c, &value) in columns.iter().zip(values) {
            let e = &mut next[c as usize];
            result.columns[*e] = i as u32;
            result.values[*e] = value;
            *e += 1;
        }
    }
    result
}

/// S P
fn stiffness_times(system: &System, prolongation: &Csr, count: usize) -> Csr {
    accumulated(
        system.size(),
        count,
        |i, row| {
            let (columns, weights) = system.weights.row(i);
            let mut add = |j: usize, w: f64| {
                let (columns, values) = prolongation.row(j);
                columns.iter().zip(values).for_each(|(&c, p)| row.add(c, w * p));
            };
            add(i, weights.iter().sum());
            columns.iter().zip(weights).for_each(|(&j, w)| add(j as usize, -w));
        },
        |_, _| true,
    )
}

/// The weights of P^T (S P): its entries off the diagonal with the sign turned.
fn galerkin(restriction: &Csr, product: &Csr, count: usize) -> Csr {
    accumulated(
        count,
        count,
        |c, row| {
            let (fine, values) = restriction.row(c);
            for (&i, p) in fine.iter().zip(values) {
                let (columns, entries) = product.row(i as usize);
                columns.iter().zip(entries).for_each(|(&e, x)| row.add(e, -p * x));
            }
        },
        |c, e| c != e as usize,
    )
}
