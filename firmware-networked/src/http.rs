//! One request and its answer: as much of HTTP/1.1 as the door of `sordino-net` speaks.

use core::fmt::{self, Write as _};

use embedded_io::{Read, Write};
use heapless::String;
use sordino_core::federated::exchange::Seal;

use crate::provision::from_hex;

/// The longest head of a request.
const HEAD_MAX: usize = 384;
/// Milliseconds that pass before the next request where the server does not say how many.
const LATER: u64 = 1000;
/// And the most that is believed.
const LATER_MAX: u64 = 3_600_000;

/// The connection broke, or what came was no answer of a server of this version: to be made again.
#[derive(Clone, Copy, Debug)]
pub struct Broken(pub &'static str);

/// What a server answered; the body is in the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// The status, three digits.
    pub status: u16,
    /// Bytes of the body, and how many of them are in the buffer, from its beginning.
    pub whole: usize,
    /// How many of them are in the buffer, from its beginning.
    pub kept: usize,
    /// The round that is open.
    pub round: Option<u32>,
    /// What came with a frame.
    pub seal: Option<Seal>,
    /// In how many milliseconds to come back.
    pub later_ms: u64,
}

/// Asks and waits for the answer. `path` and `headers` are written into the head, each header with
/// its line's end.
///
/// **Errors**: [`Broken`].
pub fn request<S: Read + Write>(
    stream: &mut S,
    method: &str,
    path: fmt::Arguments<'_>,
    headers: fmt::Arguments<'_>,
    body: &[u8],
    buffer: &mut [u8],
) -> Result<Answer, Broken> {
    let (mut answer, mut came) = asked(stream, method, path, headers, body, buffer)?;
    answer.kept = answer.whole.min(buffer.len());
    while came < answer.whole {
        // What has no place is read into the last bytes and forgotten; only a list of candidates is
        // so long.
        let from = came.min(buffer.len().saturating_sub(SPARE));
        let most = (answer.whole - came).min(buffer.len() - from);
        came += some(stream, &mut buffer[from..from + most])?;
    }
    if answer.whole > buffer.len() {
        answer.kept = buffer.len() - SPARE;
    }
    Ok(answer)
}

/// Takes a piece of an answer that lies so many bytes behind its beginning.
pub type Sink<'s, E> = dyn FnMut(usize, &[u8]) -> Result<(), E> + 's;

/// Asks for what may be longer than the buffer: `sink` gets it piece by piece, if the status
/// is 200.
///
/// **Errors**: [`Broken`], or that of the sink.
pub fn fetch<S: Read + Write, E: From<Broken>>(
    stream: &mut S,
    path: fmt::Arguments<'_>,
    buffer: &mut [u8],
    sink: &mut Sink<'_, E>,
) -> Result<Answer, E> {
    let (answer, mut came) = asked(stream, "GET", path, format_args!(""), &[], buffer)?;
    let mut read = came;
    loop {
        if answer.status == 200 {
            sink(came - read, &buffer[..read])?;
        }
        if came >= answer.whole {
            return Ok(answer);
        }
        let most = (answer.whole - came).min(buffer.len());
        read = some(stream, &mut buffer[..most])?;
        came += read;
    }
}

/// Asks: the head of the answer, and how many bytes of its body are in the buffer already.
fn asked<S: Read + Write>(
    stream: &mut S,
    method: &str,
    path: fmt::Arguments<'_>,
    headers: fmt::Arguments<'_>,
    body: &[u8],
    buffer: &mut [u8],
) -> Result<(Answer, usize), Broken> {
    let mut head = String::<HEAD_MAX>::new();
    write!(
        head,
        "{method} {path} HTTP/1.1\r\nhost: sordino\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    )
    .map_err(|_| Broken("a request that is too long"))?;
    let sent = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body))
        .and_then(|()| stream.flush());
    sent.map_err(|_| Broken("sending"))?;
    let (end, filled) = head_of(stream, buffer)?;
    let answer = parse(&buffer[..end]).ok_or(Broken("a head that cannot be read"))?;
    // What came behind the head is the beginning of the body.
    buffer.copy_within(end..filled, 0);
    Ok((answer, filled - end))
}

/// Bytes at the end of the buffer that are read into again and again.
const SPARE: usize = 256;

/// Reads until the end of the head: where that is, and how many bytes came.
fn head_of<S: Read>(stream: &mut S, buffer: &mut [u8]) -> Result<(usize, usize), Broken> {
    let mut filled = 0;
    loop {
        if let Some(end) = buffer[..filled]
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
        {
            return Ok((end + 4, filled));
        }
        let free = buffer
            .get_mut(filled..)
            .filter(|free| !free.is_empty())
            .ok_or(Broken("a head without an end"))?;
        filled += some(stream, free)?;
    }
}

fn some<S: Read>(stream: &mut S, into: &mut [u8]) -> Result<usize, Broken> {
    match stream.read(into) {
        Ok(0) | Err(_) => Err(Broken("the connection ended")),
        Ok(read) => Ok(read),
    }
}

/// Status and headers of a head.
fn parse(head: &[u8]) -> Option<Answer> {
    let head = core::str::from_utf8(head).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines
        .next()?
        .strip_prefix("HTTP/1.1 ")?
        .get(..3)?
        .parse()
        .ok()?;
    let mut whole = (status == 204).then_some(0);
    let mut answer = Answer {
        status,
        whole: 0,
        kept: 0,
        round: None,
        seal: None,
        later_ms: LATER,
    };
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let (is, value) = (|other: &str| name.eq_ignore_ascii_case(other), value.trim());
        if is("content-length") {
            whole = Some(value.parse().ok()?);
        } else if is("transfer-encoding") {
            return None;
        } else if is("sordino-round") {
            answer.round = value.parse().ok();
        } else if is("sordino-seal") {
            answer.seal = from_hex(value);
        } else if is("sordino-later-ms") {
            answer.later_ms = value.parse::<u64>().ok()?.min(LATER_MAX);
        }
    }
    // What does not say how long it is may have been cut off.
    answer.whole = whole?;
    Some(answer)
}
