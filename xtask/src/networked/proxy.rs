//! A way to the server that ends when the device has the file of its campaign and before it can say
//! so.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

/// Bytes of the file at least, of 50 landmarks; no other answer is so long.
const FILE: u32 = 5_000;

/// Begins to carry connections to this port of this machine: the port that it listens on, and
/// whether it has cut them. It ends with the program.
pub(super) fn begin(server: u16) -> std::io::Result<(u16, impl Fn() -> bool)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    let is_cut = Arc::new(AtomicBool::new(false));
    let known = is_cut.clone();
    thread::spawn(move || {
        for device in listener.incoming().flatten() {
            if is_cut.load(Ordering::SeqCst) {
                continue;
            }
            if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                carry(device, server, &is_cut);
            }
        }
    });
    Ok((port, move || known.load(Ordering::SeqCst)))
}

/// Carries one connection, in both directions.
fn carry(device: TcpStream, server: TcpStream, is_cut: &Arc<AtomicBool>) {
    let (Ok(mut from_device), Ok(mut from_server)) = (device.try_clone(), server.try_clone())
    else {
        return;
    };
    let mut to_device = device;
    let mut to_server = server;
    // Bytes that the server said since the device spoke last.
    let said = Arc::new(AtomicU32::new(0));
    let heard = said.clone();
    let is_cut = is_cut.clone();
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(len @ 1..) = from_device.read(&mut bytes) {
            // It has all of what it waited for, and speaks again.
            is_cut.fetch_or(heard.swap(0, Ordering::SeqCst) >= FILE, Ordering::SeqCst);
            if is_cut.load(Ordering::SeqCst) || to_server.write_all(&bytes[..len]).is_err() {
                break;
            }
        }
        for stream in [&from_device, &to_server] {
            // The other side may have ended before.
            let _ = stream.shutdown(Shutdown::Both);
        }
    });
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(len @ 1..) = from_server.read(&mut bytes) {
            said.fetch_add(len as u32, Ordering::SeqCst);
            if to_device.write_all(&bytes[..len]).is_err() {
                break;
            }
        }
        // As above.
        let _ = to_device.shutdown(Shutdown::Both);
    });
}
