//! Futures on one thread, a limited number at a time.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Drives the futures, at most `limit` at a time, begun in their order. Their results come in the
/// same order.
///
/// **Cost**: a wake polls all that are running, so `limit` should be small.
pub async fn at_most<F: Future>(limit: usize, futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut waiting = futures.enumerate();
    let mut running: Vec<(usize, Pin<Box<F>>)> = Vec::new();
    let mut results: Vec<(usize, F::Output)> = Vec::new();
    poll_fn(|context| {
        loop {
            while running.len() < limit.max(1)
                && let Some((place, future)) = waiting.next()
            {
                running.push((place, Box::pin(future)));
            }
            let before = running.len();
            running.retain_mut(|(place, future)| match future.as_mut().poll(context) {
                Poll::Ready(result) => {
                    results.push((*place, result));
                    false
                }
                Poll::Pending => true,
            });
            match running.len() {
                0 if before == 0 => return Poll::Ready(()),
                still if still == before => return Poll::Pending,
                // What ended makes room: the next are begun, and those that run are asked once
                // more.
                _ => {}
            }
        }
    })
    .await;
    results.sort_unstable_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn at_most_two_run_and_results_keep_their_order() {
        let running = Cell::new(0);
        let most = Cell::new(0);
        let running = &running;
        let most = &most;
        // Future i is pending i mod 4 times.
        let futures = (0..9u32).map(|i| async move {
            running.set(running.get() + 1);
            most.set(most.get().max(running.get()));
            let mut left = i % 4;
            poll_fn(|context| {
                context.waker().wake_by_ref();
                left = left.wrapping_sub(1);
                if left == u32::MAX {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
            running.set(running.get() - 1);
            i * i
        });
        let control = ::tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let results = control.block_on(at_most(2, futures));
        assert_eq!(results, (0..9).map(|i| i * i).collect::<Vec<_>>());
        assert_eq!((most.get(), running.get()), (2, 0));
        assert!(
            control
                .block_on(at_most(3, std::iter::empty::<std::future::Ready<()>>()))
                .is_empty()
        );
    }
}
