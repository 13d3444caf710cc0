//! The plan against workers that are a table: what each holds, what each was told. Every lot must
//! see every order once, or again from its last snapshot, whoever is lost.

use super::*;

/// A lot as a worker of the table has it: every order it was taken through, as bytes.
type Held = BTreeMap<u32, Vec<u8>>;

struct Table {
    plan: Plan,
    workers: BTreeMap<Name, Held>,
    open: Vec<(Name, u64, Ask)>,
}

fn lots() -> Vec<Range<u32>> {
    (0..10).map(|i| i * 3..(i + 1) * 3).collect()
}

fn encoded(order: u8) -> EncodedOrder {
    EncodedOrder {
        common: vec![order],
        parts: (0..10).map(|lot| vec![order, lot]).collect(),
    }
}

fn task(run: u32) -> Task {
    Task {
        run,
        method: "x".into(),
    }
}

/// What happens to the table after so many answers of a round.
type Disturbance<'a> = (usize, &'a mut dyn FnMut(&mut Table));

impl Table {
    fn new(workers: &[&str]) -> Table {
        let mut table = Table {
            plan: Plan::new(Ask::Scenario {
                text: String::new(),
                identity: [0; 32],
            }),
            workers: BTreeMap::new(),
            open: Vec::new(),
        };
        workers.iter().for_each(|name| table.join(name));
        table
    }

    fn join(&mut self, name: &str) {
        self.plan.joined(name);
        self.workers.insert(name.to_owned(), Held::new());
    }

    /// A worker dies with what it was asked.
    fn kill(&mut self, name: &str) {
        self.plan.lost(name);
        self.workers.remove(name);
        self.open.retain(|(worker, ..)| worker != name);
    }

    /// Takes lots through an order, as a group of agents does: it remembers what it was told.
    fn advance(held: &mut Held, told: &Told) {
        for (first, part) in &told.parts {
            let lot = held.get_mut(first).expect("a lot that is held");
            assert_eq!(
                part[..],
                [told.common[0], (first / 3) as u8],
                "another lot's part"
            );
            lot.push(told.common[0]);
        }
    }

    /// One answer of one worker; whether there was one to give.
    fn step(&mut self) -> bool {
        self.open.extend(self.plan.asks());
        if self.open.is_empty() {
            return false;
        }
        let (name, number, ask) = self.open.remove(0);
        let held = self.workers.get_mut(&name).unwrap();
        let answer = match ask {
            Ask::Scenario { .. } | Ask::Done => Answer::Yes,
            Ask::Task(_) => {
                held.clear();
                Answer::Yes
            }
            Ask::Hold { lots, orders } => {
                for lot in lots {
                    assert!(
                        held.insert(lot.agents.start, lot.snapshot.unwrap_or_default())
                            .is_none(),
                        "held twice"
                    );
                }
                orders.iter().for_each(|told| Self::advance(held, told));
                Answer::Yes
            }
            Ask::Order(told) => {
                Self::advance(held, &told);
                Answer::Partials(told.parts.iter().map(|(first, _)| *first as u8).collect())
            }
            Ask::Snapshot(firsts) => {
                Answer::Snapshots(firsts.iter().map(|first| held[first].clone()).collect())
            }
            Ask::Give(firsts) => Answer::Snapshots(
                firsts
                    .iter()
                    .map(|first| held.remove(first).unwrap())
                    .collect(),
            ),
        };
        let agents = held.len() as u32 * 3;
        let state = State {
            name: name.clone(),
            threads: 1,
            agents,
            ..State::default()
        };
        self.plan.answered(&name, number, state, answer).unwrap();
        true
    }

    /// So many answers, or as many as there are.
    fn steps(&mut self, count: usize) {
        (0..count).take_while(|_| self.step()).for_each(drop);
    }

