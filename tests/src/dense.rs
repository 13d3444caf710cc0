//! Matrices as lists of rows: nothing here is fast or careful. For oracles alone.

/// Rows of equal length.
pub type Matrix = Vec<Vec<f64>>;

/// Rows of `columns` numbers.
pub fn matrix(flat: &[f64], columns: usize) -> Matrix {
    flat.chunks(columns).map(<[f64]>::to_vec).collect()
}

/// The transposed matrix Aᵀ.
pub fn transposed(a: &Matrix) -> Matrix {
    (0..a[0].len())
        .map(|j| a.iter().map(|row| row[j]).collect())
        .collect()
}

/// The product A·B.
pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    a.iter()
        .map(|row| {
            (0..b[0].len())
                .map(|j| row.iter().zip(b).map(|(x, other)| x * other[j]).sum())
                .collect()
        })
        .collect()
}

/// The combination a·A + b·B.
pub fn combined(a: f64, x: &Matrix, b: f64, y: &Matrix) -> Matrix {
    x.iter()
        .zip(y)
        .map(|(x, y)| x.iter().zip(y).map(|(x, y)| a * x + b * y).collect())
        .collect()
}

/// `value` times the identity of order n.
pub fn identity(n: usize, value: f64) -> Matrix {
    (0..n)
        .map(|i| (0..n).map(|j| if i == j { value } else { 0.0 }).collect())
        .collect()
}

/// A⁻¹ by Gauss and Jordan, with pivots.
pub fn inverse(a: &Matrix) -> Matrix {
    let n = a.len();
    let mut a = a.clone();
    let mut b = identity(n, 1.0);
    for k in 0..n {
        let pivot = (k..n)
            .max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs()))
            .unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        let p = a[k][k];
        a[k].iter_mut().chain(b[k].iter_mut()).for_each(|x| *x /= p);
        for i in (0..n).filter(|i| *i != k) {
            let f = a[i][k];
            for j in 0..n {
                let x = a[k][j];
                let y = b[k][j];
                a[i][j] -= f * x;
                b[i][j] -= f * y;
            }
        }
    }
    b
}

/// The sum of the diagonal.
pub fn trace(a: &Matrix) -> f64 {
    (0..a.len()).map(|i| a[i][i]).sum()
}

/// A vector as a matrix of one column.
pub fn column(x: &[f64]) -> Matrix {
    x.iter().map(|x| vec![*x]).collect()
}

/// The largest difference of two vectors.
pub fn furthest(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}

/// det A by elimination, for a matrix that needs no pivots.
pub fn determinant(a: &Matrix) -> f64 {
    let mut a = a.clone();
    let mut product = 1.0;
    for k in 0..a.len() {
        product *= a[k][k];
        for i in k + 1..a.len() {
            let f = a[i][k] / a[k][k];
            for j in k..a.len() {
                let x = a[k][j];
                a[i][j] -= f * x;
            }
        }
    }
    product
}
