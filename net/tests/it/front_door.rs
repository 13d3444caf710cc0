//! README's door of a campaign, run as it stands by three sites on this machine.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use sordino_host::prior::PriorFile;

use super::commands::{called, shell};
use super::util::{PATIENCE, Place, Process, free_port, program};

/// README's command of this name; of `join`, which a loop of the shell repeats, what it repeats.
fn commands(name: &str) -> Vec<String> {
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md"))
            .unwrap();
    let repeated = |line: &String| match (line.find("sordino join"), line.find(" & done; wait")) {
        (Some(from), Some(to)) => line[from..to].to_owned(),
        _ => line.clone(),
    };
    let found: Vec<Vec<String>> = shell(&readme)
        .iter()
        .map(repeated)
        .filter_map(|line| called(&line))
        .collect();
    let named: Vec<&Vec<String>> = found.iter().filter(|words| words[1] == name).collect();
    let [words] = named[..] else {
        panic!("{} commands `sordino {name}`", named.len())
    };
    words[1..]
        .iter()
        .map(|word| word.replace("python ", "python3 "))
        .collect()
}

fn begun(place: &Place, words: &[String], more: &[&str]) -> Command {
    let mut command = program(&[]);
    command.args(words).args(more).current_dir(&place.0);
    command
}

#[test]
fn readmes_door_of_a_campaign_leads_three_sites_to_one_file() {
    super::util::bounded(|| {
        let place = Place::new("readme-campaign");
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/wards");
        for file in ["space.toml", "train.py"] {
            std::fs::copy(example.join(file), place.0.join(file)).unwrap();
        }
        let listen = format!("127.0.0.1:{}", free_port());
        // What keeps tests apart.
        let server = Process::start(begun(
            &place,
            &commands("serve"),
            &["--listen", &listen, "--counter", "counter"],
        ));
        let start = Instant::now();
        while !place.0.join("hall/round.bin").exists() {
            assert!(start.elapsed() < PATIENCE, "the server did not begin");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(
            begun(&place, &commands("invite"), &[])
                .status()
                .unwrap()
                .success()
        );
        let asked = begun(&place, &commands("terms"), &[]).output().unwrap();
        let told = String::from_utf8(asked.stdout).unwrap();
        assert!(
            told.contains("you would be agent 0 of 3") && told.contains("validation loss"),
            "{told}"
        );
        let join = commands("join");
        let sites: Vec<Process> = (0..3)
            .map(|slot| {
                let own: Vec<String> = join
                    .iter()
                    .map(|word| word.replace("/$i.txt", &format!("/{slot}.txt")))
                    .collect();
                let folder = format!("site-{slot}");
                let mut command =
                    begun(&place, &own, &["--folder", &folder, "--evaluations", "12"]);
                command.env("WARD", slot.to_string());
                Process::start(command)
            })
            .collect();
        for site in sites {
            assert!(site.ended().success());
        }
        assert!(server.ended().success());
        let theirs = PriorFile::load(&place.0.join("hall/prior.safetensors")).unwrap();
        for slot in 0..3 {
            let folder = place.0.join(format!("site-{slot}"));
            assert_eq!(
                PriorFile::load(&folder.join("prior.safetensors"))
                    .unwrap()
                    .digest(),
                theirs.digest()
            );
            assert!(folder.join("best.json").is_file());
        }
    });
}
