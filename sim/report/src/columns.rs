//! Columns of tables: head, meaning and cell stand together, so that a new column of a trust model
//! is one entry of one list. A column of a federation's `rounds.csv` that is to be read back is
//! also a field of `Row` in [`read`](super::read).

use super::rows;

/// The columns of a table whose rows are made of `R`, in order.
pub struct Columns<'c, R>(Vec<Column<'c, R>>);

struct Column<'c, R> {
    head: String,
    /// What stands in it, for the README of a folder.
    meaning: &'static str,
    /// Whether it holds words, which are aligned to the left.
    is_text: bool,
    cell: Box<dyn Fn(&R) -> String + 'c>,
}

impl<R> Default for Columns<'_, R> {
    fn default() -> Self {
        Columns(Vec::new())
    }
}

impl<'c, R> Columns<'c, R> {
    /// A table without columns yet.
    pub fn new() -> Self {
        Columns::default()
    }

    /// One more column, of numbers.
    pub fn number(self, head: impl Into<String>, cell: impl Fn(&R) -> String + 'c) -> Self {
        self.with(head.into(), "", false, cell)
    }

    /// One more column, of words.
    pub fn text(self, head: impl Into<String>, cell: impl Fn(&R) -> String + 'c) -> Self {
        self.with(head.into(), "", true, cell)
    }

    /// One more, of a file whose README says what it means.
    pub fn told(self, head: &str, meaning: &'static str, cell: impl Fn(&R) -> String + 'c) -> Self {
        self.with(head.to_owned(), meaning, false, cell)
    }

    fn with(
        mut self,
        head: String,
        meaning: &'static str,
        is_text: bool,
        cell: impl Fn(&R) -> String + 'c,
    ) -> Self {
        self.0.push(Column {
            head,
            meaning,
            is_text,
            cell: Box::new(cell),
        });
        self
    }

    /// The heads, in order.
    pub fn heads(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|column| column.head.as_str())
    }

    /// The cells of one row.
    pub fn cells(&self, row: &R) -> Vec<String> {
        self.0.iter().map(|column| (column.cell)(row)).collect()
    }

    /// Places of those that hold words.
    pub fn words(&self) -> Vec<usize> {
        (0..self.0.len())
            .filter(|place| self.0[*place].is_text)
            .collect()
    }

    /// Heads with their meanings.
    pub fn meanings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|column| (column.head.as_str(), column.meaning))
    }

    /// The table of these rows as CSV.
    pub fn csv(&self, rows: impl Iterator<Item = R>) -> String {
        rows::csv(self.heads(), rows.map(|row| self.cells(&row)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Shown;
    use crate::readme::readme;

    #[test]
    fn a_new_column_is_one_entry_and_is_in_table_file_and_readme() {
        let runs = [("ts", 0.25), ("dp-prior", 0.125)];
        let columns = Columns::<(&str, f64)>::new()
            .text("method", |(name, _)| (*name).to_owned())
            .told("regret", "of the last round", |(_, regret)| {
                regret.to_string()
            });
        let before = Shown::of(&columns, &runs);
        let columns = columns.told("halved", "half of it", |(_, regret)| {
            (regret / 2.0).to_string()
        });
        let after = Shown::of(&columns, &runs);
        assert_eq!(
            (before.columns.len(), after.columns.last().unwrap().as_str()),
            (2, "halved")
        );
        assert_eq!(
            after.rows,
            [["ts", "0.25", "0.125"], ["dp-prior", "0.125", "0.0625"]]
        );
        assert_eq!(after.words, [0]);
        assert!(after.text("aa").contains("0.0625"));
        assert_eq!(
            columns.csv(runs.into_iter()),
            "method,regret,halved\nts,0.25,0.125\ndp-prior,0.125,0.0625\n"
        );
        assert!(
            readme("federated", &[], columns.meanings(), "").contains("| `halved` | half of it |")
        );
    }
}
