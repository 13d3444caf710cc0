//! What a device of its own is given before its first boot, in one file: `firmware-networked` reads
//! it where it lies in flash.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;

use serde::Serialize;
use sordino_core::federated::exchange::Protocol;
use sordino_core::federated::shares::Trust;
use sordino_core::random::RunSeed;
use sordino_host::campaign::{Campaign, search_seed};
use sordino_host::files::{FileError, create_privately};
use sordino_host::search::scramble;
use sordino_host::space::Goal;

use crate::invitation::Invitation;
use crate::terms::{ConstantsError, Terms, TermsError};

/// The largest file that a device reads.
pub const BYTES_MAX: usize = 1 << 16;

/// The most landmarks of a campaign that `firmware-networked` has memory for.
pub const FEATURES_MAX: usize = 50;

/// The file in postcard form. Behind it, at the next multiple of eight bytes, stand the numbers of
/// [`Follows`].
#[derive(Clone, Debug, Serialize)]
pub struct Provision {
    /// The line of its invitation, with an IPv4 address.
    pub invitation: String,
    /// What its keys are made of.
    pub secret: [u8; 32],
    /// The seed of its own draws.
    pub seed: RunSeed,
    /// Whether digests of what was observed follow every answer, for the comparison with a
    /// simulator.
    pub rehearses: bool,
    /// Of an emulated device, `f32`, of a site `f64`, little-endian: the value of the first
    /// observation at each candidate, then of the second, …
    pub sensor: Vec<u8>,
    /// What follows for a site of a campaign.
    pub site: Option<Follows>,
}

/// Numbers that follow: landmarks, `f64`, then points, `f32`, in a rehearsal `f64`, all
/// little-endian and in coordinates of the unit box.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Follows {
    /// Whether smaller values are better.
    pub minimises: bool,
    /// Parameters of the space that are searched.
    pub parameters: u32,
    /// The seed of its search.
    pub seed: u32,
    /// Numbers of the landmarks.
    pub landmarks: u32,
    /// Numbers of the points that the device may measure.
    pub points: u32,
}

/// Why the file was not written.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// A device asks no name service.
    #[error(
        "{address:?} is not HOST:PORT with an IPv4 address, and a device asks no name service: --server says where it finds the server"
    )]
    Address {
        /// The address as given.
        address: String,
    },
    /// A campaign whose numbers no device is given.
    #[error(transparent)]
    Constants(#[from] ConstantsError),
    /// The terms are none.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// A device has it.
    #[error("{path} is there already, and the secret in it would be lost")]
    There {
        /// Where it was to be written.
        path: String,
    },
    /// More landmarks than a device has memory for.
    #[error(
        "{features} landmarks, and a device has memory for {FEATURES_MAX}: `sordino serve --features {FEATURES_MAX}`, in a scenario \
         prior.features = {FEATURES_MAX}"
    )]
    Features {
        /// Landmarks of the campaign.
        features: usize,
    },
    /// A rehearsal with more evaluations than a device keeps, or has room for in its last answer.
    #[error("federation.rounds = {rounds}: a device makes at most {most} of this campaign")]
    Rounds {
        /// Evaluations after the first points.
        rounds: u32,
        /// How many a device makes.
        most: usize,
    },
    /// It would not fit.
    #[error(
        "{bytes} bytes; a device reads at most {BYTES_MAX}: fewer features (`sordino serve --features`) take fewer, in a rehearsal \
         fewer candidates or rounds"
    )]
    Long {
        /// Bytes of the file.
        bytes: usize,
    },
    /// The file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its content has no binary form.
    #[error("what the device is given cannot be written: {0}")]
    Format(#[from] postcard::Error),
    /// The system gives no randomness.
    #[error("no randomness from the system: {0}")]
    Entropy(#[from] getrandom::Error),
}

/// Writes the file of a device that takes part with this invitation, readable by its owner alone:
/// whoever reads it can be the device. Its secret is drawn here. `server` is where the device finds
/// the server, if not where the invitation says.
///
/// **Errors**: [`ProvisionError`].
pub fn write(
    path: &Path,
    terms: &Terms,
    invitation: &Invitation,
    server: Option<&str>,
) -> Result<(), ProvisionError> {
    let address = server.unwrap_or(&invitation.address);
    let is_numeric = address
        .parse::<SocketAddrV4>()
        .is_ok_and(|found| *found.ip() != Ipv4Addr::UNSPECIFIED);
    if !is_numeric {
        return Err(ProvisionError::Address {
            address: address.to_owned(),
        });
    }
    let mut secret = [0; 32];
    let mut seed = [0; 8];
    getrandom::fill(&mut secret)?;
    getrandom::fill(&mut seed)?;
    let seed = RunSeed::new(u64::from_le_bytes(seed), 0);
    let site = match terms.agreement.protocol {
        Protocol::Campaign(_) => Some(Site::new(
            &terms.campaign()?,
            search_seed(seed, invitation.slot),
            false,
        )?),
        _ => None,
    };
    let invitation = Invitation {
        address: address.to_owned(),
        ..invitation.clone()
    }
    .to_string();
    let provision = Provision {
        invitation,
        secret,
        seed,
        rehearses: false,
        sensor: Vec::new(),
        site: None,
    };
    let bytes = provision.bytes(site)?;
    match bytes.len() {
        len if len > BYTES_MAX => Err(ProvisionError::Long { bytes: len }),
        _ if create_privately(path, &bytes)? => Ok(()),
        _ => Err(ProvisionError::There {
            path: path.display().to_string(),
        }),
    }
}

impl Provision {
    /// The file, with what a site is given behind it.
    ///
    /// **Errors**: [`ProvisionError::Format`].
    pub(crate) fn bytes(mut self, site: Option<Site>) -> Result<Vec<u8>, ProvisionError> {
        let (follows, numbers) = site
            .map(|Site { follows, numbers }| (follows, numbers))
            .unzip();
        self.site = follows;
        let mut bytes = postcard::to_allocvec(&self)?;
        if let Some(numbers) = numbers {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes.extend(numbers);
        }
        Ok(bytes)
    }
}

/// What a site of a campaign is given.
pub(crate) struct Site {
    follows: Follows,
    numbers: Vec<u8>,
}

impl Site {
    /// A site of this campaign whose search has this seed; with points in double precision where it
    /// is compared with a host.
    ///
    /// **Errors**: [`ProvisionError::Constants`], [`ProvisionError::Features`].
    pub(crate) fn new(
        campaign: &Campaign,
        seed: u64,
        rehearses: bool,
    ) -> Result<Self, ProvisionError> {
        let config = campaign.context().config();
        if config.parameters().trust == Trust::TwoServers {
            return Err(ConstantsError::TwoServers.into());
        }
        let features = config.features();
        if features > FEATURES_MAX {
            return Err(ProvisionError::Features { features });
        }
        let landmarks = campaign.context().landmarks();
        let points = campaign.coordinates();
        let follows = Follows {
            minimises: campaign.publication().goal == Goal::Minimize,
            parameters: campaign.publication().space.parameters().len() as u32,
            seed: scramble(seed),
            landmarks: landmarks.len() as u32,
            points: points.len() as u32,
        };
        let mut numbers: Vec<u8> = landmarks.iter().flat_map(|x| x.to_le_bytes()).collect();
        match rehearses {
            true => numbers.extend(points.iter().flat_map(|x| x.to_le_bytes())),
            false => numbers.extend(points.iter().flat_map(|x| (*x as f32).to_le_bytes())),
        }
        Ok(Site { follows, numbers })
    }
}