    fn reach(&mut self) {
        while !self.plan.is_reached() {
            assert!(
                self.step(),
                "nothing is asked, and the goal is not reached: {}",
                self.plan.awaited()
            );
        }
    }

    fn begin(&mut self, run: u32) {
        self.plan.begin(task(run), &lots(), None);
        self.reach();
    }

    /// One round with a disturbance after so many answers; the first agents of the lots that
    /// answered.
    fn round(&mut self, order: u8, disturb: Option<Disturbance<'_>>) -> Vec<u8> {
        self.plan.even_out();
        self.reach();
        self.plan.order(encoded(order));
        if let Some((after, disturb)) = disturb {
            self.steps(after);
            disturb(self);
        }
        self.reach();
        let mut answered = self.plan.answers().concat();
        answered.sort_unstable();
        answered
    }

    /// Every lot that is held was taken through exactly these orders.
    fn check(&mut self, orders: &[u8]) {
        self.plan.even_out();
        self.reach();
        let held: Vec<&u32> = self.workers.values().flat_map(|held| held.keys()).collect();
        assert_eq!(held.len(), 10, "every lot once");
        assert!(
            self.workers
                .values()
                .flat_map(Held::values)
                .all(|lot| lot == orders),
            "{:?}",
            self.workers
        );
    }

    fn numbers(&self) -> Vec<usize> {
        self.workers.values().map(BTreeMap::len).collect()
    }
}

const ALL: [u8; 10] = [0, 3, 6, 9, 12, 15, 18, 21, 24, 27];

#[test]
fn whoever_is_lost_at_whatever_moment_every_lot_sees_every_order_once() {
    for workers in [
        &["a", "b"][..],
        &["a", "b", "c"],
        &["a", "b", "c", "d", "e", "f", "g"],
    ] {
        for lost_in in 1..=4u8 {
            for after in 0..=2 * workers.len() {
                for snapshot in [false, true] {
                    let mut table = Table::new(workers);
                    table.begin(0);
                    let mut kill = |table: &mut Table| table.kill("b");
                    for order in 1..=4 {
                        let disturb = (order == lost_in)
                            .then_some((after, &mut kill as &mut dyn FnMut(&mut Table)));
                        assert_eq!(
                            table.round(order, disturb),
                            ALL,
                            "{workers:?} {lost_in} {after}"
                        );
                        if snapshot && order == 2 {
                            table.plan.take_snapshots();
                            table.reach();
                            assert_eq!(table.plan.snapshots(), vec![vec![1, 2]; 10]);
                        }
                    }
                    table.check(&[1, 2, 3, 4]);
                }
            }
        }
    }
}

#[test]
fn the_last_worker_is_lost_and_another_one_goes_on() {
    let mut table = Table::new(&["a"]);
    table.begin(0);
    table.round(1, None);
    table.plan.order(encoded(2));
    table.kill("a");
    assert!(!table.step() && !table.plan.is_reached(), "nobody is there");
    assert_eq!(table.plan.awaited(), "a worker to join");
    table.join("z");
    table.reach();
    table.check(&[1, 2]);
}

#[test]
fn a_worker_that_joins_late_gets_its_part_between_rounds() {
    let mut table = Table::new(&["a"]);
    table.begin(0);
    let mut join = |table: &mut Table| table.join("b");
    assert_eq!(table.round(1, Some((1, &mut join))), ALL);
    assert_eq!(table.numbers(), [10, 0], "not within a round");
    // It takes up scenario and task while others go on.
    table.steps(10);
    assert_eq!(table.round(2, None), ALL);
    assert_eq!(table.numbers(), [5, 5]);
    table.join("c");
    table.steps(10);
    table.round(3, None);
    let mut numbers = table.numbers();
    numbers.sort_unstable();
    assert_eq!(numbers, [3, 3, 4]);
    table.check(&[1, 2, 3]);
    // Lost right after it was given lots that came as a snapshot: they are made again from the
    // beginning.
    table.kill("c");
    table.round(4, None);
    table.check(&[1, 2, 3, 4]);
}

