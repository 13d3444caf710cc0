//! A member of a federation that keeps nothing but its flash from one step to the next, and the
//! server on the other side of the link: frames go there and come back.
#![cfg_attr(target_os = "none", no_std, no_main)]

use firmware_example::program::Say;
use firmware_example::reset::{Flash, SLOT, Stop};
use sordino_core::digest::{Digest, Frame};
use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::{RandomFourier, random_fourier};
use sordino_core::federated::*;
use sordino_core::kernel::Stationary;
use sordino_core::privacy::Simulated;
use sordino_core::privacy::charge::Unwritten;
use sordino_core::random::{RunSeed, Stream};
use sordino_core::wire::{self, Header, Kind, ScalarTag, frame_len_max};

const M: usize = 32;
const P: usize = 4;
const ROUNDS: u32 = 6;
const SIZES: Sizes = Sizes::new(2, M, 10 + ROUNDS as usize);
const FIRST: usize = 2;
const SLOTS: usize = FIRST + SIZES.observations;
const FRAME: usize = frame_len_max(ScalarTag::F32, M * P);

/// Bytes on the link, and how many.
type Bytes = ([u8; FRAME], usize);

fn refused<E>(what: &'static str) -> impl FnOnce(E) -> Stop {
    move |_| Stop::Refused(what)
}

fn header(config: &Config, kind: Kind, round: u32) -> Header {
    let version = wire::VERSION;
    let scalar = ScalarTag::F32;
    let config = wire::config_id(config);
    Header {
        version,
        kind,
        scalar,
        deployment: 42,
        config,
        chain: 0,
        agent: 3,
        round,
        attempt: 0,
        len: 0,
    }
}

fn encode(header: Header, numbers: &[f32]) -> Result<Bytes, Stop> {
    let mut bytes = [0; FRAME];
    let len = wire::encode(header, numbers, &mut bytes).map_err(refused("frame"))?;
    Ok((bytes, len))
}

/// From the boot to the first thing that is to be stored: what is sent then, if anything.
fn step(
    flash: &mut Flash<'_>,
    config: &Config,
    down: &Bytes,
) -> Result<(Phase, Option<Bytes>), Stop> {
    let agreement = config.digest();
    let mut numbers = [0.0; random_fourier::storage_len(2, M)];
    let mut memory = [0.0; SIZES.storage()];
    random_fourier::draw(7, 0, Stationary::Matern52, &[0.2], 2, M, &mut numbers)
        .map_err(refused("draw"))?;
    let features =
        RandomFourier::new(2, M, 1.0f32, true, &numbers[..]).map_err(refused("features"))?;
    let candidates = Candidates::grid(16, 2).map_err(refused("grid"))?;
    let public =
        Public::streamed(config, candidates, features).map_err(refused("public context"))?;
    let (mut number, mut state) =
        flash.load(AgentState::new(3, RunSeed::new(1234, 0)), &agreement)?;
    let storage = AgentStorage::split(&public, &mut memory).map_err(refused("memory"))?;
    for i in 0..state.observations() {
        let entry: Entry<f32> = flash
            .entry(FIRST + i as usize, i, &agreement)
            .ok_or(Stop::Refused("log"))?;
        entry.put(i, 0.0, storage.log).map_err(refused("log"))?;
    }
    let mut agent = Agent::attach(&public, &mut state, storage).map_err(refused("agent"))?;
    let phase = agent.state().phase();
    let round = agent.state().round();
    let mut vectors = [0.0; M * P];
    let input = match phase {
        Phase::Fresh => Input::Start,
        Phase::Waiting => {
            let (found, payload) =
                wire::decode(&down.0[..down.1], (M * P) as u32).map_err(refused("broadcast"))?;
            payload.read(&mut vectors).map_err(refused("broadcast"))?;
            let ours = found.config == wire::config_id(config) && found.round == round;
            if ours {
                Input::Broadcast {
                    vectors: &vectors,
                    maximum: None,
                }
            } else {
                Input::NoBroadcast
            }
        }
        Phase::Initial | Phase::Evaluating => {
            let candidate = agent.state().pending();
            let i = agent.state().observations();
            let mut x = [0.0f32; 2];
            public.candidates().point(candidate, &mut x);
            let value = 1.0 - 4.0 * ((x[0] - 0.3) * (x[0] - 0.3) + (x[1] - 0.6) * (x[1] - 0.6));
            flash.write(
                FIRST + i as usize,
                &Entry { candidate, value },
                i,
                &agreement,
            )?;
            Input::Observed(value)
        }
        Phase::Done => return Ok((phase, None)),
    };
    let up = match agent.handle(input).map_err(refused("input"))? {
        Output::Upload(weights) => Some(encode(header(config, Kind::Upload, round), weights)?),
        _ => None,
    };
    flash.save(agent.state(), &mut number, &agreement)?;
    Ok((phase, up))
}

