//! The label kernel V_ij = 1 for equal labels and a constant w_Y for different ones, V_ii = 0, never formed.

/// out = V Z and the degrees sum_j V_ij, from the class sums of Z: O(n k).
///
/// `codes` numbers the classes from 0 to below `classes`; Z and out have rows of `width` entries.
pub fn label_sums(
    codes: &[usize],
    classes: usize,
    weight: f64,
    z: &[f64],
    width: usize,
    out: &mut [f64],
    degrees: &mut [f64],
) {
    let mut sums = vec![0.0; classes * width];
    let mut counts = vec![0.0; classes];
    for (&code, row) in codes.iter().zip(z.chunks_exact(width)) {
        counts[code] += 1.0;
        sums[code * width..][..width].iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    let mut total = vec![0.0; width];
    for class in sums.chunks_exact(width) {
        total.iter_mut().zip(class).for_each(|(total, x)| *total += x);
    }
    let n = codes.len() as f64;
    for (i, &code) in codes.iter().enumerate() {
        let (row, class) = (&z[i * width..][..width], &sums[code * width..][..width]);
        for (c, out) in out[i * width..][..width].iter_mut().enumerate() {
            *out = (class[c] - row[c]) + weight * (total[c] - class[c]);
        }
        degrees[i] = (counts[code] - 1.0) + weight * (n - counts[code]);
    }
}
