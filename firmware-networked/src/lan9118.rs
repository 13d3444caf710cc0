//! SMSC LAN9118, as the MPS2 boards have it, word by word and without interrupts: a device of
//! smoltcp.

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

use crate::hardware::Registers;

const RX_DATA: usize = 0x00;
const TX_DATA: usize = 0x20;
const RX_STATUS: usize = 0x40;
const TX_STATUS: usize = 0x48;
const BYTE_TEST: usize = 0x64;
const RX_CFG: usize = 0x6c;
const TX_CFG: usize = 0x70;
const HW_CFG: usize = 0x74;
const RX_FIFO_INF: usize = 0x7c;
const TX_FIFO_INF: usize = 0x80;
const MAC_CMD: usize = 0xa4;
const MAC_DATA: usize = 0xa8;
const AFC_CFG: usize = 0xac;
/// Registers of the MAC, behind a command.
const MAC_CR: u32 = 1;
const ADDRH: u32 = 2;
const ADDRL: u32 = 3;

/// What [`BYTE_TEST`] always holds.
const BYTES_TESTED: u32 = 0x8765_4321;
/// The longest frame without its checksum.
const FRAME_MAX: usize = 1514;
/// Bytes of a checksum of Ethernet.
const CHECKSUM: usize = 4;

/// The controller.
pub struct Lan9118 {
    registers: Registers,
}

impl Lan9118 {
    /// Resets the controller and switches it on; none if it is not there.
    pub fn new(registers: Registers) -> Option<Self> {
        let mut nic = Lan9118 { registers };
        nic.registers.write(HW_CFG, 1);
        while nic.registers.read(HW_CFG) & 1 != 0 {}
        if nic.registers.read(BYTE_TEST) != BYTES_TESTED {
            return None;
        }
        // 5 kB for what is sent, the rest for what comes; whole frames only.
        nic.registers.write(HW_CFG, 5 << 16 | 1 << 20);
        nic.registers.write(AFC_CFG, 0x006e_3740);
        nic.registers.write(RX_CFG, 0);
        nic.registers.write(TX_CFG, 1 << 1);
        // Full duplex, transmitter and receiver on.
        nic.mac(MAC_CR, Some(1 << 20 | 1 << 3 | 1 << 2));
        Some(nic)
    }

    /// The address that the board was given.
    pub fn address(&mut self) -> [u8; 6] {
        let [low, high] = [ADDRL, ADDRH].map(|register| self.mac(register, None).to_le_bytes());
        [low[0], low[1], low[2], low[3], high[0], high[1]]
    }

    /// Writes a register of the MAC, or reads it.
    fn mac(&mut self, register: u32, value: Option<u32>) -> u32 {
        if let Some(value) = value {
            self.registers.write(MAC_DATA, value);
        }
        self.registers.write(
            MAC_CMD,
            1 << 31 | u32::from(value.is_none()) << 30 | register,
        );
        while self.registers.read(MAC_CMD) >> 31 != 0 {}
        self.registers.read(MAC_DATA)
    }

    /// Takes the next good frame; others are dropped.
    fn take(&mut self, frame: &mut [u8; FRAME_WORDS * 4]) -> Option<usize> {
        while self.registers.read(RX_FIFO_INF) >> 16 & 0xff != 0 {
            let status = self.registers.read(RX_STATUS);
            let len = (status >> 16 & 0x3fff) as usize;
            let good = status & 1 << 15 == 0 && (CHECKSUM..=frame.len()).contains(&len);
            for i in 0..len.div_ceil(4) {
                let word = self.registers.read(RX_DATA).to_le_bytes();
                if let Some(place) = frame.as_chunks_mut().0.get_mut(i).filter(|_| good) {
                    *place = word;
                }
            }
            if good {
                return Some(len - CHECKSUM);
            }
        }
        None
    }

    fn send(&mut self, frame: &[u8]) {
        let len = frame.len() as u32;
        while self.registers.read(TX_FIFO_INF) & 0xffff < len + 16 {}
        while self.registers.read(TX_FIFO_INF) >> 16 & 0xff != 0 {
            self.registers.read(TX_STATUS);
        }
        // One piece, the first and the last.
        self.registers.write(TX_DATA, 1 << 13 | 1 << 12 | len);
        self.registers.write(TX_DATA, len);
        for bytes in frame.chunks(4) {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            self.registers.write(TX_DATA, u32::from_le_bytes(word));
        }
    }
}

/// Words that hold the longest frame with its checksum.
const FRAME_WORDS: usize = (FRAME_MAX + CHECKSUM).div_ceil(4);

/// A frame that came.
pub struct Received([u8; FRAME_WORDS * 4], usize);

/// The right to send one.
pub struct Sending<'a>(&'a mut Lan9118);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, act: F) -> R {
        act(&self.0[..self.1])
    }
}

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, act: F) -> R {
        let mut frame = [0; FRAME_MAX];
        let frame = &mut frame[..len];
        let result = act(frame);
        self.0.send(frame);
        result
    }
}

impl Device for Lan9118 {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sending<'_>)> {
        let mut frame = [0; FRAME_WORDS * 4];
        let len = self.take(&mut frame)?;
        Some((Received(frame, len), Sending(self)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_>> {
        Some(Sending(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME_MAX;
        capabilities
    }
}