/// The server's round with the upload of one agent: what it sends to everybody.
fn release(server: &mut Server<'_, f32>, config: &Config, up: &Bytes) -> Result<Bytes, Stop> {
    let (from, payload) = wire::decode(&up.0[..up.1], M as u32).map_err(refused("upload"))?;
    let mut vector = [0.0; M];
    payload.read(&mut vector).map_err(refused("upload"))?;
    let source = &mut Simulated::new(Stream::from_seed(99 + u64::from(from.round)));
    let mut tell = ServerInput::Open;
    let upload = ServerInput::Upload {
        agent: from.agent,
        broadcast: from.round,
        vector: &vector,
    };
    for next in [upload, ServerInput::Close] {
        server.handle(tell, source).map_err(refused("server"))?;
        tell = next;
    }
    let ServerOutput::Charge(charge) = server.handle(tell, source).map_err(refused("close"))?
    else {
        return Err(Stop::Refused("no charge"));
    };
    match server
        .handle(ServerInput::Charged(Unwritten::receipt(charge)), source)
        .map_err(refused("receipt"))?
    {
        ServerOutput::Broadcast { broadcast, release } => {
            encode(header(config, Kind::Broadcast, broadcast), release.value())
        }
        _ => Err(Stop::Refused("no broadcast")),
    }
}

fn run(say: Say<'_>) -> Result<(), Stop> {
    let private = Aggregation::private(17.6, 0.25, 1.0).map_err(refused("aggregation"))?;
    let regions = Regions::new(&[2, 2]).map_err(refused("regions"))?;
    let parameters = Parameters::usual(20, regions, ROUNDS, M as u32, private);
    let config = Config::new(parameters).map_err(refused("configuration"))?;
    let mut sums = [0; M * P];
    let mut noise = [0; M * P];
    let mut flags = [0; 20];
    let mut vectors = [0.0; M * P];
    let storage = ServerStorage {
        sums: &mut sums,
        noise: &mut noise,
        flags: &mut flags,
        vectors: &mut vectors,
    };
    let mut hub = ServerState::new();
    let mut server = Server::attach(&config, &mut hub, storage).map_err(refused("server"))?;
    let mut flash = Flash {
        bytes: &mut [0xff; SLOTS * SLOT],
        grain: SLOT,
        power: &mut || Ok(()),
    };
    let mut down = ([0; FRAME], 0);
    let mut heard = Digest::default();
    loop {
        let (phase, up) = step(&mut flash, &config, &down)?;
        if let Some(up) = up {
            let mut frame: Frame = heard.frame();
            frame.bytes(&up.0[..up.1]);
            heard = frame.end();
            say(format_args!(
                "an upload of {} bytes; all of them so far: {heard}",
                up.1
            ));
            down = release(&mut server, &config, &up)?;
        }
        if phase == Phase::Done {
            return Ok(());
        }
    }
}

firmware_example::program!(run);