#[test]
fn lost_while_lots_move_or_snapshots_are_taken() {
    for steps in 0..8 {
        let mut table = Table::new(&["a", "b"]);
        table.begin(0);
        table.round(1, None);
        table.join("c");
        table.plan.even_out();
        table.steps(steps);
        table.kill("a");
        table.reach();
        assert_eq!(table.round(2, None), ALL);
        table.plan.take_snapshots();
        table.steps(steps);
        table.kill("b");
        table.reach();
        assert_eq!(table.plan.snapshots(), vec![vec![1, 2]; 10], "{steps}");
        table.round(3, None);
        table.check(&[1, 2, 3]);
    }
}

#[test]
fn answers_of_an_earlier_task_or_question_count_for_nothing() {
    let mut table = Table::new(&["a", "b"]);
    table.begin(0);
    table.plan.order(encoded(1));
    let asked = table.plan.asks();
    // Another task begins while both have an order to answer.
    table.plan.begin(task(1), &lots(), None);
    for (name, number, _) in asked {
        let state = State {
            threads: 1,
            ..State::default()
        };
        let late = table
            .plan
            .answered(&name, number + 100, state.clone(), Answer::Yes)
            .unwrap();
        assert_eq!(late, News::Nothing, "another question's");
        table
            .plan
            .answered(&name, number, state, Answer::Partials(vec![0]))
            .unwrap();
    }
    table.reach();
    table.round(7, None);
    table.check(&[7]);
}

#[test]
fn what_cannot_be_mended_ends_the_run_and_what_can_does_not() {
    let state = || State {
        name: "m:1".into(),
        threads: 1,
        ..State::default()
    };
    let mut table = Table::new(&["a", "b"]);
    table.begin(0);
    table.plan.order(encoded(1));
    let asks = table.plan.asks();
    let (name, number, _) = &asks[0];
    let refused = table
        .plan
        .answered(
            name,
            *number,
            state(),
            Answer::Cannot("no such candidate".into()),
        )
        .unwrap_err();
    assert_eq!(refused.to_string(), "worker m:1: no such candidate");
    let (name, number, _) = &asks[1];
    assert!(matches!(
        table.plan.answered(name, *number, state(), Answer::Yes),
        Err(PlanError::Confused { .. })
    ));
    // Other data: it takes no part, and the others do all.
    let mut table = Table::new(&["a", "b"]);
    let (name, number, _) = table.plan.asks().remove(0);
    let other = table
        .plan
        .answered(&name, number, state(), Answer::Other("other data".into()))
        .unwrap();
    assert_eq!(other, News::Other("other data".into()));
    table.open.retain(|(worker, ..)| *worker != name);
    let left: Vec<_> = table.plan.asks();
    assert!(
        left.is_empty(),
        "the other one was asked already, this one is not asked again"
    );
}

#[test]
fn threads_decide_how_much_a_worker_holds() {
    let mut table = Table::new(&["a", "b"]);
    for (name, number, _) in table.plan.asks() {
        let threads = if name == "a" { 4 } else { 1 };
        let state = State {
            threads,
            ..State::default()
        };
        table
            .plan
            .answered(&name, number, state.clone(), Answer::Yes)
            .unwrap();
    }
    table.plan.begin(task(0), &lots(), None);
    for (name, number, _) in table.plan.asks() {
        let threads = if name == "a" { 4 } else { 1 };
        table
            .plan
            .answered(
                &name,
                number,
                State {
                    threads,
                    ..State::default()
                },
                Answer::Yes,
            )
            .unwrap();
    }
    let held: Vec<usize> = table
        .plan
        .asks()
        .iter()
        .map(|(_, _, ask)| match ask {
            Ask::Hold { lots, .. } => lots.len(),
            _ => 0,
        })
        .collect();
    assert_eq!(held, [8, 2]);
}
