//! One connection over smoltcp as a stream of bytes that waits. The stack is served while it waits,
//! and the core sleeps from tick to tick.

use embedded_io::{ErrorKind, ErrorType, Read, Write};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, State};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr, Ipv4Address};
use sordino_core::federated::exchange::Millis;

use crate::hardware::{now, rest};
use crate::lan9118::Lan9118;

/// What QEMU's user network gives its first guest, and its way to the host. A board asks DHCP.
const OWN: IpCidr = IpCidr::new(IpAddress::v4(10, 0, 2, 15), 24);
const ROUTER: Ipv4Address = Ipv4Address::new(10, 0, 2, 2);
/// Ports that a boot uses, one after the other, from here.
const PORTS: (u16, u32) = (49_152, 16_384);
/// Ports of one boot: the next boot begins behind them, or its first packet would belong to a
/// connection that the other end still knows.
const PORTS_OF_A_BOOT: u32 = 64;
/// Nothing is waited for longer, in milliseconds: longer than a server keeps a question.
pub const PATIENCE: u64 = 20_000;

/// The stack with its only socket.
pub struct Tcp<'a> {
    nic: Lan9118,
    interface: Interface,
    sockets: SocketSet<'a>,
    handle: SocketHandle,
    next_port: u32,
}

impl<'a> Tcp<'a> {
    /// Nothing is connected yet. `boot` counts the boots, `seed` is random.
    pub fn new(
        mut nic: Lan9118,
        socket: Socket<'a>,
        mut sockets: SocketSet<'a>,
        boot: u32,
        seed: u64,
    ) -> Self {
        let address = HardwareAddress::Ethernet(EthernetAddress(nic.address()));
        let mut config = Config::new(address);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut nic, instant());
        // Both have places for more than one.
        interface.update_ip_addrs(|addresses| {
            let _ = addresses.push(OWN);
        });
        let _ = interface.routes_mut().add_default_ipv4_route(ROUTER);
        let handle = sockets.add(socket);
        Tcp {
            nic,
            interface,
            sockets,
            handle,
            next_port: boot.wrapping_mul(PORTS_OF_A_BOOT),
        }
    }

    fn socket(&mut self) -> &mut Socket<'a> {
        self.sockets.get_mut(self.handle)
    }

    /// Connects, whatever was connected before.
    ///
    /// **Errors**: the other end refuses or is silent.
    pub fn connect(&mut self, to: ([u8; 4], u16)) -> Result<(), ErrorKind> {
        let port = PORTS.0 + (self.next_port % PORTS.1) as u16;
        self.next_port = self.next_port.wrapping_add(1);
        let Tcp {
            interface,
            sockets,
            handle,
            ..
        } = self;
        let socket = sockets.get_mut::<Socket<'_>>(*handle);
        socket.abort();
        socket.set_nagle_enabled(false);
        let address = IpAddress::Ipv4(Ipv4Address::from(to.0));
        socket
            .connect(interface.context(), (address, to.1), port)
            .map_err(|_| ErrorKind::AddrNotAvailable)?;
        self.until(|socket| match socket.state() {
            State::Established => Some(Ok(())),
            State::Closed => Some(Err(ErrorKind::ConnectionRefused)),
            _ => None,
        })
    }

    /// Tells the other end that nothing more comes, without waiting for its answer.
    pub fn hang_up(&mut self) {
        self.socket().close();
        self.serve();
    }

    fn serve(&mut self) {
        self.interface
            .poll(instant(), &mut self.nic, &mut self.sockets);
    }

    /// Serves the stack until there is a result or the patience is over.
    fn until<R>(
        &mut self,
        mut ready: impl FnMut(&mut Socket<'a>) -> Option<Result<R, ErrorKind>>,
    ) -> Result<R, ErrorKind> {
        let start = now();
        loop {
            self.serve();
            if let Some(result) = ready(self.socket()) {
                self.serve();
                return result;
            }
            if now().since(start) > PATIENCE {
                return Err(ErrorKind::TimedOut);
            }
            rest();
        }
    }

    /// Serves the stack until this moment.
    pub fn sleep_until(&mut self, until: Millis) {
        while now() < until {
            self.serve();
            rest();
        }
    }
}

fn instant() -> Instant {
    Instant::from_millis(now().0 as i64)
}

impl ErrorType for Tcp<'_> {
    type Error = ErrorKind;
}

impl Read for Tcp<'_> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, ErrorKind> {
        self.until(|socket| match socket.can_recv() {
            true => Some(
                socket
                    .recv_slice(into)
                    .map_err(|_| ErrorKind::ConnectionReset),
            ),
            // The end of the stream.
            false if !socket.may_recv() => Some(Ok(0)),
            false => None,
        })
    }
}

impl Write for Tcp<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        self.until(|socket| match socket.can_send() {
            true => Some(
                socket
                    .send_slice(bytes)
                    .map_err(|_| ErrorKind::ConnectionReset),
            ),
            false if !socket.may_send() => Some(Err(ErrorKind::ConnectionReset)),
            false => None,
        })
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        self.serve();
        Ok(())
    }
}
