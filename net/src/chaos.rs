//! A bad network between agents and server, for rehearsals: it cuts every connection after a few
//! kilobytes, and delays some of them. What it does follows from a fixed seed and from the order of
//! connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sordino_core::random::Stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A connection lives for at least this many bytes: a handshake needs about as many.
const BYTES_MIN: u32 = 2_000;
/// And for this many more at most.
const BYTES_MORE: u32 = 12_000;
/// The longest delay of a piece, in milliseconds.
const DELAY_MAX: u32 = 30;

/// Hands every connection on to `back` until its bytes are used up; counts in `cuts` those it cut.
pub async fn cut(front: TcpListener, back: SocketAddr, cuts: Arc<AtomicU64>) {
    let mut stream = Stream::from_seed(0);
    loop {
        let Ok((near, _)) = front.accept().await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let bytes = BYTES_MIN + stream.below(BYTES_MORE);
        let delay = Duration::from_millis(u64::from(stream.below(DELAY_MAX)));
        let cuts = cuts.clone();
        tokio::spawn(async move {
            // Either end may hang up: then there is nothing to cut.
            if let Ok(true) = hand_on(near, back, bytes as usize, delay).await {
                cuts.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
}

/// True if the connection was cut.
async fn hand_on(
    mut near: TcpStream,
    back: SocketAddr,
    mut left: usize,
    delay: Duration,
) -> std::io::Result<bool> {
    let mut far = TcpStream::connect(back).await?;
    let mut up = [0; 1024];
    let mut down = [0; 1024];
    while left > 0 {
        let moved = tokio::select! {
            read = near.read(&mut up) => {
                let read = read?;
                far.write_all(&up[..read]).await?;
                read
            }
            read = far.read(&mut down) => {
                let read = read?;
                near.write_all(&down[..read]).await?;
                read
            }
        };
        if moved == 0 {
            return Ok(false);
        }
        tokio::time::sleep(delay).await;
        left = left.saturating_sub(moved);
    }
    Ok(true)
}
