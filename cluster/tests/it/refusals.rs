//! What cannot be run by others is refused by name, before anybody is waited for.

use std::ffi::OsString;
use std::process::Command;
use std::sync::Arc;

use sordino_core::privacy::SourceKind;
use sordino_engine::federated::RemoteError;
use sordino_engine::federated::collective::Order;
use sordino_engine::federated::context::{MethodContext, RunContext, ScenarioContext};
use sordino_engine::federated::run::Federated;
use sordino_engine::federated::shard::Shard;
use sordino_engine::federated::wired::Travels;
use sordino_experiment::scenario::Shipped;
use sordino_experiment::world;

use crate::util::{endpoint, scratch};

/// Exit code and standard error of a head that is refused.
fn refused(test: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let place = scratch(test);
    let out: OsString = place.join("run").into();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sordino-cluster"));
    command
        .arg("cluster")
        .args(arguments)
        .arg("--out")
        .arg(&out);
    let output = command.output().unwrap();
    assert!(!place.join("run").exists(), "{arguments:?} left a folder");
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn what_cannot_travel_is_refused_by_name() {
    let endpoint = endpoint();
    let listen = ["--listen", &endpoint];
    let trace = scratch("refusals-trace").join("away.csv");
    std::fs::write(&trace, "agent,from,to\n").unwrap();
    let traced = format!("faults.trace=\"{}\"", trace.display());
    for (arguments, words) in [
        (&["ldp-se"][..], &["trust model `local`", "--part"][..]),
        (
            &["default", "--part", "1/2"],
            &["--part", "no meaning for a cluster"],
        ),
        (&["default", "--threads", "2"], &["--threads", "workers"]),
        (
            &["default", "--set", &traced],
            &["away.csv", "faults.trace", "admissible"],
        ),
        (&["default", "--workers", "0"], &["--workers"]),
    ] {
        let (code, said) = refused("refusals-named", &[arguments, &listen].concat());
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(
            words.iter().all(|word| said.contains(word)),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn endpoints_are_tcp() {
    for listen in [
        "127.0.0.1:7447",
        "udp/127.0.0.1:7447",
        "tcp/nowhere.invalid:1",
        "tcp/127.0.0.1:7447\",\"tcp/0.0.0.0:1",
    ] {
        let (code, said) = refused("refusals-endpoints", &["default", "--listen", listen]);
        assert_eq!(code, Some(2), "{listen}: {said}");
        assert!(
            said.contains(listen) && said.contains("admissible: tcp/ADDRESS:PORT"),
            "{said}"
        );
    }
}

/// A worker waits for a head that is not there, and not for one that cannot be.
#[test]
fn a_worker_does_not_wait_for_what_is_no_endpoint() {
    for connect in [
        "127.0.0.1:7447",
        "tcp/head",
        "tcp/127.0.0.1:7447,tcp/0.0.0.0:1",
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sordino-cluster"));
        let output = command.args(["worker", "--connect", connect]).output();
        let output = output.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("admissible: tcp/ADDRESS:PORT"), "{said}");
    }
}

/// The same order, once of the simulation that it is, once as if its coins were secret: the second
/// is not written. Agents that share draws.
type Drawing = Shard<MethodContext<f32>>;

#[test]
fn a_secret_sample_is_never_written() {
    let scenario = Shipped::find("firmware").unwrap().parse(&[]).unwrap();
    let functions = world::load(&scenario, None)
        .unwrap()
        .realize(scenario.run_seed(0));
    let shared =
        ScenarioContext::<f32>::new(&scenario, functions.candidates(), functions.dim()).unwrap();
    let run = Arc::new(RunContext::new(&scenario, Arc::new(shared), 0, functions).unwrap());
    let method = Arc::new(
        MethodContext::new(&scenario, scenario.methods().next().unwrap(), run, None).unwrap(),
    );
    let agents = method.config.parameters().agents;
    let mut server = method.server(None, None).unwrap();
    assert!(server.open().unwrap());
    let share = Some(server.share().unwrap());
    let order = Order::<f32> {
        round: 0,
        broadcast: None,
        maximum: None,
        share,
        source: server.kind(),
    };
    let encoded = Drawing::write(&order, &[0..1, 1..agents]).unwrap();
    assert!(encoded.parts.iter().all(|part| !part.is_empty()));
    // What arrives is the share of these agents and no others.
    let told = Drawing::order(&Drawing::open(&encoded.common).unwrap(), &encoded.parts[1]).unwrap();
    assert_eq!(told.share.unwrap().agents(), 1..agents);
    let secret = Order {
        source: SourceKind::Secret,
        ..order.clone()
    };
    let Err(error) = Drawing::write(&secret, &[0..1, 1..agents]) else {
        panic!("a secret sample was written")
    };
    assert!(
        matches!(error, RemoteError::Secret(SourceKind::Secret)),
        "{error}"
    );
    // Without a sample there is nothing secret in it.
    assert!(
        Drawing::write(
            &Order {
                share: None,
                ..secret
            },
            std::slice::from_ref(&(0..agents))
        )
        .is_ok()
    );
}
